package audio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"
)

// OpenReader opens sound that can be read only once, such as standard input. It is
// copied to a temporary file, which Close removes at the latest. Name is used in
// errors. Unreadable formats are refused after the first bytes, not after gigabytes of
// video.
func (in Input) OpenReader(ctx context.Context, name string, r io.Reader) (*Clip, error) {
	return in.spooled(ctx, name, r, nil)
}

// OpenStream opens what may be sound that is still arriving, such as standard input. A file
// that somebody pipes comes faster than speech: it is read to its end first, as OpenReader
// does. Sound that comes no faster than twice the speed of speech, or stalls, can be read as it
// comes, though only once, in bounded memory; see Clip.Once. Files that follow each other are
// then found at their ends alone. Name is used in errors.
func (in Input) OpenStream(ctx context.Context, name string, r io.Reader) (*Clip, error) {
	p := &pump{come: make(chan []byte), closed: make(chan struct{}), patience: math.MaxInt64}
	go p.run(r)
	c, err := in.spooled(ctx, name, r, p)
	if err != nil {
		p.close()
		return nil, err
	}
	c.closers = append(c.closers, p.close)
	return c, nil
}

// spooled copies sound to a temporary file; what is arriving, which has a pump, only if it comes fast.
func (in Input) spooled(ctx context.Context, name string, r io.Reader, p *pump) (*Clip, error) {
	if f, ok := r.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.IsDir() {
			return nil, named(name, errDirectory)
		}
	}
	if p != nil {
		r = p
	}
	s, err := newSpool(r)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot make a temporary file for it: %w", name, err)
	}
	c, err := in.fromSpool(ctx, name, s, p)
	if err != nil {
		s.close()
		return nil, named(name, err)
	}
	c.closers = append(c.closers, s.close)
	return c, nil
}

func (in Input) fromSpool(ctx context.Context, name string, s *spool, p *pump) (*Clip, error) {
	k, head, err := in.kind(newFile(s.stream(s), 0, unknownSize))
	if err != nil {
		return nil, err
	}
	native := k != nil && k.open != nil
	if program, err := in.program(); !native && program == "" {
		return nil, cmp.Or(err, in.refused(refuse(head)))
	}
	if native && p != nil && in.slow(name, s, p) {
		c, err := in.open(name, s.stream(p), unknownSize)
		if err == nil {
			c.once = true
		}
		return c, err
	}
	if k == nil { // it may be endless: ffmpeg must find sound in the first part of it
		if n, _ := io.CopyN(io.Discard, s, maxUnknown); n == maxUnknown {
			c, err := in.convert(ctx, name, s.file, s.size, in.refused(refuse(head)))
			if err != nil {
				return nil, err
			}
			c.Close()
		}
	}
	if _, err := io.Copy(io.Discard, s); err != nil {
		return nil, fmt.Errorf("copying it to a temporary file: %w", err)
	}
	return in.openFile(ctx, name, s.file, s.size)
}

// maxUnknown is how many bytes of no known format are kept before ffmpeg must find sound in them:
// more than it looks at itself.
const maxUnknown = 16 << 20

// stall is how long a stream that came faster may be waited for.
const stall = 5 * time.Second

// slow reads a stream for as long as it comes faster than twice the speed of speech, and
// reports whether it does so no more, before its end.
func (in Input) slow(name string, s *spool, p *pump) bool {
	c, err := in.open(name, s.stream(s), unknownSize)
	if err == nil && in.Arriving {
		return true
	}
	defer func() { p.patience = math.MaxInt64 }()
	p.patience = 0 // before there is any sound, it is waited for
	for b := make([]float32, SampleRate/4); err == nil; {
		p.patience = min(p.patience+time.Second/8, stall)
		if _, err = c.Read(b); s.err == errStalled { // a decoder may have taken it for the end
			return true
		}
	}
	return false // what is wrong is said of the whole
}

// A pump reads in a goroutine, so that who waits for it can give up, and come again.
type pump struct {
	come     chan []byte
	rest     []byte // of what came last
	err      error  // why no more comes, once come is closed
	patience time.Duration
	closed   chan struct{}
}

var errStalled = errors.New("no more sound for now")

func (p *pump) run(r io.Reader) {
	defer close(p.come)
	for p.err == nil {
		b := make([]byte, 1<<15)
		n, err := r.Read(b)
		p.err = err
		select {
		case p.come <- b[:n]:
		case <-p.closed:
			p.err = os.ErrClosed
		}
	}
}

// Read implements io.Reader.
func (p *pump) Read(b []byte) (n int, err error) {
	if began := time.Now(); len(p.rest) == 0 {
		var more bool
		select {
		case p.rest, more = <-p.come:
			if !more {
				return 0, p.err
			}
		case <-time.After(p.patience):
			return 0, errStalled
		}
		p.patience -= time.Since(began)
	}
	n = copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *pump) close() error { close(p.closed); return nil }

// A spool reads sound and keeps a copy in a temporary file.
type spool struct {
	in   io.Reader
	file *os.File
	path string // empty if the file has been unlinked already
	size int64
	err  error // why no more can be read or kept
}

func newSpool(in io.Reader) (*spool, error) {
	//verity:writes a new file with a random name
	f, err := os.CreateTemp("", "verity-audio-*")
	if err != nil {
		return nil, err
	}
	s := &spool{in: in, file: f}
	// Where an open file may be unlinked, it is unlinked now: then it cannot be left
	// behind, however the process ends.
	if os.Remove(f.Name()) != nil {
		s.path = f.Name()
	}
	return s, nil
}

// Read implements io.Reader. An error stays, or what comes behind it would follow at once.
func (s *spool) Read(b []byte) (n int, err error) {
	if s.err == nil {
		n, s.err = s.in.Read(b)
		if kept, err := s.file.Write(b[:n]); err != nil {
			n, s.err = kept, err
		}
		s.size += int64(n)
	}
	return n, s.err
}

// stream gives what the spool holds now, and then what more does.
func (s *spool) stream(more io.Reader) *stream {
	return &stream{r: io.MultiReader(io.NewSectionReader(s.file, 0, s.size), more)}
}

func (s *spool) close() error {
	err := s.file.Close()
	if s.path != "" {
		//verity:writes the file that newSpool created
		err = errors.Join(err, os.Remove(s.path))
	}
	return err
}
