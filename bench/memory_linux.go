package bench

import (
	"os"

	"golang.org/x/sys/unix"
)

// forget drops files from the system's page cache, so that they are read from disk
// again. It reports whether that worked.
func forget(names []string) bool {
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return false
		}
		err = unix.Fdatasync(int(f.Fd())) // dirty pages would stay
		if err == nil || err == unix.EINVAL {
			err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		}
		f.Close()
		if err != nil {
			return false
		}
	}
	return true
}
