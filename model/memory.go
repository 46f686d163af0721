package model

import (
	"bytes"
	"io/fs"
	"time"
)

// A memoryFS holds, by name, the small files of a checkpoint that is no directory.
type memoryFS map[string][]byte

// Open opens a file for reading.
func (m memoryFS) Open(name string) (fs.File, error) {
	b, ok := m[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return memoryFile{bytes.NewReader(b), name}, nil
}

// A memoryFile is an open file of a memoryFS, and its own description.
type memoryFile struct {
	*bytes.Reader
	name string
}

func (f memoryFile) Stat() (fs.FileInfo, error) { return f, nil }
func (memoryFile) Close() error                 { return nil }
func (f memoryFile) Name() string               { return f.name }
func (memoryFile) Mode() fs.FileMode            { return 0o444 }
func (memoryFile) ModTime() time.Time           { return time.Time{} }
func (memoryFile) IsDir() bool                  { return false }
func (memoryFile) Sys() any                     { return nil }
