package torch

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"verity/internal/sniff"
)

// ErrMalformed is the cause of every error about the content of a file.
var ErrMalformed = errors.New("malformed PyTorch file")

const (
	maxPickle = 16 << 20 // large-v2 has 100 kB
	maxFiles  = 1 << 16  // in the archive
)

// Magic is the first bytes of a file.
const Magic = "PK\x03\x04"

// Parse reads a file and returns the saved value. Tensors are views of b.
func Parse(b []byte) (Value, error) {
	v, err := parse(b)
	if err != nil {
		return nil, sniff.Remedied(fmt.Errorf("%w: %w", ErrMalformed, err))
	}
	return v, nil
}

func parse(b []byte) (Value, error) {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the zip archive: %w: cut off?", err)
	case len(z.File) > maxFiles:
		return nil, fmt.Errorf("%d files in the archive, at most %d are allowed", len(z.File), maxFiles)
	}
	a := archive{b: b, files: make(map[string]*zip.File, len(z.File))}
	for _, f := range z.File {
		folder, name, ok := strings.Cut(f.Name, "/")
		switch {
		case !ok || a.folder != "" && folder != a.folder:
			return nil, fmt.Errorf("file %.80q is not in one folder with the others", f.Name)
		case a.files[name] != nil:
			return nil, fmt.Errorf("file %.80q stands twice", f.Name)
		}
		a.folder, a.files[name] = folder, f
	}
	if order, err := a.read("byteorder", 16); err == nil && string(order) != "little" {
		return nil, fmt.Errorf("its numbers are %q-endian, want little", order)
	}
	program, err := a.read("data.pkl", maxPickle)
	if err != nil {
		return nil, err
	}
	return run(program, a.storage)
}

// An archive is the files of a zip archive, by name without the top folder.
type archive struct {
	b      []byte
	folder string
	files  map[string]*zip.File
}

// read returns the content of a small file.
func (a *archive) read(name string, most int64) ([]byte, error) {
	f := a.files[name]
	if f == nil {
		return nil, fmt.Errorf("there is no %s in the archive", name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("more than %d bytes", most)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// storage returns the bytes of a storage, a view of the archive.
func (a *archive) storage(key string) ([]byte, error) {
	f := a.files["data/"+key]
	if f == nil {
		return nil, fmt.Errorf("there is no data/%.40s in the archive", key)
	}
	if f.Method != zip.Store {
		return nil, fmt.Errorf("data/%.40s is compressed: torch.save does not do that", key)
	}
	at, err := f.DataOffset()
	if err != nil {
		return nil, fmt.Errorf("data/%.40s: %w", key, err)
	}
	n := f.UncompressedSize64
	if at < 0 || uint64(at) > uint64(len(a.b)) || n > uint64(len(a.b))-uint64(at) {
		return nil, fmt.Errorf("data/%.40s has %d bytes at %d, the file has %d: cut off?", key, n, at, len(a.b))
	}
	return a.b[at : uint64(at)+n : uint64(at)+n], nil
}
