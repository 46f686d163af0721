package safetensors

import (
	"fmt"
	"os"
	"slices"

	"github.com/edsrzf/mmap-go"

	"verity/internal/tensor"
)

// A File is an open safetensors file. Its tensors are views of the file and
// must not be used after Close. It is safe for concurrent use.
type File struct {
	name     string
	mapped   mmap.MMap // nil if the bytes are the caller's
	data     []byte
	infos    map[string]Info
	names    []string
	metadata map[string]string
}

// Open maps a file into memory and checks its header. The tensors are read from
// disk when they are first looked at.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the map outlives it
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", path)
	case st.Size() < 8: // an empty file cannot be mapped
		return nil, fmt.Errorf("%s: %w", path, malformed("%d bytes, too short for a header", st.Size()))
	}
	m, err := mmap.Map(f, mmap.RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: mapping into memory: %w", path, err)
	}
	file, err := FromBytes(path, m)
	if err != nil {
		m.Unmap()
		return nil, err
	}
	file.mapped = m
	return file, nil
}

// FromBytes reads a file that is in memory already. The tensors share b, which
// must not change. The name is for errors.
func FromBytes(name string, b []byte) (*File, error) {
	infos, metadata, data, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f := &File{name: name, data: data, infos: make(map[string]Info, len(infos)), metadata: metadata}
	for _, t := range infos {
		f.infos[t.Name] = t
		f.names = append(f.names, t.Name)
	}
	return f, nil
}

// Name returns the name the file was opened by.
func (f *File) Name() string { return f.name }

// Mapped reports whether the file is mapped into memory, not held by it.
func (f *File) Mapped() bool { return f.mapped != nil }

// Names returns the names of all tensors in the order of their bytes.
func (f *File) Names() []string { return slices.Clone(f.names) }

// Metadata returns the value of a key of the header's __metadata__, or "".
func (f *File) Metadata(key string) string { return f.metadata[key] }

// Info returns what the header says of a tensor.
func (f *File) Info(name string) (Info, bool) {
	t, ok := f.infos[name]
	return t, ok
}

// Tensor returns a view of a tensor. It is false if there is none of that name,
// or none of a type that package tensor knows; Info tells which.
func (f *File) Tensor(name string) (tensor.Tensor, bool) {
	t, ok := f.infos[name]
	dtype, known := dtypes[t.DType]
	if !ok || !known {
		return tensor.Tensor{}, false
	}
	return tensor.Tensor{DType: dtype, Shape: slices.Clone(t.Shape), Data: f.data[t.lo:t.hi:t.hi]}, true
}

// Bytes returns the bytes of a tensor of any type.
func (f *File) Bytes(name string) ([]byte, Info, bool) {
	t, ok := f.infos[name]
	if !ok {
		return nil, Info{}, false
	}
	return f.data[t.lo:t.hi:t.hi], t, true
}

// Close unmaps the file.
func (f *File) Close() error {
	f.data, f.infos, f.names = nil, nil, nil
	if f.mapped == nil {
		return nil
	}
	return f.mapped.Unmap() // also forgets the map, so closing twice is harmless
}
