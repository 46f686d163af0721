//go:build unix && !solaris

package hub

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks a file, as huggingface_hub does, unless another process has locked it.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
