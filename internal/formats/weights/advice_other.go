//go:build !unix

package weights

// Fetch does nothing on this system, which reads ahead by itself.
func (f *File) Fetch(data []byte) {}

// Drop does nothing on this system, which reclaims mapped pages by itself when memory is
// short.
func (f *File) Drop(data []byte) {}

// DropAll does nothing on this system.
func (f *File) DropAll() {}
