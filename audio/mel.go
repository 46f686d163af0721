package audio

import (
	"fmt"
	"math"

	"github.com/mjibson/go-dsp/window"
	"gonum.org/v1/gonum/dsp/fourier"
)

// Mel is a log-mel spectrogram, row-major [Bins][Frames].
type Mel struct {
	Bins, Frames int
	Data         []float32
}

// First returns the first frames of m: m itself if it has no more.
func (m *Mel) First(frames int) *Mel {
	if frames >= m.Frames {
		return m
	}
	cut := &Mel{Bins: m.Bins, Frames: frames, Data: make([]float32, 0, m.Bins*frames)}
	for b := range m.Bins {
		cut.Data = append(cut.Data, m.Data[b*m.Frames:][:frames]...)
	}
	return cut
}

// LogMel computes the log-mel spectrogram of a whole signal at once.
//
//	pcm   mono samples in [-1, 1] at SampleRate; not modified
//	bins  80 or 128 for published models
//	out   [bins][len(pcm)/HopLength], dimensionless
//
// With x reflected by WindowSize/2 samples at both ends,
//
//	p[k,t] = |Σ_j hann[j]·x[HopLength·t+j]·exp(-2πi·jk/WindowSize)|²
//	m      = log10(max(filterbank·p, 1e-10))
//	out    = (max(m, max(m)-8) + 4) / 4
//
// The inner max is over the whole output, so the spectrograms of two halves of a
// signal do not concatenate to that of the whole; NewSpectrogram gives windows
// that do. It fails if len(pcm) <= WindowSize/2.
//
// Source: openai/whisper@c0d2f62 whisper/audio.py, log_mel_spectrogram.
func LogMel(pcm []float32, bins int) (*Mel, error) {
	if len(pcm) <= WindowSize/2 {
		return nil, fmt.Errorf("%w: %d samples, need more than %d", errTooShort, len(pcm), WindowSize/2)
	}
	a, err := newAnalyzer(bins)
	if err != nil {
		return nil, err
	}
	n := int64(len(pcm))
	frames := len(pcm) / HopLength
	logs := make([]float32, frames*bins)
	top := float32(logFloor)
	var x frameSamples
	for t := range frames {
		x.gather(int64(t), pcm, 0, n)
		x.reflect(int64(t), n)
		top = max(top, a.frame(logs[t*bins:][:bins], &x))
	}
	mel := &Mel{Bins: bins, Frames: frames, Data: make([]float32, bins*frames)}
	mel.put(0, logs, top)
	return mel, nil
}

// put writes the frames in logs, [frame][bin], into m from frame at on, clamped
// to eight decades below top and scaled.
func (m *Mel) put(at int, logs []float32, top float32) {
	for b := range m.Bins {
		row := m.Data[b*m.Frames+at : (b+1)*m.Frames]
		for t := range len(logs) / m.Bins {
			row[t] = cell(logs[t*m.Bins+b], top)
		}
	}
}

// cell scales a logarithm, clamped to eight decades below top.
func cell(log, top float32) float32 { return (max(log, top-8) + 4) / 4 }

// frameSamples is what one frame sees: frame t begins WindowSize/2 samples
// before sample HopLength·t.
type frameSamples [WindowSize]float32

// gather fills x for frame t from buf, whose first sample is number base of a
// signal of n samples with zeros on both sides.
func (x *frameSamples) gather(t int64, buf []float32, base, n int64) {
	first := frameStart(t)
	lo, hi := max(first, base), min(first+WindowSize, n, base+int64(len(buf)))
	if lo >= hi {
		clear(x[:])
		return
	}
	clear(x[:lo-first])
	copy(x[lo-first:], buf[lo-base:hi-base])
	clear(x[hi-first:])
}

