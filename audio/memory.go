package audio

import (
	"errors"
	"io"
)

// FromSamples returns a clip of mono samples at SampleRate. It uses pcm itself, which must not change as long
// as the clip is used. The rules for samples in a file hold: see Read and Warnings.
func FromSamples(name string, pcm []float32) *Clip {
	src := &source{open: func() (container, codec, error) {
		s := &samples{pcm: pcm}
		return s, s, nil
	}}
	src.in, src.dec, _ = src.open()
	mix := &mixer{src: src, shape: src.shape()}
	st := &stream{newFile(nil, 0, 0), mix, mix}
	whole := &chain{first: st, now: st}
	return &Clip{name: name, src: whole, whole: whole}
}

// loudest is what no sound exceeds: more are samples of integers that nobody divided. Loud sound may exceed 1.
const loudest = 32

// CheckSamples returns a *[SampleError] for the first sample that is no number, or none of sound from -1 to 1.
func CheckSamples(pcm []float32) error {
	for i, x := range pcm {
		if !(x >= -loudest && x <= loudest) { // nor NaN
			return &SampleError{Index: int64(i), Value: x}
		}
	}
	return nil
}

// samples is sound in memory, as a container and a codec.
type samples struct {
	pcm []float32 // not yet read
	buf []float64 // of the last packet
}

func (s *samples) shape() shape { return shape{rate: SampleRate, channels: 1} }

func (s *samples) next() (packet, error) {
	if len(s.pcm) == 0 {
		return packet{}, io.EOF
	}
	n := min(len(s.pcm), 1<<13)
	s.buf = s.buf[:0]
	for _, v := range s.pcm[:n] {
		s.buf = append(s.buf, float64(v))
	}
	s.pcm = s.pcm[n:]
	return newPacket(nil), nil
}

func (s *samples) decode(packet) ([]float64, error) { return s.buf, nil }
func (s *samples) ending() ending                   { return ending{} }

// memory is a signal in memory.
type memory struct {
	pcm  []float32
	pos  int
	more bool // samples are still to come
}

func (m *memory) rewind() error { m.pos = 0; return nil }

// read copies the next samples to dst, and returns how many.
func (m *memory) read(dst []float32) (int, error) {
	n := copy(dst, m.pcm[m.pos:])
	m.pos += n
	switch {
	case n > 0:
		return n, nil
	case m.more:
		return 0, errNotYet
	}
	return 0, io.EOF
}

// errNotYet means that more samples are still to come.
var errNotYet = errors.New("no samples yet")
