package store

import (
	"fmt"
	"os"
)

// private makes a folder that only this user can write to, or checks that it is one. In a
// temporary directory, which everybody can write to, another user might have made it before,
// with files in it for this one to trust. A link is refused too, wherever it leads.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || !mine(info) {
		return fmt.Errorf("%s: it is another user's, others can write to it, or it is a link: remove it, or set TMPDIR to a folder of your own", dir)
	}
	return nil
}
