package sniff

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// ErrTooLarge is the cause when a file has more bytes than it may.
var ErrTooLarge = errors.New("too large")

// ReadFile reads a small file of a checkpoint, at most so many bytes. The error
// wraps fs.ErrNotExist only if there is nothing of that name: a link that leads
// nowhere is there. A FIFO or a device is refused before it is opened, since that
// could wait for ever.
func ReadFile(fsys fs.FS, name string, most int) ([]byte, error) {
	st, err := fs.Stat(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, dangling(fsys, name, err)
	}
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(b) > most {
		err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)
	}
	return b, err
}

// Exists reports whether there is something of that name, even if it is a link
// that leads nowhere.
func Exists(fsys fs.FS, name string) bool {
	_, err := fs.Lstat(fsys, name)
	return err == nil
}

// dangling returns err, which says that a file is not there, or what is wrong with
// the link that is.
func dangling(fsys fs.FS, name string, err error) error {
	to, e := fs.ReadLink(fsys, name)
	if e != nil {
		return err
	}
	return Dangling(to)
}

// Dangling returns the error of a link to what is not there.
func Dangling(to string) error {
	return fmt.Errorf("it is a link to %s, which is not there: the download was not finished, or its file was "+
		"removed: download the model again", to)
}
