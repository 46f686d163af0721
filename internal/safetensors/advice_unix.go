//go:build unix

package safetensors

import (
	"os"

	"golang.org/x/sys/unix"
)

// Ahead says that bytes from … to-1 of a tensor will soon be looked at, so that
// the system reads them from disk meanwhile.
func (f *File) Ahead(name string, from, to int64) {
	if b := f.pages(name, from, to, true); len(b) > 0 {
		unix.Madvise(b, unix.MADV_WILLNEED) // advice: an error changes nothing
	}
}

// Drop gives back the memory that bytes from … to-1 of a tensor of a mapped file
// take, once their values have been copied elsewhere: without it a model would be
// held twice. The tensor stays readable; its bytes then come from the file again.
func (f *File) Drop(name string, from, to int64) {
	if b := f.pages(name, from, to, false); len(b) > 0 {
		unix.Madvise(b, unix.MADV_DONTNEED)
	}
}

// DropAll does for the whole file what Drop does for a tensor, whose neighbours
// keep the pages that they share.
func (f *File) DropAll() {
	if len(f.mapped) > 0 {
		unix.Madvise(f.mapped, unix.MADV_DONTNEED)
	}
}

// pages returns the mapped pages that bytes from … to-1 of a tensor lie in: those
// of the bytes alone, or all that they touch.
func (f *File) pages(name string, from, to int64, touched bool) []byte {
	t, ok := f.infos[name]
	from, to = max(from, 0), min(to, t.hi-t.lo)
	if !ok || f.mapped == nil || from >= to {
		return nil
	}
	page, header := int64(os.Getpagesize()), int64(len(f.mapped)-len(f.data))
	lo, hi := header+t.lo+from, header+t.lo+to
	if touched {
		lo -= lo % page
	} else {
		lo, hi = (lo+page-1)/page*page, hi/page*page
	}
	if lo >= hi {
		return nil
	}
	return f.mapped[lo:hi]
}