// reflect fills what lies before sample 0 and from sample n on with the signal
// mirrored at its first and last sample. x[-200] would need sample 200, which
// the frame does not hold; the window is 0 there.
func (x *frameSamples) reflect(t, n int64) {
	first := int(frameStart(t))
	for i := 1; i < -first && i-first < WindowSize; i++ {
		x[-first-i] = x[-first+i]
	}
	last := int(n) - 1 - first // place of the last sample
	for i := 1; last+i < WindowSize; i++ {
		x[last+i] = x[last-i]
	}
}

func frameStart(t int64) int64 { return t*HopLength - WindowSize/2 }

// logFloor is the logarithm of the least power that is told from silence, 1e-10.
const logFloor = -10

// An analyzer turns samples into frames. It must not be used concurrently.
type analyzer struct {
	fb    *filterbank
	hann  []float64
	fft   *fourier.FFT
	x     []float64
	coeff []complex128
	power []float64
}

func newAnalyzer(bins int) (*analyzer, error) {
	fb, err := filterbankFor(bins)
	if err != nil {
		return nil, err
	}
	return &analyzer{
		fb: fb,
		// go-dsp's window is symmetric, torch's periodic: one point more, cut off.
		hann:  window.Hann(WindowSize + 1)[:WindowSize],
		fft:   fourier.NewFFT(WindowSize),
		x:     make([]float64, WindowSize),
		coeff: make([]complex128, spectrum),
		power: make([]float64, spectrum),
	}, nil
}

// frame writes the log10 of the mel powers of x, at least logFloor, to dst, one
// per bin, and returns the largest.
func (a *analyzer) frame(dst []float32, x *frameSamples) float32 {
	for i, h := range a.hann {
		a.x[i] = float64(x[i]) * h
	}
	a.fft.Coefficients(a.coeff, a.x)
	for k, c := range a.coeff {
		re, im := real(c), imag(c)
		a.power[k] = float64(re*re) + float64(im*im)
	}
	top := float32(logFloor)
	for b := range a.fb.rows {
		row := &a.fb.rows[b]
		p := a.power[row.First:][:len(row.Weights)]
		sum := 0.0
		for k, w := range row.Weights {
			sum += float64(w * p[k])
		}
		dst[b] = float32(log10(max(sum, 1e-10)))
		top = max(top, dst[b])
	}
	return top
}

// below reports whether all mel powers of x are below limit, without a transform.
// It may say no when they are. By Parseval, the powers at the frequencies strictly between 0 and 8 kHz sum to
// at most WindowSize/2·Σ(hann·x)², and the filters are zero at the two ends.
func (a *analyzer) below(x *frameSamples, limit float64) bool {
	energy := 0.0
	for i, h := range a.hann {
		v := float64(x[i]) * h
		energy += float64(v * v)
	}
	const rounding = 1 + 1e-9 // far above what either sum can be off by
	return energy*(WindowSize/2)*a.fb.max*rounding < limit
}

// log10 returns the decimal logarithm of a positive normal x to within 1e-12,
// far inside the float32 it is rounded to; not math.Log10, which is assembly on
// some machines only.
//
// x = m·2^e with m in [√½, √2), and ln m = 2·atanh(s) = 2·(s + s³/3 + s⁵/5 …),
// s = (m-1)/(m+1), |s| < 0.1716. The first term left out is s¹⁵/15 < 3e-13.
func log10(x float64) float64 {
	bits := math.Float64bits(x)
	const sqrtHalf = 0x3fe6a09e667f3bcd
	e := int64(bits-sqrtHalf) >> 52
	m := math.Float64frombits(bits - uint64(e)<<52)
	s := (m - 1) / (m + 1)
	z := s * s
	// In pairs, so that the products do not wait for each other.
	z2 := z * z
	low := 1 + float64(z*(1./3))
	mid := 1./5 + float64(z*(1./7))
	high := 1./9 + float64(z*(1./11)) + float64(z2*(1./13))
	p := low + float64(z2*(mid+float64(z2*high)))
	return float64(float64(e)*(math.Ln2/math.Ln10)) + float64(float64(s*(2/math.Ln10))*p)
}
