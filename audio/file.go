package audio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
)

// A file is the bytes of a sound file, after any tags, or of one stream of a chained file. Positions count from
// its start.
type file struct {
	r    io.ReaderAt
	pipe *pipe // r, if its bytes still arrive; else nil
	from int64 // where the file begins in r
	size int64
	err  error // why reading failed
}

// newFile returns the file that starts at byte from of r and stops before byte end.
func newFile(r io.ReaderAt, from, end int64) *file {
	p, _ := r.(*pipe)
	return &file{r: r, pipe: p, from: from, size: end - from}
}

// ReadAt implements io.ReaderAt. It returns io.EOF only at the end of the file; if r ends earlier, the error is
// another.
func (f *file) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.fill(b, at)
	if err == nil && n < len(b) {
		err = io.EOF
	}
	return n, err
}

// fill fills b up to the end of the file. The end of a stream sets the size.
func (f *file) fill(b []byte, at int64) (int, error) {
	b = b[:max(0, min(int64(len(b)), f.size-at))]
	n, err := f.r.ReadAt(b, f.from+at)
	switch {
	case n == len(b):
		return n, nil
	case f.pipe != nil && err == io.EOF:
		f.size = at + int64(n)
		return n, nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		f.err = err
		return n, err
	}
	f.err = fmt.Errorf("reading %d bytes at byte %d: got %d: %w", len(b), at, n, noEOF(err))
	return n, f.err
}

// failed returns why reading failed, or else err: decoders do not pass on what stopped them.
func (f *file) failed(err error) error {
	if f.err != nil {
		return f.err
	}
	return err
}

// bytes reads n bytes.
func (f *file) bytes(at, n int64) ([]byte, error) {
	b := make([]byte, n)
	if got, err := f.ReadAt(b, at); err != nil {
		return nil, f.failed(malformed(fmt.Sprintf("byte %d", at), fmt.Sprintf("%d bytes", n), "%d", got))
	}
	return b, nil
}

// head returns up to sniffLen bytes from a place on.
func (f *file) head(at int64) []byte {
	b := make([]byte, sniffLen)
	n, _ := f.fill(b, at)
	return b[:n]
}

// arrived returns how many bytes can be read at a place without waiting. If there is none yet, it waits for
// one. It returns at least 1.
func (f *file) arrived(at int64) int64 {
	if f.pipe == nil {
		return math.MaxInt64
	}
	return max(f.pipe.arrived(f.from+at), 1)
}

// find returns the first place, from a place on, where a pattern stands whose head, the bytes from there on, passes is,
// or -1. It reads the file once, however often the pattern occurs.
func (f *file) find(at int64, pattern string, is func(head []byte) bool) int64 {
	b := make([]byte, 1<<16)
	for at < f.size {
		n, err := f.ReadAt(b, at)
		end := n
		if err == nil { // heads from there on are whole in what is read next
			end = n - sniffLen + 1
		}
		for i := 0; i < end; i++ {
			next := bytes.Index(b[i:n], []byte(pattern))
			if i += next; next < 0 || i >= end {
				break
			}
			if is(b[i:min(i+sniffLen, n)]) {
				return at + int64(i)
			}
		}
		if err != nil {
			break
		}
		at += int64(end)
	}
	return -1
}

// isAny passes every head to file.find.
func isAny([]byte) bool { return true }

// A byteReader reads a file in order.
type byteReader struct {
	*bufio.Reader
	under *inOrder
}

func (f *file) readerAt(at int64) byteReader { return f.readerTo(at, math.MaxInt64) }

// readerTo returns a byteReader that stops at a place.
func (f *file) readerTo(at, end int64) byteReader {
	r := &inOrder{f, at, end}
	return byteReader{bufio.NewReaderSize(r, 1<<15), r}
}

// at returns the place of the next byte.
func (c byteReader) at() int64 { return c.under.at - int64(c.Buffered()) }

// skip passes over n bytes. It reads none of them, so that many small skips stay cheap.
func (c byteReader) skip(n int64) {
	if n <= int64(c.Buffered()) {
		c.Discard(int(n))
		return
	}
	c.under.at = c.at() + n
	c.Reset(c.under)
}

// inOrder reads a file from one place to another. Of a stream it reads what has arrived.
type inOrder struct {
	file    *file
	at, end int64
}

func (r *inOrder) Read(b []byte) (int, error) {
	if b = b[:min(int64(len(b)), r.end-r.at, r.file.arrived(r.at))]; len(b) == 0 {
		return 0, io.EOF
	}
	n, err := r.file.ReadAt(b, r.at)
	r.at += int64(n)
	return n, err
}
