package weights

import "golang.org/x/sys/unix"

// populate maps all of b, waits for the disk meanwhile, and reports whether this system
// can, as Linux can from 5.14 on. It is a system call: a thread that waits in a page fault
// keeps its processor from other goroutines. Pages come in the large pieces of ordinary
// reading ahead, where MADV_WILLNEED makes many small ones.
func populate(b []byte) bool {
	return unix.Madvise(b, unix.MADV_POPULATE_READ) != unix.EINVAL // others show again when b is read
}
