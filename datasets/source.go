package datasets

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// A Source is where the sound of an utterance comes from: a file, or bytes in
// memory.
type Source struct {
	Path  string // the file; for bytes, a name for messages, possibly empty
	Place Place  // of bytes that a Parquet file holds
	data  []byte
}

// A Place is where a row lies in a Parquet file. The zero value is none.
type Place struct {
	File  string
	Group int // row group, from 0
	Row   int // of the file, from 1
}

// File returns the source that is the file at path.
func File(path string) Source { return Source{Path: path} }

// Bytes returns the source that is data, which must not change, under a name.
func Bytes(name string, data []byte) Source { return Source{Path: name, data: data} }

// Embedded reports whether the sound is in memory and not in the file Path.
func (s Source) Embedded() bool { return s.data != nil }

// Open opens the sound for reading.
func (s Source) Open() (io.ReadSeekCloser, error) {
	if s.data != nil {
		return memory{bytes.NewReader(s.data)}, nil
	}
	return os.Open(s.Path)
}

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// existing returns the source that is the regular file at path, or says why not.
func existing(path string) (Source, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Source{}, fmt.Errorf("audio file %s: %w", path, fs.ErrNotExist)
	case err != nil:
		return Source{}, fmt.Errorf("audio file: %w", err)
	case !info.Mode().IsRegular():
		return Source{}, fmt.Errorf("audio file %s: not a regular file", path)
	}
	return File(path), nil
}
