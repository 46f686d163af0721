package audio

import (
	"fmt"
	"math"
	"slices"
)

// mono is a signal of one channel.
type mono interface {
	// read fills some of dst; it returns io.EOF, and no samples, at the end.
	read(dst []float32) (int, error)
	rewind() error
}

const (
	// loud is the level above which a clip is scaled down to 1, since it has another scale, such as that of 16 bits.
	// Float files may exceed 1 a little, where the master was not limited.
	loud = 16
	// tooLoud bounds samples: the powers of much larger ones overflow.
	tooLoud = 1e15

	// Channels cancel one another in a stretch of 1/stretches s if the power of their mean is below opposedPart of what it is
	// where they have nothing in common. A cable with swapped wires does so. Stretches below faint do not count.
	stretches   = 4
	opposedPart = 1.0 / 3
	faint       = 1e-7 // -70 dB
)

// A mixer makes one channel of a source: the mean of all, or one of them. Where the channels cancel one another, it takes
// one of them.
type mixer struct {
	src     *source
	shape   shape
	pick    int     // channel, from 1; 0 means the mean
	frame   int64   // frames read since the beginning
	peak    float64 // largest magnitude seen, also before the last rewind
	opposed []gap   // where channels cancel one another, in frames
	block   []float64
	mixed   []float32 // not yet read
	err     error     // after mixed

	rescaled bool // the peak has changed the scale since the last rewind
}

func (m *mixer) rewind() error {
	m.frame, m.opposed, m.mixed, m.err, m.rescaled = 0, nil, nil, nil, false
	return m.src.rewind()
}

func (m *mixer) read(dst []float32) (int, error) {
	if len(m.mixed) == 0 {
		if err := m.mixStretch(len(dst)); err != nil {
			return 0, err
		}
	}
	n := copy(dst, m.mixed)
	m.mixed = m.mixed[n:]
	return n, nil
}

// mixStretch mixes the next stretch. Without a choice of channels that is what comes at once, at most some frames.
func (m *mixer) mixStretch(most int) error {
	ch := m.shape.channels
	m.readStretch(most)
	if len(m.block) == 0 {
		return m.err
	}
	powers := make([]float64, ch)
	mean, from, before := 0.0, m.frame, m.peak
	for i := 0; i < len(m.block); i += ch {
		sum := m.check(m.block[i:][:ch], powers) / float64(ch)
		mean += sum * sum
		m.frame++
	}
	pick := m.pick
	if m.chooses() {
		pick = m.opposite(gap{from: from, to: m.frame}, mean, powers)
	}
	scale := 1.0
	if m.peak > loud {
		scale, m.rescaled = m.peak, m.rescaled || m.peak > before
	}
	m.mixBlock(pick, scale)
	return nil
}

// chooses reports whether channels may cancel one another.
func (m *mixer) chooses() bool { return m.shape.channels > 1 && m.pick == 0 }

// readStretch reads the block of a stretch.
func (m *mixer) readStretch(most int) {
	ch := m.shape.channels
	size := ch * max(1, m.shape.rate/stretches)
	m.block = m.block[:0]
	for m.err == nil && len(m.block) < size {
		if m.chooses() {
			most = (size - len(m.block)) / ch
		}
		var block []float64
		block, m.err = m.src.read(most)
		m.block = append(m.block, block...)
		if !m.chooses() && len(block) > 0 {
			return
		}
	}
}

// mixBlock mixes the block: the channel pick, or the mean if that is 0, over scale.
func (m *mixer) mixBlock(pick int, scale float64) {
	ch := m.shape.channels
	m.mixed = slices.Grow(m.mixed[:0], len(m.block)/ch)
	for i := 0; i < len(m.block); i += ch {
		frame, v := m.block[i:][:ch], 0.0
		if pick > 0 {
			v = frame[pick-1]
		} else {
			for _, one := range frame {
				v += one
			}
			v /= float64(ch)
		}
		m.mixed = append(m.mixed, float32(v/scale))
	}
}

// opposite returns the channel to take for a stretch where the channels cancel one another: the first that is not much fainter
// than another; elsewhere 0. mean and powers are sums of squares of their mean and of each.
func (m *mixer) opposite(stretch gap, mean float64, powers []float64) int {
	all, loudest := 0.0, 0.0
	for _, p := range powers {
		all, loudest = all+p, max(loudest, p)
	}
	ch := float64(len(powers))
	if all/ch < faint*float64(stretch.to-stretch.from) || mean*ch >= opposedPart*all/ch {
		return 0
	}
	if last := len(m.opposed) - 1; last >= 0 && m.opposed[last].to == stretch.from {
		m.opposed[last].to = stretch.to
	} else {
		m.opposed = append(m.opposed, stretch)
	}
	return 1 + slices.IndexFunc(powers, func(p float64) bool { return p >= loudest/4 })
}

// check returns the sum of one frame, and adds the squares of its channels to powers. A sample that is no number, or far too
// large, is damage and counts as 0.
func (m *mixer) check(frame, powers []float64) (sum float64) {
	for c, v := range frame {
		a := math.Abs(v)
		if !(a <= tooLoud) {
			why := badSample(fmt.Sprintf("%s, channel %d", m.shape.at(m.frame), c+1), v)
			m.src.addGap(m.frame, m.frame+1, int64(m.shape.rate)/100, why)
			frame[c], v, a = 0, 0, 0
		}
		m.peak = max(m.peak, a)
		sum += v
		powers[c] += v * v
	}
	return sum
}

// badSample returns the error for a sample that is not finite or exceeds tooLoud.
func badSample(thing string, v float64) error {
	want := "a finite number"
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		want = fmt.Sprintf("at most %.0e", float64(tooLoud))
	}
	return malformed(thing, want, "%v", v)
}
