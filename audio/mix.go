package audio

import (
	"fmt"
	"math"
)

// mono is a signal of one channel.
type mono interface {
	// read fills some of dst; it returns io.EOF, and no samples, at the end.
	read(dst []float32) (int, error)
	rewind() error
}

const (
	// loud is the level above which a warning says that a clip may be scaled wrongly. Float files may exceed 1
	// a little, where the master was not limited.
	loud = 16
	// tooLoud bounds samples: the powers of much larger ones overflow.
	tooLoud = 1e15
)

// A mixer makes one channel of a source: the mean of all, or one of them.
type mixer struct {
	src   *source
	shape shape
	pick  int     // channel, from 1; 0 means the mean
	frame int64   // frames read since the beginning
	peak  float64 // largest magnitude seen
	mean  float64 // sum of the squares of the mean of all channels
	power float64 // sum over frames of the mean square of channels
}

func (m *mixer) rewind() error {
	m.frame, m.peak, m.mean, m.power = 0, 0, 0, 0
	return m.src.rewind()
}

func (m *mixer) read(dst []float32) (int, error) {
	ch := m.shape.channels
	block, err := m.src.read(len(dst))
	if err != nil {
		return 0, err
	}
	for i := range len(block) / ch {
		dst[i] = m.sample(block[i*ch:][:ch])
		m.frame++
	}
	return len(block) / ch, nil
}

// sample mixes one frame. A sample that is no number, or far too large, is damage and counts as 0.
func (m *mixer) sample(frame []float64) float32 {
	sum, squares := 0.0, 0.0
	for c, v := range frame {
		a := math.Abs(v)
		if !(a <= tooLoud) {
			why := badSample(fmt.Sprintf("%s, channel %d", m.shape.at(m.frame), c+1), v)
			m.src.addGap(m.frame, m.frame+1, int64(m.shape.rate)/100, why)
			frame[c], v, a = 0, 0, 0
		}
		m.peak = max(m.peak, a)
		sum += v
		squares += v * v
	}
	if m.pick > 0 {
		return float32(frame[m.pick-1])
	}
	n := float64(len(frame))
	m.mean += sum * sum / (n * n)
	m.power += squares / n
	return float32(sum / n)
}

// badSample returns the error for a sample that is not finite or exceeds tooLoud.
func badSample(thing string, v float64) error {
	want := "a finite number"
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		want = fmt.Sprintf("at most %.0e", float64(tooLoud))
	}
	return malformed(thing, want, "%v", v)
}
