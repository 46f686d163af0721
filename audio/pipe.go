package audio

import (
	"errors"
	"io"
	"slices"
)

// unknownSize is the size of a pipe before its end has come: more than any has.
const unknownSize = 1 << 62

// A pipe is bytes that still arrive. A read waits for them. The last megabyte can be read again, since
// decoders go back a little.
type pipe struct {
	r    io.Reader
	buf  []byte
	base int64 // place of buf[0]
	err  error // why no more bytes come
}

// pipeHistory is how many bytes back a pipe can be read.
const pipeHistory = 1 << 20

var errStreamGone = errors.New("that part of the stream is gone; write the stream to a file and open that")

// ReadAt implements io.ReaderAt. It waits for all of b.
func (p *pipe) ReadAt(b []byte, at int64) (int, error) {
	if at < p.base {
		return 0, errStreamGone
	}
	p.wait(at, at+int64(len(b)))
	n := 0
	if at < p.end() {
		n = copy(b, p.buf[at-p.base:])
	}
	if n < len(b) {
		return n, p.err
	}
	return n, nil
}

// arrived waits for the byte at a place. It returns how many bytes from there on have arrived: at least one,
// unless the pipe has ended.
func (p *pipe) arrived(at int64) int64 {
	p.wait(at, at+1)
	return p.end() - at
}

func (p *pipe) end() int64 { return p.base + int64(len(p.buf)) }

// wait waits for the bytes from a place to another, and drops those that lie long before.
func (p *pipe) wait(at, to int64) {
	for p.err == nil && p.end() < to {
		if drop := min(at-pipeHistory-p.base, int64(len(p.buf))); drop > pipeHistory {
			p.buf = p.buf[:copy(p.buf, p.buf[drop:])]
			p.base += drop
		}
		const block = 1 << 15
		p.buf = slices.Grow(p.buf, block)
		n, err := p.r.Read(p.buf[len(p.buf):][:block])
		p.buf, p.err = p.buf[:len(p.buf)+n], err
	}
}
