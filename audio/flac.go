package audio

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/mewkiz/flac"
	"github.com/mewkiz/flac/frame"
)

// A flacSource decodes FLAC with mewkiz/flac, a frame at a time.
type flacSource struct {
	r      io.ReaderAt
	start  int64 // of the fLaC marker
	size   int64 // of the file
	stream *flac.Stream
	pos    int64     // samples decoded
	mono   []float32 // decoded and not yet read
	buf    []float32
}

func newFLAC(r io.ReaderAt, size, start int64) (source, error) {
	f := &flacSource{r: r, start: start, size: size}
	// The first block must be STREAMINFO (type 0, 34 bytes). Checked here, because
	// the library would first read, and allocate, whatever else stands there.
	var head [8]byte
	if n, _ := r.ReadAt(head[:], start); n < 8 || head[4]&0x7f != 0 || head[5] != 0 || head[6] != 0 || head[7] != 34 {
		return nil, malformed("FLAC header", "a STREAMINFO block of 34 bytes", "% x", head[4:])
	}
	if err := f.rewind(); err != nil {
		return nil, err
	}
	if rate := f.rate(); rate < minRate || rate > maxRate {
		return nil, unsupported("sample rate", fmt.Sprintf("%d to %d Hz", minRate, maxRate), "%d Hz", rate)
	}
	return f, nil
}

func (f *flacSource) rate() int { return int(f.stream.Info.SampleRate) }

func (f *flacSource) rewind() (err error) {
	defer catch(&err)
	f.pos, f.mono = 0, nil
	f.stream, err = flac.New(io.NewSectionReader(f.r, f.start, f.size-f.start))
	if err != nil {
		return malformed("FLAC header", "", "%v", noEOF(err))
	}
	return nil
}

func (f *flacSource) read(dst []float32) (int, error) {
	for len(f.mono) == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	n := copy(dst, f.mono)
	f.mono = f.mono[n:]
	return n, nil
}

// next decodes one frame into f.mono.
func (f *flacSource) next() (err error) {
	defer catch(&err)
	fr, err := f.stream.ParseNext()
	total := int64(f.stream.Info.NSamples)
	if err == io.EOF && (total == 0 || f.pos == total) {
		return io.EOF
	}
	thing := fmt.Sprintf("FLAC frame at sample %d (%.3f s)", f.pos, float64(f.pos)/float64(f.rate()))
	switch {
	case err == io.EOF:
		return malformed(thing, fmt.Sprintf("%d samples in all", total), "the end of the file")
	case err != nil:
		return malformed(thing, "", "%v", err)
	case fr.SampleRate != 0 && int(fr.SampleRate) != f.rate():
		return unsupported(thing, fmt.Sprintf("%d Hz as before", f.rate()), "%d Hz", fr.SampleRate)
	}
	return f.mix(fr, thing)
}

// mix sets f.mono to the mean over the channels of a frame.
func (f *flacSource) mix(fr *frame.Frame, thing string) error {
	bits := int(fr.BitsPerSample)
	if bits == 0 {
		bits = int(f.stream.Info.BitsPerSample)
	}
	n := len(fr.Subframes[0].Samples)
	f.buf = f.buf[:0]
	scale := math.Ldexp(1, 1-bits) / float64(len(fr.Subframes))
	for i := range n {
		sum := int64(0)
		for _, s := range fr.Subframes {
			if len(s.Samples) != n {
				return malformed(thing, fmt.Sprintf("%d samples in every channel", n), "%d", len(s.Samples))
			}
			sum += int64(s.Samples[i])
		}
		f.buf = append(f.buf, float32(float64(sum)*scale))
	}
	f.pos += int64(n)
	f.mono = f.buf
	return nil
}

// catch turns a panic of the FLAC library into an error: its input is anybody's.
func catch(err *error) {
	if p := recover(); p != nil {
		*err = malformed("FLAC stream", "", "%v", errors.New(fmt.Sprint("decoder failed: ", p)))
	}
}
