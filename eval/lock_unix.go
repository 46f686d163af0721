//go:build unix

package eval

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock keeps other processes from writing f. It ends with this process, however
// that ends.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
