package torch

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"verity/internal/formats/sniff"
	"verity/internal/formats/weights"
)

// ErrMalformed is the cause of every error about the content of a file.
var ErrMalformed = errors.New("malformed PyTorch file")

// Magic is the first bytes of a file.
const Magic = "PK\x03\x04"

// A Model is the content of a file. Both fields are nil if the file holds something else
// than a checkpoint of openai/whisper.
type Model struct {
	Sizes   map[string]int  // dims, such as n_vocab
	Tensors []weights.Entry // model_state_dict, in its order
}

// Parse reads a file. The tensors are views of b.
func Parse(b []byte) (*Model, error) {
	v, err := parse(b)
	if err != nil {
		return nil, sniff.Remedied(fmt.Errorf("%w: %w", ErrMalformed, err))
	}
	m := &Model{}
	saved, _ := v.(*dict)
	dims, state := saved.dict("dims"), saved.dict("model_state_dict")
	if dims == nil || state == nil {
		return m, nil
	}
	m.Sizes = map[string]int{}
	for name, v := range dims.values {
		if n, ok := v.(int); ok {
			m.Sizes[name] = n
		}
	}
	for _, name := range state.keys {
		if e, ok := state.values[name].(*weights.Entry); ok {
			e := *e
			e.Name = name
			m.Tensors = append(m.Tensors, e)
		}
	}
	return m, nil
}

const maxPickle = 4 << 20 // large-v2 has 100 kB

func parse(b []byte) (any, error) {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, fmt.Errorf("reading the zip archive: %w", err)
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
	if order, err := a.content("byteorder"); err == nil && string(order) != "little" {
		return nil, fmt.Errorf("its numbers are %.20q-endian, want little", order)
	}
	program, err := a.content("data.pkl")
	if err == nil && len(program) > maxPickle {
		err = fmt.Errorf("data.pkl has %d bytes, at most %d are allowed", len(program), maxPickle)
	}
	if err != nil {
		return nil, err
	}
	return run(program, func(key string) ([]byte, error) { return a.content("data/" + key) })
}

// An archive is the files of a zip archive, by name without the top folder.
type archive struct {
	b      []byte
	folder string
	files  map[string]*zip.File
}

// content returns that of a file, a view of the archive.
func (a *archive) content(name string) ([]byte, error) {
	f := a.files[name]
	if f == nil {
		return nil, fmt.Errorf("there is no %.40q in the archive", name)
	}
	if f.Method != zip.Store {
		return nil, fmt.Errorf("%.40q is compressed: torch.save does not do that", name)
	}
	at, err := f.DataOffset()
	if err != nil {
		return nil, fmt.Errorf("%.40q: %w", name, err)
	}
	n := f.UncompressedSize64
	if at < 0 || uint64(at) > uint64(len(a.b)) || n > uint64(len(a.b))-uint64(at) {
		return nil, fmt.Errorf("%.40q has %d bytes at %d, the file has %d: the file is cut off", name, n, at, len(a.b))
	}
	content := a.b[at : uint64(at)+n : uint64(at)+n]
	if f.CRC32 != 0 { // one bit elsewhere in the archive would make these the bytes of another tensor
		if sum := crc32.ChecksumIEEE(content); sum != f.CRC32 {
			return nil, fmt.Errorf("%.40q: got the checksum %08x, want %08x: damaged?", name, sum, f.CRC32)
		}
		f.CRC32 = 0 // once: a pickle may name a storage thousands of times
	}
	return content, nil
}
