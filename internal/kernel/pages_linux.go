package kernel

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of a large page on amd64 and, with 4 KiB pages, arm64.
const hugePage = 2 << 20

// preferHugePages asks for large pages for b. Weights are read front to back for
// every token: with small pages the hardware stops reading ahead each 4 KiB.
//
// The range is rounded outward. The rest of those pages is Go heap, too, where large
// pages do no harm.
func preferHugePages(b []byte) {
	if len(b) < hugePage/2 {
		return
	}
	from := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	start := from &^ (hugePage - 1)
	end := (from + uintptr(len(b)) + hugePage - 1) &^ (hugePage - 1)
	// An error means small pages, nothing worse.
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, start, end-start, unix.MADV_HUGEPAGE)
}
