package audio

import "verity/internal/kernel"

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

// cell scales a logarithm, clamped to eight decades below top.
func cell(log, top float32) float32 {
	c := []float32{log}
	kernel.ScaleLogMel(c, c, top-8)
	return c[0]
}

// A sampleRun has room for the samples that a block of frames covers.
type sampleRun [(blockFrames-1)*HopLength + windowSize]float32

// of returns the samples that n frames cover, the first of which is t: a part of buf if they lie within, else a
// copy. buf begins with sample base of the signal. The signal is reflected before its first sample, and at
// sample mirror, where it ends, if that is not negative. Elsewhere there are zeros.
func (r *sampleRun) of(t int64, n int, buf []float32, base, mirror int64) []float32 {
	first, size := frameStart(t), (n-1)*HopLength+windowSize
	end, have := first+int64(size), base+int64(len(buf))
	if first >= max(base, 0) && end <= have && (mirror < 0 || end <= mirror) {
		return buf[first-base:][:size]
	}
	x := r[:size]
	clear(x)
	if lo, hi := max(first, base), min(end, have); lo < hi {
		copy(x[lo-first:], buf[lo-base:hi-base])
	}
	// x[-200] would need sample 200, which one frame alone does not hold; the window is 0 there.
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

// frameStart returns the sample that frame t begins with: windowSize/2 before its middle.
func frameStart(t int64) int64 { return t*HopLength - windowSize/2 }

// logFloor is the logarithm of the power of silence, 1e-10. Less counts as this.
const logFloor = -10
