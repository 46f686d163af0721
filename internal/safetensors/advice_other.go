//go:build !unix

package safetensors

// Ahead does nothing on this system, which reads ahead by itself.
func (f *File) Ahead(name string, from, to int64) {}

// Drop does nothing on this system, which takes mapped pages back by itself when
// memory is short.
func (f *File) Drop(name string, from, to int64) {}

// DropAll does nothing on this system.
func (f *File) DropAll() {}
