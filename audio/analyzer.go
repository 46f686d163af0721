package audio

import (
	"math"
	"sync"

	"github.com/mjibson/go-dsp/window"

	"verity/internal/frontend"
	"verity/internal/kernel"
)

// An analyzer turns samples into the logarithms of mel powers, for a block of frames at a time. The frames of a
// block lie side by side, in the lanes of the kernels: so the transform is a matrix product that uses every
// lane, a filter reads only its own frequencies, and the output has the layout of a spectrogram. A frame does
// not depend on what else is in its block. An analyzer must not be used concurrently.
//
// # Transform
//
// With h the window, which is symmetric, and n = windowSize, frequency k is
//
//	re = Σ_j h[j]·x[j]·cos(2πjk/n) = Σ_{0<j≤n/2} h[j]·e[j]·cos(2πjk/n)
//	im = Σ_j h[j]·x[j]·sin(2πjk/n) = Σ_{0<j<n/2} h[j]·o[j]·sin(2πjk/n)
//
// up to the sign of im, with the halves of the frame folded together:
//
//	e[j] = x[j] + x[n-j], o[j] = x[j] - x[n-j]
//
// There is no term for j = 0, because h[0] is 0. e[n/2] contains x[n/2] twice, so its weight is halved. The
// terms of odd j for frequencies k and n/2-k differ only in sign. So four sums over n/4 terms each give both
// frequencies, for k = 1 … n/4. 0 Hz and 8 kHz are not computed: no filter has weight there. Each sum is one
// chain of fused multiply-adds over ascending j, by the kernels, whose bits are those of plain Go.
//
// # Error
//
// Everything is float32, u = 2^-24. A fold and a weight h·cos round once, a chain of m = n/4 terms m times, the
// sum of two chains once: re and im are off by at most (m+3)·u·Σ|h·x|, and some √m·u·rms(h·x), as rounding
// errors are about independent: as in any float32 FFT, upstream's included. See melTol in the tests for the
// resulting error of a cell.
type analyzer struct {
	// All data are [row][blockFrames], a lane for each frame. The arrays come first in the struct, so that no row
	// crosses a cache line.
	front, back [foldSamples * blockFrames]float32
	folded      [folds][quarter * blockFrames]float32 // e of even j, e of odd j, o of even j, o of odd j
	sums        [folds][quarter * blockFrames]float32
	power       [powers * blockFrames]float32 // of frequencies 1 … 199
	tops        [blockFrames]float32
	mel, logs   []float32 // of bins

	bands []band
	out   [1][]float32 // logs
}

// A band is a mel bin: its weights, the first of which is for power first.
type band struct {
	first   int
	weights []float32
}

const (
	blockFrames = kernel.Lanes

	folds   = 4
	quarter = windowSize / 4
	powers  = frontend.Spectrum - 2

	// maxBins bounds mel bins: with more, some lie between two frequencies.
	maxBins = frontend.Spectrum

	// foldSamples is how many samples of a half are folded at a time: few enough for both halves to stay in a
	// first-level cache.
	foldSamples = 40
)

func newAnalyzer(bins int) *analyzer {
	a := &analyzer{mel: make([]float32, bins*blockFrames), logs: make([]float32, bins*blockFrames)}
	a.out[0] = a.logs
	for _, row := range frontend.Filters(bins) {
		b := band{first: max(0, row.First-1)} // a bin between two frequencies has no weights
		// Rounding may put the last edge above 8 kHz.
		for _, w := range row.Weights[:min(len(row.Weights), powers-b.first)] {
			b.weights = append(b.weights, float32(w))
		}
		a.bands = append(a.bands, b)
	}
	return a
}

// hann returns the window. go-dsp's is symmetric, torch's periodic: one point more, cut off.
func hann() []float64 { return window.Hann(windowSize + 1)[:windowSize] }

// block returns the log10 of the mel powers of up to blockFrames frames, at least logFloor, and the largest of
// each frame. The first frame begins with x, the others HopLength apart. The results are valid until the next
// call.
func (a *analyzer) block(x []float32, frames int) (logs strip, tops []float32) {
	a.fold(x, frames)
	a.transform()
	kernel.Log10(a.logs, a.mel, logFloor)
	copy(a.tops[:], a.logs)
	for b := 1; b < len(a.bands); b++ {
		kernel.MaxInto(a.tops[:], a.logs[b*blockFrames:][:blockFrames])
	}
	return strip{bins: len(a.bands), frames: frames, blocks: a.out[:]}, a.tops[:frames]
}

// fold adds and subtracts the halves of each frame. Lanes without a frame contain arbitrary numbers afterwards.
func (a *analyzer) fold(x []float32, frames int) {
	for j := 1; j <= windowSize/2; j += foldSamples {
		kernel.Transpose(a.front[:], x[j:], HopLength, frames, foldSamples)
		kernel.Transpose(a.back[:], x[windowSize+1-j-foldSamples:], HopLength, frames, foldSamples)
		// The first of the samples is odd.
		at := (j - 1) / 2 * blockFrames
		kernel.Fold(a.folded[1][at:], a.folded[3][at:], a.folded[0][at:], a.folded[2][at:], a.front[:], a.back[:])
	}
}

// row returns a row of the lanes of x.
func row(x []float32, i int) []float32 { return x[i*blockFrames:][:blockFrames] }

// transform computes the mel powers of folded frames.
func (a *analyzer) transform() {
	for f, w := range dft() {
		kernel.Chains(a.sums[f][:], w, quarter, a.folded[f][:])
	}
	kernel.Squares(a.power[:], a.sums[0][:], a.sums[1][:], a.sums[2][:], a.sums[3][:])
	for i, b := range a.bands {
		kernel.Chains(row(a.mel, i), b.weights, 1, a.power[b.first*blockFrames:][:len(b.weights)*blockFrames])
	}
}

// dft returns the matrices of the transform, [n/4 frequencies][n/4 samples].
var dft = sync.OnceValue(func() (m [folds][]float32) {
	h := hann()
	for f := range folds {
		for k := 1; k <= quarter; k++ {
			for i := range quarter {
				j := 2*i + 2 - f%2
				turn := cosine(j * k)
				if f >= 2 {
					turn = cosine(j*k - windowSize/4)
				}
				if j == windowSize/2 {
					turn /= 2
				}
				m[f] = append(m[f], float32(h[j]*turn))
			}
		}
	}
	return m
})

// cosine returns cos(2πm/n), the same for arguments that mirror each other, and zeros that are zero.
func cosine(m int) float64 {
	if m %= windowSize; m < 0 {
		m += windowSize
	}
	if m > windowSize/2 {
		m = windowSize - m
	}
	switch {
	case m == windowSize/4:
		return 0
	case m > windowSize/4:
		return -cosine(windowSize/2 - m)
	}
	return math.Cos(2 * math.Pi * float64(m) / windowSize)
}
