package audio

import (
	"errors"
	"io"
	"slices"
)

// unknownSize is the size of a stream before its end has come: more than any has.
const unknownSize = 1 << 62

// A stream is bytes that still arrive. A read waits for them. The last megabyte can be read again, since
// decoders go back a little.
type stream struct {
	r    io.Reader
	buf  []byte
	base int64 // place of buf[0]
	err  error // why no more bytes come
}

// streamHistory is how many bytes back a stream can be read.
const streamHistory = 1 << 20

var errStreamGone = errors.New("that part of the stream is gone; write the stream to a file and open that")

// ReadAt implements io.ReaderAt. It waits for all of b.
func (s *stream) ReadAt(b []byte, at int64) (int, error) {
	if at < s.base {
		return 0, errStreamGone
	}
	s.wait(at, at+int64(len(b)))
	n := 0
	if at < s.end() {
		n = copy(b, s.buf[at-s.base:])
	}
	if n < len(b) {
		return n, s.err
	}
	return n, nil
}

// arrived waits for the byte at a place. It returns how many bytes from there on have arrived: at least one,
// unless the stream has ended.
func (s *stream) arrived(at int64) int64 {
	s.wait(at, at+1)
	return s.end() - at
}

func (s *stream) end() int64 { return s.base + int64(len(s.buf)) }

// wait waits for the bytes from a place to another, and drops those that lie long before.
func (s *stream) wait(at, to int64) {
	for s.err == nil && s.end() < to {
		if drop := min(at-streamHistory-s.base, int64(len(s.buf))); drop > streamHistory {
			s.buf = s.buf[:copy(s.buf, s.buf[drop:])]
			s.base += drop
		}
		const block = 1 << 15
		s.buf = slices.Grow(s.buf, block)
		n, err := s.r.Read(s.buf[len(s.buf):][:block])
		s.buf, s.err = s.buf[:len(s.buf)+n], err
	}
}
