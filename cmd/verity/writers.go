package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"sync"
)

// An outWriter writes standard output. It remembers the first error, which cobra ignores when it prints help.
type outWriter struct {
	w   io.Writer
	err error

	mu   sync.Mutex
	open bool // the last line has no end yet
	cut  bool // an errWriter ended it
}

func (o *outWriter) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	rest := b
	if o.cut {
		rest = bytes.TrimPrefix(bytes.TrimLeft(b, " "), []byte("\n"))
	}
	if len(rest) > 0 {
		o.open = rest[len(rest)-1] != '\n'
	}
	o.cut = o.cut && len(b) == 0
	n, err := o.w.Write(rest)
	o.err = cmp.Or(o.err, err)
	return n + len(b) - len(rest), err
}

// An errWriter writes standard error where it is the file of standard output, as after 2>&1: in lines of its own.
type errWriter struct {
	io.Writer
	out *outWriter
}

func (e errWriter) Write(b []byte) (int, error) {
	e.out.mu.Lock()
	defer e.out.mu.Unlock()
	if e.out.open {
		fmt.Fprintln(e.Writer)
		e.out.open, e.out.cut = false, true
	}
	return e.Writer.Write(b)
}

// isOneFile reports whether two writers are the same file.
func isOneFile(a, b io.Writer) bool {
	one, ok := a.(*os.File)
	other, both := b.(*os.File)
	if !ok || !both {
		return false
	}
	info, err := one.Stat()
	info2, err2 := other.Stat()
	return err == nil && err2 == nil && os.SameFile(info, info2)
}
