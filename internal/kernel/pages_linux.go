package kernel

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of a large page on amd64 and, with 4 KiB pages, arm64.
const hugePage = 2 << 20

// preferHugePages asks for large pages for n bytes. Weights are read front to back for
// every token: with small pages the hardware stops reading ahead each 4 KiB. A large page
// that has a small one in it stays small, so it is asked for before the first write.
//
// The range is rounded outward. The rest of those pages is Go heap, too, where large
// pages do no harm.
func preferHugePages(from unsafe.Pointer, n int) {
	if n < hugePage/8 {
		return
	}
	start := uintptr(from) &^ (hugePage - 1)
	end := (uintptr(from) + uintptr(n) + hugePage - 1) &^ (hugePage - 1)
	// An error means small pages, nothing worse.
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, start, end-start, unix.MADV_HUGEPAGE)
}
