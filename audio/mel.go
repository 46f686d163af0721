package audio

import "fmt"

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
	logs := make([]float32, 0, frames*bins)
	top := float32(logFloor)
	var x frameSamples
	for t := range frames {
		x.gather(int64(t), pcm, 0, n)
		x.reflect(int64(t), n)
		if a.add(&x); a.full() || t == frames-1 {
			for row, peak := range a.frames() {
				logs, top = append(logs, row...), max(top, peak)
			}
		}
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
func cell(log, top float32) float32 {
	if least := top - 8; log < least {
		log = least
	}
	return (log + 4) / 4
}

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
