package audio

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"

	"github.com/mewkiz/flac"
	"github.com/mewkiz/flac/frame"
)

// A flacSource decodes FLAC with mewkiz/flac, a frame at a time.
type flacSource struct {
	open    func() (io.Reader, error)
	file    *bufio.Reader // under the stream: where the next frame begins
	stream  *flac.Stream
	pos     int64     // samples decoded
	samples []float64 // decoded and not yet read
	buf     []float64
}

func newFLAC(r io.ReaderAt, size int64) (source, error) {
	f := &flacSource{open: func() (io.Reader, error) { return io.NewSectionReader(r, 0, size), nil }}
	// The first block must be STREAMINFO (type 0, 34 bytes). It is checked here because
	// the library would read and allocate any other block first.
	var head [8]byte
	if n, _ := r.ReadAt(head[:], 0); n < 8 || head[4]&0x7f != 0 || head[5] != 0 || head[6] != 0 || head[7] != 34 {
		return nil, malformed("FLAC header", "a STREAMINFO block of 34 bytes", "% x", head[4:])
	}
	if err := f.rewind(); err != nil {
		return nil, err
	}
	return f, nil
}

// shape states no length, because a FLAC file that ends early is an error, not a warning.
func (f *flacSource) shape() shape {
	return shape{rate: int(f.stream.Info.SampleRate), channels: int(f.stream.Info.NChannels)}
}

func (f *flacSource) rewind() (err error) {
	defer catch("FLAC stream", &err)
	f.pos, f.samples = 0, nil
	// The library uses this buffered reader as it is and reads no byte beyond a frame,
	// so next can look at the bytes behind one.
	r, err := f.open()
	if err != nil {
		return err
	}
	f.file = bufio.NewReaderSize(r, 1<<14)
	f.stream, err = flac.New(f.file)
	if err != nil {
		return malformed("FLAC header", "", "%v", noEOF(err))
	}
	return nil
}

func (f *flacSource) read(dst []float64) (int, error) {
	for len(f.samples) == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	ch := f.shape().channels
	n := copy(dst[:len(dst)/ch*ch], f.samples)
	f.samples = f.samples[n:]
	return n, nil
}

// next decodes one frame into f.samples.
func (f *flacSource) next() (err error) {
	defer catch("FLAC stream", &err)
	if f.done() {
		return io.EOF
	}
	s, total := f.shape(), int64(f.stream.Info.NSamples)
	thing := "FLAC frame at " + s.at(f.pos)
	fr, err := f.stream.ParseNext()
	switch {
	case err == io.EOF && total == 0:
		return io.EOF
	case err == io.EOF:
		return malformed(thing, fmt.Sprintf("%d samples in all", total), "the end of the file")
	case err != nil:
		return malformed(thing, "", "%v", err)
	case fr.SampleRate != 0 && int(fr.SampleRate) != s.rate:
		return unsupported(thing, fmt.Sprintf("%d Hz as before", s.rate), "%d Hz", fr.SampleRate)
	case len(fr.Subframes) != s.channels:
		return unsupported(thing, fmt.Sprintf("%d channels as before", s.channels), "%d", len(fr.Subframes))
	}
	return f.interleave(fr, thing)
}

// done reports whether the last frame has been read. Bytes behind it are ignored:
// programs put ID3v1 and APE tags or padding there. A file that does not say how long
// it is ends where a tag or nothing but zeros follows instead of a frame; anything else
// there is taken for damage.
func (f *flacSource) done() bool {
	if total := int64(f.stream.Info.NSamples); total > 0 {
		return f.pos >= total
	}
	head, _ := f.file.Peek(8)
	for _, tag := range []string{"TAG", "APETAGEX", "ID3", "LYRICSBE"} {
		if hasAt(head, 0, tag) {
			return true
		}
	}
	return len(head) > 0 && len(bytes.Trim(head, "\x00")) == 0
}

// interleave sets f.samples to those of a frame.
func (f *flacSource) interleave(fr *frame.Frame, thing string) error {
	bits := int(fr.BitsPerSample)
	if bits == 0 {
		bits = int(f.stream.Info.BitsPerSample)
	}
	ch, n := len(fr.Subframes), len(fr.Subframes[0].Samples)
	if cap(f.buf) < n*ch {
		f.buf = make([]float64, n*ch)
	}
	f.buf = f.buf[:n*ch]
	scale := math.Ldexp(1, 1-bits)
	for c, s := range fr.Subframes {
		if len(s.Samples) != n {
			return malformed(thing, fmt.Sprintf("%d samples in every channel", n), "%d", len(s.Samples))
		}
		for i, v := range s.Samples {
			f.buf[i*ch+c] = float64(v) * scale
		}
	}
	f.pos += int64(n)
	f.samples = f.buf
	return nil
}
