package input

import (
	"errors"
	"fmt"
	"io/fs"
)

// ErrTooLarge is the cause if a file is larger than the limit.
var ErrTooLarge = errors.New("too large")

// ReadFS reads a small file of a file system; most limits its size. The error wraps
// fs.ErrNotExist only if nothing has that name: a dangling link counts as existing. A
// FIFO or device is refused before it is opened, since opening could block for ever.
func ReadFS(fsys fs.FS, name string, most int) ([]byte, error) {
	st, err := fs.Stat(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, dangling(fsys, name, err)
	}
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, ErrNotRegular
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, int64(most))
}

// Exists reports whether something has that name, even a dangling link.
func Exists(fsys fs.FS, name string) bool {
	_, err := fs.Lstat(fsys, name)
	return err == nil
}

// dangling returns err, which says that a file does not exist, or a better error if it
// is a dangling link.
func dangling(fsys fs.FS, name string, err error) error {
	to, e := fs.ReadLink(fsys, name)
	if e != nil {
		return err
	}
	return Dangling(to)
}

// Dangling returns the error for a link whose target does not exist.
func Dangling(to string) error {
	return fmt.Errorf("it is a link to %s, which is not there: the download was not finished, or its file was "+
		"removed: download the model again", to)
}
