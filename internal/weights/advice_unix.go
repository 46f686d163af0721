//go:build unix

package weights

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ahead says that data, a part of the file, will soon be looked at, so that the
// system reads it from disk meanwhile.
func (f *File) Ahead(data []byte) {
	if b := f.pages(data, true); len(b) > 0 {
		unix.Madvise(b, unix.MADV_WILLNEED) // advice: an error changes nothing
	}
}

// Drop gives back the memory that data, a part of a mapped file, takes, once its
// values have been copied elsewhere: without it a model would be held twice. The
// bytes stay readable; they then come from the file again.
func (f *File) Drop(data []byte) {
	if b := f.pages(data, false); len(b) > 0 {
		unix.Madvise(b, unix.MADV_DONTNEED)
	}
}

// DropAll does for the whole file what Drop does for a part, whose neighbours keep
// the pages that they share.
func (f *File) DropAll() {
	if m := f.region.mapped; len(m) > 0 {
		unix.Madvise(m, unix.MADV_DONTNEED)
	}
}

// pages returns the mapped pages of data: all that it touches, or those that hold
// nothing else. It is nil if data is no part of the mapped file.
func (f *File) pages(data []byte, touched bool) []byte {
	m := f.region.mapped
	if len(data) == 0 || !f.region.holds(uintptr(unsafe.Pointer(&data[0]))) {
		return nil
	}
	page := int64(os.Getpagesize())
	lo := int64(uintptr(unsafe.Pointer(&data[0])) - uintptr(unsafe.Pointer(&m[0])))
	hi := lo + int64(len(data))
	if touched {
		lo -= lo % page
	} else {
		lo, hi = (lo+page-1)/page*page, hi/page*page
	}
	if lo >= hi || hi > int64(len(m)) {
		return nil
	}
	return m[lo:hi]
}
