//go:build unix

package weights

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Fetch brings data, a part of the file, into memory, since it will be used soon. It waits
// for the disk where the system can do that, on Linux, and elsewhere only asks for data.
func (f *File) Fetch(data []byte) {
	if b := f.pages(data, true); len(b) > 0 && !populate(b) {
		unix.Madvise(b, unix.MADV_WILLNEED) // advice: an error changes nothing
	}
}

// Drop releases the memory that data, a part of a mapped file, takes, once its values
// have been copied elsewhere: otherwise a model would be held twice. The bytes stay
// readable; they are then read from the file again.
func (f *File) Drop(data []byte) {
	if b := f.pages(data, false); len(b) > 0 {
		unix.Madvise(b, unix.MADV_DONTNEED)
	}
}

// DropAll is Drop for the whole file, including pages that two parts share.
func (f *File) DropAll() {
	if m := f.region.mapped; len(m) > 0 {
		unix.Madvise(m, unix.MADV_DONTNEED)
	}
}

// pages returns the mapped pages of data: all that it touches, or only those that hold
// nothing else. It is nil if data is not a part of the mapped file.
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
