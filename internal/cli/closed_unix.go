//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// wasClosed reports whether f, a standard stream, seems to have been closed when the
// program began. Go's runtime then opens the null device in its place, for reading and
// writing, before any code of ours runs. A shell opens it for one of the two; but some
// programs open it for both on purpose (Python's subprocess.DEVNULL). So this is good
// for a warning, and for no error.
func wasClosed(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return true
	}
	null, err := os.Stat(os.DevNull)
	if err != nil || !os.SameFile(info, null) {
		return false
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}
