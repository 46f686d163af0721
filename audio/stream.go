package audio

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"
)

// OpenStream opens what may be sound that is still arriving, such as standard input. A file
// that somebody pipes comes faster than speech: it is read to its end first, as OpenReader
// does. Sound that comes no faster than twice the speed of speech can be read as it comes,
// though only once, in bounded memory; see Clip.Once. Files that follow each other are then
// found at their ends alone. Name is used in errors.
func (in Input) OpenStream(ctx context.Context, name string, r io.Reader) (*Clip, error) {
	return in.spooled(ctx, name, r, true)
}

// slow copies a stream to a spool for as long as it comes faster than twice the speed of
// speech, and reports whether it does so no more, before its end.
func (in Input) slow(name string, s *spool, r io.Reader) bool {
	c, err := in.open(name, &stream{r: io.MultiReader(s.reader(), io.TeeReader(r, s))}, unknownSize)
	began := time.Now()
	for b, sound := make([]float32, SampleRate/4), time.Duration(0); err == nil; {
		_, err = c.Read(b)
		if sound += time.Second / 4; err == nil && sound < 2*time.Since(began) {
			return true
		}
	}
	return false // what is wrong is said of the whole
}

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
	for s.err == nil && s.end() < at+int64(len(b)) {
		s.more(at)
	}
	n := 0
	if at < s.end() {
		n = copy(b, s.buf[at-s.base:])
	}
	if n < len(b) {
		return n, s.err
	}
	return n, nil
}

// there waits for the byte at a place, and returns how many have come from there on: at
// least one, unless the stream has ended.
func (s *stream) there(at int64) int64 {
	for s.err == nil && s.end() <= at {
		s.more(at)
	}
	return s.end() - at
}

func (s *stream) end() int64 { return s.base + int64(len(s.buf)) }

// more waits for some bytes, and drops those that lie long before a place.
func (s *stream) more(at int64) {
	if drop := min(at-keptBytes-s.base, int64(len(s.buf))); drop > keptBytes {
		s.buf = s.buf[:copy(s.buf, s.buf[drop:])]
		s.base += drop
	}
	const block = 1 << 15
	s.buf = slices.Grow(s.buf, block)
	n, err := s.r.Read(s.buf[len(s.buf):][:block])
	s.buf, s.err = s.buf[:len(s.buf)+n], err
}
