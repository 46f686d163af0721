package audio

import (
	"fmt"
	"slices"

	"verity/internal/kernel"
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
	mel := &Mel{Bins: bins, Frames: len(pcm) / HopLength}
	mel.Data = make([]float32, bins*mel.Frames)
	top := float32(logFloor)
	var run sampleRun
	for t := 0; t < mel.Frames; t += blockFrames {
		n := min(blockFrames, mel.Frames-t)
		logs, tops := a.block(run.of(int64(t), n, pcm, 0, int64(len(pcm))), n)
		logs.each(func(bin, frame int, logs []float32) { copy(mel.Data[bin*mel.Frames+t+frame:], logs) })
		top = max(top, slices.Max(tops))
	}
	kernel.Cells(mel.Data, mel.Data, top-8)
	return mel, nil
}

// put writes the cells of the first frames.
func (m *Mel) put(logs strip, top float32) {
	logs.each(func(bin, frame int, logs []float32) {
		kernel.Cells(m.Data[bin*m.Frames+frame:], logs, top-8)
	})
}

// silence fills the frames from at on with what is silent.
func (m *Mel) silence(at int, top float32) {
	v := cell(logFloor, top)
	for b := range m.Bins {
		row := m.Data[b*m.Frames:][at:m.Frames]
		for t := range row {
			row[t] = v
		}
	}
}

// cell scales a logarithm, clamped to eight decades below top.
func cell(log, top float32) float32 {
	c := []float32{log}
	kernel.Cells(c, c, top-8)
	return c[0]
}

// A sampleRun is what some frames see where that is not a piece of a signal.
type sampleRun [(blockFrames-1)*HopLength + WindowSize]float32

// of returns what n frames see from frame t on: a part of buf if they lie within, else a
// copy. Sample number base of the signal is the first of buf. Before its first sample it is
// reflected, and also at sample mirror, where it ends, if that is not negative. Elsewhere
// there are zeros.
func (r *sampleRun) of(t int64, n int, buf []float32, base, mirror int64) []float32 {
	first, size := frameStart(t), (n-1)*HopLength+WindowSize
	end, have := first+int64(size), base+int64(len(buf))
	if first >= max(base, 0) && end <= have && (mirror < 0 || end <= mirror) {
		return buf[first-base:][:size]
	}
	x := r[:size]
	clear(x)
	if lo, hi := max(first, base), min(end, have); lo < hi {
		copy(x[lo-first:], buf[lo-base:hi-base])
	}
	// x[-200] would need sample 200, which one frame alone does not hold; the window is 0
	// there.
	for i := 1; i < int(-first) && i < size+int(first); i++ {
		x[int(-first)-i] = x[int(-first)+i]
	}
	if last := int(mirror - 1 - first); mirror >= 0 {
		for i := 1; last+i < size; i++ {
			x[last+i] = x[last-i]
		}
	}
	return x
}

// frameStart returns the sample that frame t begins with: WindowSize/2 before its middle.
func frameStart(t int64) int64 { return t*HopLength - WindowSize/2 }

// logFloor is the logarithm of the least power that is told from silence, 1e-10.
const logFloor = -10
