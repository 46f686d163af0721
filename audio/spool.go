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

// OpenReader opens sound that can be read only once, such as standard input. It copies the sound to a temporary
// file, which is gone after Close. Name is used in errors. An unreadable format is refused after the first
// bytes, not after gigabytes of video.
func (in Input) OpenReader(ctx context.Context, name string, r io.Reader) (*Clip, error) {
	return in.spooled(ctx, name, r, nil)
}

// OpenStream opens sound that may still be arriving, such as standard input. A file through a pipe comes faster
// than speech: it is read to its end first, as by OpenReader. Sound that comes no faster than twice the speed
// of speech, or stalls, can be read while it arrives, once and in bounded memory; see Clip.IsLive. Name is used
// in errors.
func (in Input) OpenStream(ctx context.Context, name string, r io.Reader) (*Clip, error) {
	p := &pump{blocks: make(chan []byte), closed: make(chan struct{}), patience: math.MaxInt64}
	go p.run(r)
	c, err := in.spooled(ctx, name, r, p)
	if err != nil {
		p.close()
		return nil, err
	}
	c.closers = append(c.closers, p.close)
	return c, nil
}

// spooled copies sound to a temporary file. Sound that may be live has a pump, and is copied only if it comes
// fast.
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
	k, head, err := in.detect(newFile(s.stream(s), 0, unknownSize))
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
			c.live, c.src = true, c.whole // it is read once
		}
		return c, err
	}
	// A stream of an unknown format may be endless. Before storing all of it, try whether ffmpeg finds sound in the
	// first maxUnknown bytes; the result is discarded.
	if k == nil {
		if n, _ := io.CopyN(io.Discard, s, maxUnknown); n == maxUnknown {
			c, err := in.convert(ctx, name, s.file.File, s.size, in.refused(refuse(head)))
			if err != nil {
				return nil, err
			}
			c.Close()
		}
	}
	if _, err := io.Copy(io.Discard, s); err != nil {
		return nil, fmt.Errorf("copying it to a temporary file: %w", err)
	}
	return in.OpenFile(ctx, name, s.file.File)
}

// maxUnknown is how many bytes of an unknown format are stored before ffmpeg must find sound in them: more than
// ffmpeg itself examines to detect a format.
const maxUnknown = 16 << 20

// stall is the longest wait for a stream that came fast before.
const stall = 5 * time.Second

// slow reads a stream as long as it comes faster than twice the speed of speech. It reports whether the stream
// became slower before its end.
func (in Input) slow(name string, s *spool, p *pump) bool {
	c, err := in.open(name, s.stream(s), unknownSize)
	if err == nil && in.Live {
		return true
	}
	if err == nil {
		c.src = c.whole // it is read once
	}
	defer func() { p.patience = math.MaxInt64 }()
	p.patience = 0 // the first sound may take any time
	for b := make([]float32, SampleRate/4); err == nil; {
		p.patience = min(p.patience+time.Second/8, stall)
		// A decoder may mistake a stall for the end of the file, so err does not show it.
		if _, err = c.Read(b); s.err == errStalled {
			return true
		}
	}
	return false // an error will come from reading the whole file
}

// A pump reads in a goroutine, so that a reader can stop waiting and try again.
type pump struct {
	blocks   chan []byte
	rest     []byte // of the last block
	err      error  // why no more comes, once blocks is closed
	patience time.Duration
	closed   chan struct{}
}

var errStalled = errors.New("no more sound for now")

func (p *pump) run(r io.Reader) {
	defer close(p.blocks)
	for p.err == nil {
		b := make([]byte, 1<<15)
		n, err := r.Read(b)
		p.err = err
		select {
		case p.blocks <- b[:n]:
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
		case p.rest, more = <-p.blocks:
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

// A tempFile is gone after close.
type tempFile struct {
	*os.File
	path string // empty if the file has been unlinked already
}

func newTempFile() (*tempFile, error) {
	//verity:writes a new file with a random name
	f, err := os.CreateTemp("", "verity-audio-*")
	if err != nil {
		return nil, err
	}
	t := &tempFile{File: f}
	// A file that is unlinked while it is open goes with the process, however that ends. Some systems do not
	// allow it.
	if os.Remove(f.Name()) != nil {
		t.path = f.Name()
	}
	return t, nil
}

func (t *tempFile) close() error {
	err := t.Close()
	if t.path != "" {
		//verity:writes the file that newTempFile created
		err = errors.Join(err, os.Remove(t.path))
	}
	return err
}

// A spool reads sound and keeps a copy in a temporary file.
type spool struct {
	in   io.Reader
	file *tempFile
	size int64
	err  error // why no more can be read or stored
}

func newSpool(in io.Reader) (*spool, error) {
	f, err := newTempFile()
	if err != nil {
		return nil, err
	}
	return &spool{in: in, file: f}, nil
}

// Read implements io.Reader. An error is permanent: bytes after it would not belong together.
func (s *spool) Read(b []byte) (n int, err error) {
	if s.err == nil {
		n, s.err = s.in.Read(b)
		if written, err := s.file.Write(b[:n]); err != nil {
			n, s.err = written, err
		}
		s.size += int64(n)
	}
	return n, s.err
}

// stream returns the bytes that the spool has, followed by those of more.
func (s *spool) stream(more io.Reader) *stream {
	return &stream{r: io.MultiReader(io.NewSectionReader(s.file, 0, s.size), more)}
}

func (s *spool) close() error { return s.file.close() }
