package weights

import (
	"fmt"
	"slices"
)

// A Parser returns the tensors of a file. The entries share b, which does not change.
type Parser func(b []byte) ([]Entry, error)

// A File is an open file of tensors. The tensors are views of the file and must
// not be used after Close. It is safe for concurrent use.
type File struct {
	region  *region
	entries []Entry
	byName  map[string]int
}

// Open maps a file into memory and parses its tensors. Their values are read from disk on
// first use.
func Open(path string, parse Parser) (*File, error) {
	r, err := openRegion(path)
	if err != nil {
		return nil, err
	}
	f, err := newFile(r, parse)
	if err != nil {
		r.close()
	}
	return f, err
}

// FromBytes reads a file that is in memory already. The tensors share b, which
// must not change. The name is for errors.
func FromBytes(name string, b []byte, parse Parser) (*File, error) {
	return newFile(&region{path: name, data: b}, parse)
}

func newFile(r *region, parse Parser) (*File, error) {
	f := &File{region: r}
	err := guard([]*region{r}, func() (err error) {
		if f.entries, err = parse(r.data); err != nil {
			return fmt.Errorf("%s: %w", r.path, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	f.byName = make(map[string]int, len(f.entries))
	for i, e := range f.entries {
		f.byName[e.Name] = i
	}
	return f, nil
}

// Name returns the name the file was opened by.
func (f *File) Name() string { return f.region.path }

// Mapped reports whether the file is mapped into memory.
func (f *File) Mapped() bool { return f.region.mapped != nil }

// Entries returns all tensors in the order the parser gave them.
func (f *File) Entries() []Entry { return slices.Clone(f.entries) }

// Entry returns the tensor of that name.
func (f *File) Entry(name string) (Entry, bool) {
	i, ok := f.byName[name]
	if !ok {
		return Entry{}, false
	}
	return f.entries[i], true
}

// Close unmaps the file.
func (f *File) Close() error {
	f.entries, f.byName = nil, nil
	return f.region.close()
}
