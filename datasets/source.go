package datasets

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// A Source is where an utterance's sound is: a file, or bytes in memory.
type Source struct {
	Path  string // the file; for bytes, a name for messages, or empty
	Place Place  // for bytes from a Parquet file
	data  []byte
}

// A Place is the position of a row in a Parquet file. The zero value means none.
type Place struct {
	File  string
	Group int // row group, from 0
	Row   int // in the file, from 1
}

// File returns the source for the file at path.
func File(path string) Source { return Source{Path: path} }

// Bytes returns the source for data, which must not change, with a name.
func Bytes(name string, data []byte) Source { return Source{Path: name, data: data} }

// Embedded reports whether the sound is in memory rather than in the file Path.
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

// existing returns the source for the regular file at path, or an error.
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
