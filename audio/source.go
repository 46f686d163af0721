package audio

import (
	"fmt"
	"io"
	"math"
)

// A source decodes one file. A new format is one file of this package with a
// source in it, and one line in the table of formats.
type source interface {
	shape() shape

	// outcome is what reading has shown so far; it is complete at the end.
	outcome() *outcome

	// read fills some of dst with whole frames: one sample of every channel,
	// interleaved, nominally in [-1, 1]. It returns how many samples those are, and
	// io.EOF with none at the end. len(dst) is at least a frame.
	read(dst []float64) (int, error)

	// rewind makes the next read start at the beginning and give the same samples.
	rewind() error
}

// A shape describes the samples of a source.
type shape struct {
	rate     int   // Hz
	channels int   // 1 or more
	promised int64 // frames according to the file; 0 if it does not say, or not reliably
}

// An outcome is what reading a source has shown beyond samples. Sources embed a result.
type outcome struct {
	cut  bool  // the file ends within the sound
	gaps []gap // in order; at most maxGaps
	end  int64 // where another file may begin behind the one that was read; 0: nowhere
}

type result struct{ out outcome }

func (r *result) outcome() *outcome { return &r.out }

// A gap is a place whose sound is lost. Silence stands for it, if its length is known.
type gap struct {
	from, to int64 // frames
	why      error
}

// maxGaps bounds the gaps that are kept apart; later ones become one.
const maxGaps = 100

// lose notes a gap.
func (o *outcome) lose(from, to int64, why error) {
	if n := len(o.gaps); n > 0 && (o.gaps[n-1].to == from || n == maxGaps) {
		o.gaps[n-1].to = to
		return
	}
	o.gaps = append(o.gaps, gap{from, to, why})
}

// longestGap bounds silence for bytes that are lost, in frames, where a damaged number or a
// recording that begins amid a stream would make days of it: a minute, and what so many
// bytes may hold.
func (s shape) longestGap(bytes int64) int64 { return int64(s.rate) * (60 + bytes/32) }

// Rates outside these limits are treated as damage: below, a few bytes would be hours
// of audio; above, one output sample would take thousands of products.
const (
	minRate = 1000
	maxRate = 1_000_000
)

// maxChannels is the largest channel count that a WAV file can state.
const maxChannels = 65535

func (s shape) check() error {
	switch {
	case s.rate < minRate || s.rate > maxRate:
		return unsupported("sample rate", fmt.Sprintf("%d to %d Hz", minRate, maxRate), "%d Hz", s.rate)
	case s.channels < 1 || s.channels > maxChannels:
		return malformed("channels", fmt.Sprintf("1 to %d", maxChannels), "%d", s.channels)
	}
	return nil
}

// seconds returns the time of a frame.
func (s shape) seconds(frame int64) float64 { return float64(frame) / float64(s.rate) }

// at names the place of a frame in errors.
func (s shape) at(frame int64) string {
	return fmt.Sprintf("sample %d (%.3f s)", frame, s.seconds(frame))
}

// mono is a signal of one channel.
type mono interface {
	// read fills some of dst; it returns io.EOF, and no samples, at the end.
	read(dst []float32) (int, error)
	rewind() error
}

const (
	// loud is the level above which a clip is said to be scaled wrongly. Float files
	// may exceed 1 a little, where the master was not limited.
	loud = 16
	// tooLoud bounds samples: the powers of much larger ones overflow.
	tooLoud = 1e15
)

// A mixer makes one channel of a source: the mean of all, or one of them.
type mixer struct {
	src   source
	shape shape
	pick  int // channel, from 1; 0 means the mean
	buf   []float64
	frame int64   // frames read since the beginning
	peak  float64 // largest magnitude seen
	mean  float64 // sum of the squares of the mean of all channels
	power float64 // sum over frames of the mean square of channels
}

func (m *mixer) rewind() error {
	m.frame, m.mean, m.power = 0, 0, 0
	return m.src.rewind()
}

// mixBlock is how many samples of all channels are mixed at a time.
const mixBlock = 1 << 13

func (m *mixer) read(dst []float32) (int, error) {
	ch := m.shape.channels
	n := max(1, min(len(dst), mixBlock/ch)) * ch
	if cap(m.buf) < n {
		m.buf = make([]float64, n)
	}
	n, err := m.src.read(m.buf[:n])
	if err != nil {
		return 0, err
	}
	for i := range n / ch {
		if dst[i], err = m.sample(m.buf[i*ch:][:ch]); err != nil {
			return 0, err
		}
		m.frame++
	}
	return n / ch, nil
}

// sample mixes one frame.
func (m *mixer) sample(frame []float64) (float32, error) {
	sum, squares := 0.0, 0.0
	for c, v := range frame {
		a := math.Abs(v)
		if !(a <= tooLoud) {
			return 0, noSample(fmt.Sprintf("%s, channel %d", m.shape.at(m.frame), c+1), v)
		}
		m.peak = max(m.peak, a)
		sum += v
		squares += v * v
	}
	if m.pick > 0 {
		return float32(frame[m.pick-1]), nil
	}
	n := float64(len(frame))
	m.mean += sum * sum / (n * n)
	m.power += squares / n
	return float32(sum / n), nil
}

// noSample refuses a number that is not at most tooLoud.
func noSample(thing string, v float64) error {
	want := "a finite number"
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		want = fmt.Sprintf("at most %.0e", float64(tooLoud))
	}
	return malformed(thing, want, "%v", v)
}

// noEOF turns the end of a file into an error where there must be more.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// catch turns a panic of a decoder library into an error: its input is untrusted.
func catch(what string, err *error) {
	if p := recover(); p != nil {
		*err = malformed(what, "", "decoder failed: %v", p)
	}
}
