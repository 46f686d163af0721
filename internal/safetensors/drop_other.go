//go:build !unix

package safetensors

// Drop does nothing on this system, which takes mapped pages back by itself when
// memory is short.
func (f *File) Drop(string) {}
