package audio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	// SampleRate is the rate of every Clip, in samples per second.
	SampleRate = 16000
	// HopLength is the distance of two frames, in samples.
	HopLength = 160
	// WindowSize is the length of the Fourier transform behind a frame, in samples.
	WindowSize = 400
)

// A source decodes one file to one channel at the file's own rate.
type source interface {
	rate() int
	// read fills some of dst; it returns io.EOF, and no samples, at the end.
	read(dst []float32) (int, error)
	rewind() error
}

// A Clip is the sound of a file as mono float32 at SampleRate, streamed, so that
// an hour takes no more memory than a second. It must not be used concurrently.
type Clip struct {
	name string
	src  source
	file *os.File // nil if there is none to close
	temp string   // path of a file to remove with it, if any
}

// Open opens a sound file. Its format is told by its first bytes.
func Open(name string) (*Clip, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot open sound file: %w", err)
	}
	st, err := f.Stat()
	switch {
	case err != nil:
	case st.IsDir():
		err = errors.New("is a directory, want a sound file")
	case !st.Mode().IsRegular(): // a pipe cannot be read twice
		defer f.Close()
		return OpenReader(name, f)
	}
	if err == nil {
		var c *Clip
		if c, err = open(name, f, st.Size()); err == nil {
			c.file = f
			return c, nil
		}
	}
	f.Close()
	return nil, named(name, err)
}

// OpenReader opens a sound file that can be read only once, such as standard
// input: it is spooled to a temporary file, which is gone after Close at the latest. Name
// is used in errors.
func OpenReader(name string, r io.Reader) (*Clip, error) {
	head := make([]byte, sniffLen)
	n, err := io.ReadFull(r, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if head = head[:n]; hopeless(head) { // do not wait for gigabytes of video
		return nil, named(name, refuse(head))
	}
	f, err := os.CreateTemp("", "verity-audio-*")
	if err != nil {
		return nil, fmt.Errorf("%s: cannot make a temporary file for it: %w", name, err)
	}
	// Where an open file may lose its name it does so now, and then it cannot be
	// left behind, however this process ends.
	gone := os.Remove(f.Name()) == nil
	size, err := io.Copy(f, io.MultiReader(bytes.NewReader(head), r))
	if err != nil {
		err = fmt.Errorf("copying it to a temporary file: %w", err)
	}
	c := &Clip{}
	if err == nil {
		c, err = open(name, f, size)
	}
	if err != nil {
		f.Close()
		if !gone {
			os.Remove(f.Name())
		}
		return nil, named(name, err)
	}
	if c.file = f; !gone {
		c.temp = f.Name()
	}
	return c, nil
}

// open makes a clip of a whole file of size bytes.
func open(name string, r io.ReaderAt, size int64) (*Clip, error) {
	src, err := sniff(r, size)
	if err != nil {
		return nil, named(name, err)
	}
	if src.rate() != SampleRate {
		src = newResampler(src)
	}
	return &Clip{name: name, src: src}, nil
}

// FromSamples returns a clip of samples that are mono and at SampleRate already.
// It keeps pcm, which must not change meanwhile.
func FromSamples(name string, pcm []float32) *Clip {
	return &Clip{name: name, src: &memory{pcm: pcm}}
}

// Name returns the name the clip was opened under.
func (c *Clip) Name() string { return c.name }

// Rewind makes the next Read start at the beginning.
func (c *Clip) Rewind() error {
	return named(c.name, c.src.rewind())
}

// Read fills dst as far as it can and returns how many samples it read: fewer
// than len(dst) only together with an error, which is io.EOF at the end. A
// sample that is no finite number, as float files may hold, is an error that
// says where it is.
func (c *Clip) Read(dst []float32) (n int, err error) {
	for n < len(dst) {
		m, err := c.src.read(dst[n:])
		n += m
		if err == io.EOF {
			return n, io.EOF
		}
		if err != nil {
			return n, named(c.name, err)
		}
	}
	return n, nil
}

// Close releases the file of the clip. The clip cannot be read afterwards.
func (c *Clip) Close() error {
	c.src = closed{}
	if c.file == nil {
		return nil
	}
	err := c.file.Close()
	if c.temp != "" {
		err = errors.Join(err, os.Remove(c.temp))
	}
	c.file, c.temp = nil, ""
	return err
}

// memory is a source of samples in memory.
type memory struct {
	pcm []float32
	pos int
}

func (m *memory) rate() int     { return SampleRate }
func (m *memory) rewind() error { m.pos = 0; return nil }

func (m *memory) read(dst []float32) (int, error) {
	n := copy(dst, m.pcm[m.pos:])
	m.pos += n
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// closed is the source of a closed clip.
type closed struct{}

func (closed) rate() int                   { return SampleRate }
func (closed) rewind() error               { return os.ErrClosed }
func (closed) read([]float32) (int, error) { return 0, os.ErrClosed }
