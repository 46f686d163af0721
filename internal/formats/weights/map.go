package weights

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"unsafe"

	"github.com/edsrzf/mmap-go"

	"verity/internal/input"
)

// ErrChanged is the cause if a part of a file could not be read while its tensors were read.
var ErrChanged = errors.New("changed or could not be read while it was loaded")

// A region is the bytes of a file: mapped, or the caller's.
type region struct {
	path   string
	mapped mmap.MMap // nil if the bytes are the caller's
	data   []byte
}

// openRegion maps a regular file. It checks the type before opening: opening a FIFO would
// wait for a writer.
func openRegion(path string) (*region, error) {
	st, err := os.Stat(path)
	if to, e := os.Readlink(path); err != nil && e == nil {
		return nil, fmt.Errorf("%s: %w", path, input.Dangling(to))
	}
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", path)
	case st.Size() == 0: // cannot be mapped
		return &region{path: path}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping stays valid
	m, err := mmap.Map(f, mmap.RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: mapping into memory: %w", path, err)
	}
	return &region{path: path, mapped: m, data: m}, nil
}

// holds reports whether addr is the address of a byte of the mapped file.
func (r *region) holds(addr uintptr) bool {
	if len(r.mapped) == 0 {
		return false
	}
	first := uintptr(unsafe.Pointer(&r.mapped[0]))
	return addr >= first && addr-first < uintptr(len(r.mapped))
}

func (r *region) close() error {
	r.data = nil
	if r.mapped == nil {
		return nil
	}
	return r.mapped.Unmap() // sets it to nil, so closing twice is harmless
}

// Guard runs do, which reads the bytes of files, and returns its error. If a page of one
// of them cannot be read, the error wraps ErrChanged and names it. Other goroutines that
// do starts must call debug.SetPanicOnFault themselves and pass their panics on, as those
// of parallel.Pool do.
func Guard(files []*File, do func() error) error {
	regions := make([]*region, len(files))
	for i, f := range files {
		regions[i] = f.region
	}
	return guard(regions, do)
}

func guard(regions []*region, do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if fault, ok := v.(interface{ Addr() uintptr }); ok {
			for _, r := range regions {
				if r.holds(fault.Addr()) {
					err = fmt.Errorf("%s: %w: a part of it is missing", r.path, ErrChanged)
					return
				}
			}
		}
		panic(v)
	}()
	return do()
}
