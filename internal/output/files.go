package output

import (
	"errors"
	"io"
	"os"
)

// A Temp is a temporary file. It is gone after Close.
type Temp struct {
	*os.File
	named bool // the system could not unlink it while it is open
}

// NewTemp makes an empty file in dir, or in the directory for temporary files if that is empty. Where the system allows
// it, the file is unlinked at once, so that nothing is left however the process ends.
func NewTemp(dir, pattern string) (*Temp, error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	return &Temp{f, os.Remove(f.Name()) != nil}, nil
}

// Close closes and removes the file.
func (t *Temp) Close() error {
	err := t.File.Close()
	if t.named {
		err = errors.Join(err, os.Remove(t.Name()))
	}
	return err
}

// A Counter reports how many bytes were written.
type Counter struct {
	io.Writer
	Written int64
	Report  func(written int64)
}

func (c *Counter) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.Written += int64(n)
	c.Report(c.Written)
	return n, err
}
