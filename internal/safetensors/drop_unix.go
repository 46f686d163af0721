//go:build unix

package safetensors

import (
	"os"

	"golang.org/x/sys/unix"
)

// Drop gives back the memory that a tensor of a mapped file takes, once its
// values have been copied elsewhere: without it a model would be held twice.
// The tensor stays readable; its bytes then come from the file again.
func (f *File) Drop(name string) {
	t, ok := f.infos[name]
	if !ok || f.mapped == nil {
		return
	}
	page := int64(os.Getpagesize())
	header := int64(len(f.mapped) - len(f.data))
	lo := (header + t.lo + page - 1) / page * page // neighbours keep the pages they share
	hi := (header + t.hi) / page * page
	if lo < hi {
		unix.Madvise(f.mapped[lo:hi], unix.MADV_DONTNEED) // advice: an error changes nothing
	}
}
