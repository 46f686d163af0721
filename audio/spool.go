package audio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// OpenReader opens sound that can be read only once, such as standard input. It is
// copied to a temporary file, which Close removes at the latest. Name is used in
// errors. Unreadable formats are refused after the first bytes, not after gigabytes of
// video.
func (in Input) OpenReader(ctx context.Context, name string, r io.Reader) (*Clip, error) {
	return in.spooled(ctx, name, r, false)
}

// spooled copies sound to a temporary file; what is arriving only if it comes fast.
func (in Input) spooled(ctx context.Context, name string, r io.Reader, arriving bool) (*Clip, error) {
	if f, ok := r.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.IsDir() {
			return nil, named(name, errDirectory)
		}
	}
	s, err := newSpool()
	if err != nil {
		return nil, fmt.Errorf("%s: cannot make a temporary file for it: %w", name, err)
	}
	c, err := in.fromSpool(ctx, name, s, r, arriving)
	if err != nil {
		s.close()
		return nil, named(name, err)
	}
	c.closers = append(c.closers, s.close)
	return c, nil
}

func (in Input) fromSpool(ctx context.Context, name string, s *spool, r io.Reader, arriving bool) (*Clip, error) {
	head, err := s.head(r)
	if err != nil {
		return nil, err
	}
	if err := in.hopeless(head); err != nil {
		return nil, err
	}
	if k := formatOf(head); arriving && (in.Raw > 0 || k != nil && k.open != nil) {
		if in.slow(name, s, r) {
			c, err := in.open(name, &stream{r: io.MultiReader(s.reader(), r)}, unknownSize)
			if err == nil {
				c.once = true
			}
			return c, err
		}
	}
	if err := s.fill(r); err != nil {
		return nil, err
	}
	return in.openFile(ctx, name, s.file, s.size)
}

// hopeless returns the error that open would return whatever bytes follow, or nil.
func (in Input) hopeless(head []byte) error {
	if in.Raw > 0 {
		return nil
	}
	if program, err := in.program(); program != "" || err != nil {
		return err
	}
	if f := formatOf(head); f == nil || f.open == nil {
		return in.refused(refuse(head))
	}
	return nil
}

// A spool is a temporary file with a copy of a stream.
type spool struct {
	file *os.File
	path string // empty if the file has been unlinked already
	size int64
	err  error // why no more can be written
}

func newSpool() (*spool, error) {
	f, err := os.CreateTemp("", "verity-audio-*")
	if err != nil {
		return nil, err
	}
	s := &spool{file: f}
	// Where an open file may be unlinked, it is unlinked now: then it cannot be left
	// behind, however the process ends.
	if os.Remove(f.Name()) != nil {
		s.path = f.Name()
	}
	return s, nil
}

// Write implements io.Writer.
func (s *spool) Write(b []byte) (n int, err error) {
	if s.err == nil {
		n, s.err = s.file.Write(b)
		s.size += int64(n)
	}
	return n, s.err
}

// fill copies r to the spool. What cannot be written is an error, and whatever ends r but its end.
func (s *spool) fill(r io.Reader) error {
	if _, err := io.Copy(s, r); err != nil || s.err != nil {
		err = cmp.Or(s.err, err)
		return fmt.Errorf("copying it to a temporary file: %w", err)
	}
	return nil
}

// reader reads what the spool holds now.
func (s *spool) reader() io.Reader { return io.NewSectionReader(s.file, 0, s.size) }

// head fills the spool until it holds the first bytes of the sound itself, behind
// any ID3 tags, and returns them.
func (s *spool) head(r io.Reader) (head []byte, err error) {
	start := int64(0)
	for range maxTags {
		if err := s.fill(io.LimitReader(r, max(start+sniffLen-s.size, 0))); err != nil {
			return nil, err
		}
		f := newFile(s.file, 0, s.size)
		if head = f.head(start); f.err != nil || !hasAt(head, 0, "ID3") {
			return head, f.err
		}
		start += id3Size(head)
	}
	return head, nil
}

func (s *spool) close() error {
	err := s.file.Close()
	if s.path != "" {
		err = errors.Join(err, os.Remove(s.path))
	}
	return err
}
