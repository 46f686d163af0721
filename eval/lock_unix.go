//go:build unix

package eval

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// replacesOpen: a file can take the place of one that is open.
const replacesOpen = true

// lockWait is how long lock waits: a process that was killed just now may still be
// going.
var lockWait = 3 * time.Second

// lock keeps other processes from writing f. It ends with this process, however
// that ends.
func lock(f *os.File) error {
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || time.Since(began) > lockWait {
			return err
		}
	}
}
