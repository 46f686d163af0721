package audio

import (
	"errors"
	"io"
	"slices"
)

// unknownSize is the size of a stream before its end has come: more than any has.
const unknownSize = 1 << 62

// A stream is bytes that arrive. What is asked for is waited for; the last of it is kept,
// since decoders look back a little.
type stream struct {
	r    io.Reader
	buf  []byte
	base int64 // place of buf[0]
	err  error // why no more bytes come
}

// keptBytes is how far back a stream can be read.
const keptBytes = 1 << 20

var errForgotten = errors.New("what came so long ago is forgotten; write the stream to a file, and name that")

// ReadAt implements io.ReaderAt. It waits for all of b.
func (s *stream) ReadAt(b []byte, at int64) (int, error) {
	if at < s.base {
		return 0, errForgotten
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

// arrived waits for the byte at a place, and returns how many have come from there on: at
// least one, unless the stream has ended.
func (s *stream) arrived(at int64) int64 {
	s.wait(at, at+1)
	return s.end() - at
}

func (s *stream) end() int64 { return s.base + int64(len(s.buf)) }

// wait waits for the bytes from a place to another, and drops those that lie long before.
func (s *stream) wait(at, to int64) {
	for s.err == nil && s.end() < to {
		if drop := min(at-keptBytes-s.base, int64(len(s.buf))); drop > keptBytes {
			s.buf = s.buf[:copy(s.buf, s.buf[drop:])]
			s.base += drop
		}
		const block = 1 << 15
		s.buf = slices.Grow(s.buf, block)
		n, err := s.r.Read(s.buf[len(s.buf):][:block])
		s.buf, s.err = s.buf[:len(s.buf)+n], err
	}
}
