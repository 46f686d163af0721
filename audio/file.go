package audio

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// A file is the bytes of one sound file. `cat` puts several into one, and the first of them
// may have been cut: then what its header says reaches into the next. So whatever is read of
// a file is looked through for the beginning of another, and the file ends there. Places
// count from its start.
type file struct {
	r      io.ReaderAt
	stream *stream // r, if its bytes still arrive; else nil
	from   int64   // where it begins in r
	end    int64   // of all bytes in r
	size   int64
	seen   int64                 // looked through so far
	next   bool                  // another file begins at size
	kind   string                // of the beginnings that its source finds itself
	body   int64                 // where the content of a container ends, in which frames and streams are no files
	own    func(*file) []stretch // as in format
	owned  []stretch             // what it returned; nil before it was asked
	tags   []stretch             // that were met
	err    error                 // why reading failed
	tag    error                 // what is wrong with the tag before it
}

func newFile(r io.ReaderAt, from, end int64) *file {
	s, _ := r.(*stream)
	return &file{r: r, stream: s, from: from, end: end, size: end - from}
}

// ReadAt implements io.ReaderAt. Where the file is shorter than its size, that is no EOF.
func (f *file) ReadAt(b []byte, at int64) (int, error) {
	f.look(at, at+int64(len(b)))
	n, err := f.read(b, at)
	if err == nil && n < len(b) {
		err = io.EOF
	}
	return n, err
}

// read fills b up to the end of the file. With the end of a stream, its size is known.
func (f *file) read(b []byte, at int64) (int, error) {
	b = b[:max(0, min(int64(len(b)), f.size-at))]
	n, err := f.r.ReadAt(b, f.from+at)
	switch {
	case n == len(b):
		return n, nil
	case f.stream != nil && err == io.EOF:
		f.size = at + int64(n)
		f.end = f.from + f.size
		return n, nil
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

// head returns up to sniffLen bytes, without a look at what they are.
func (f *file) head(at int64) []byte {
	b := make([]byte, sniffLen)
	n, _ := f.read(b, at)
	return b[:n]
}

// A cursor reads a file in order.
type cursor struct {
	*bufio.Reader
	under *inOrder
}

func (f *file) cursor(at int64) cursor { return f.within(at, 1<<62) }

// within returns a cursor that stops at a place.
func (f *file) within(at, end int64) cursor {
	r := &inOrder{f, at, end}
	return cursor{bufio.NewReaderSize(r, 1<<15), r}
}

// at returns the place of the next byte.
func (c cursor) at() int64 { return c.under.at - int64(c.Buffered()) }

// skip passes over n bytes. It reads nothing, so that many that are small cost no more than their bytes.
func (c cursor) skip(n int64) {
	if n <= int64(c.Buffered()) {
		c.Discard(int(n))
		return
	}
	c.under.at = c.at() + n
	c.Reset(c.under)
}

// inOrder reads a file from a place to another. Of a stream it reads what is there.
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

// arrived returns how many bytes can be read at a place, at least one: of a stream those that
// have come, once one has.
func (f *file) arrived(at int64) int64 {
	if f.stream == nil {
		return math.MaxInt64
	}
	return max(f.stream.there(f.from+at), 1)
}

// find returns the first place of one of some patterns from a place on, outside of tags; -1 without one.
func (f *file) find(at int64, patterns ...string) int64 {
	b := make([]byte, 1<<16)
	for at < f.size {
		n, err := f.ReadAt(b, at)
		first := n
		for _, p := range patterns {
			for i := 0; i < first; i++ {
				if i += indexOr(b[i:n], p); i < first && !f.owns(at+int64(i)) {
					first = i
				}
			}
		}
		if first < n {
			return at + int64(first)
		}
		const overlap = 8 // longer than a pattern
		if err != nil || n <= overlap {
			break
		}
		at += int64(n - overlap)
	}
	return -1
}

const (
	lookBlock = 1 << 16
	// mpegRun is how many frames of MPEG audio in a row are no chance.
	mpegRun = 8
)

// look looks for the beginning of another file from a place to another, and somewhat beyond.
// In a stream it would wait for what lies beyond.
func (f *file) look(from, to int64) {
	if f.stream != nil {
		return
	}
	for from = max(from, f.seen, 1); from < to && from < f.size && !f.next; from = f.seen {
		b := make([]byte, lookBlock+mpegRun*maxMPEGFrame)
		n, err := f.r.ReadAt(b[:min(int64(len(b)), f.size-from)], f.from+from)
		if n == 0 {
			f.err = noEOF(err)
			return
		}
		f.seen = from + int64(min(n, lookBlock))
		if i := f.begins(b[:n], from); i < min(n, lookBlock) {
			f.size, f.next = from+int64(i), true
		}
	}
}

// begins returns where in b, which lies at a place, another file begins; len(b) if none does.
func (f *file) begins(b []byte, at int64) int {
	f.tags = slices.DeleteFunc(f.tags, func(s stretch) bool { return s.to <= at })
	f.note(b, at)
	return f.runIn(b, at, f.signatureIn(b, at))
}

// signatureIn returns where in b a file begins with a signature; len(b) if none does.
func (f *file) signatureIn(b []byte, at int64) int {
	first := len(b)
	for _, k := range formats {
		if k.sure == nil || k.kind != "" && k.kind == f.kind {
			continue
		}
		from := 0
		if k.within {
			from = int(max(0, min(f.body-at, int64(len(b)))))
		}
		skip := len(k.magic) - len(strings.TrimLeft(k.magic, "?"))
		key, _, _ := strings.Cut(k.magic[skip:], "?")
		for i := from + skip; ; i++ {
			n := bytes.Index(b[min(i, len(b)):], []byte(key))
			if i += n; n < 0 || i-skip >= first {
				break
			}
			if head := b[i-skip:]; k.matches(head) && k.sure(head) && !f.inOgg(at+int64(i)) && !f.owns(at+int64(i-skip)) {
				first = i - skip
				break
			}
		}
	}
	return first
}

// A stretch is a part of a file, from a place to another.
type stretch struct{ from, to int64 }

// owns reports whether what lies at a place belongs to the file whatever it begins like.
func (f *file) owns(at int64) bool {
	if f.stream != nil {
		return false
	}
	if f.owned == nil {
		f.owned = []stretch{}
		if f.own != nil {
			all := newFile(f.r, f.from, f.end)
			all.seen = all.size
			f.owned = append(f.owned, f.own(all)...)
		}
		f.owned = append(f.owned, f.lastTag()...)
	}
	if slices.ContainsFunc(f.tags, func(s stretch) bool { return s.from <= at && at < s.to }) {
		return true
	}
	_, found := slices.BinarySearchFunc(f.owned, at, func(s stretch, at int64) int {
		if at < s.from {
			return 1
		}
		if at >= s.to {
			return -1
		}
		return 0
	})
	return found
}

// runIn returns where in b, before end, a file begins with a run of frames or a tag before
// one; end if none does.
func (f *file) runIn(b []byte, at int64, end int) int {
	for i := int(max(0, f.body-at)); i < end-1; i++ {
		if (b[i] == 0xff && b[i+1] >= 0xe0 && (f.kind != "mpeg" && (runOf(b[i:], mpegRun, mpegHeader{}) || isForeignRun(b[i:])) || f.kind != "adts" && isADTSRun(b[i:])) ||
			b[i] == 0x0b && f.kind != "ac3" && isAC3Run(b[i:]) ||
			b[i] == 'I' && hasAt(b[i:], 0, "ID3") && f.tagged(b[i:], at+int64(i))) && !f.owns(at+int64(i)) {
			return i
		}
	}
	return end
}
