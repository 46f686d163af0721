//go:build unix

package eval

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockWait is how long lock waits: a process that was just killed may still be exiting.
var lockWait = 3 * time.Second

// lock keeps other processes from writing f. The lock ends with this process, however
// it ends.
func lock(f *os.File) error {
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || time.Since(began) > lockWait {
			return err
		}
	}
}
