//go:build unix && !solaris

package output

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// TryLock locks a file, as huggingface_hub does, unless another process has it. Closing it unlocks it.
func TryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
