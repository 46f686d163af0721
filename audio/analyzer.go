package audio

import (
	"iter"
	"math"
	"sync"

	"github.com/mjibson/go-dsp/window"

	"verity/internal/frontend"
	"verity/internal/kernel"
	"verity/internal/tensor"
	"verity/precision"
)

// An analyzer turns samples into frames, a block at a time: the transforms of a block
// are products of matrices. A frame does not depend on what else is in its block. An
// analyzer must not be used concurrently.
//
// # Transform
//
// With h the window, which is symmetric, and n = WindowSize, frequency k is
//
//	re = Σ_j h[j]·x[j]·cos(2πjk/n) = Σ_{0<j≤n/2} h[j]·e[j]·cos(2πjk/n)
//	im = Σ_j h[j]·x[j]·sin(2πjk/n) = Σ_{0<j<n/2} h[j]·o[j]·sin(2πjk/n)
//
// up to the sign of im, with the halves of the frame folded together:
//
//	e[j] = x[j] + x[n-j], o[j] = x[j] - x[n-j]
//
// (h[0] is 0; e[n/2] is twice x[n/2], so its weight is halved). The terms of odd j for
// frequencies k and n/2-k differ only in sign. So four sums over n/4 terms each give both
// frequencies, for k = 1 … n/4. 0 Hz and 8 kHz are not computed: no filter has weight
// there. Each sum is a row of a product, one chain of fused multiply-adds over ascending
// j, by the kernels, whose bits are those of plain Go.
//
// # Error
//
// Everything is float32, u = 2^-24. A fold and a weight h·cos round once, a chain of m
// = n/4 terms m times, the sum of two chains once: re and im are off by at most
// (m+3)·u·Σ|h·x|, and some √m·u·rms(h·x), as rounding errors are about independent: as
// in any float32 FFT, upstream's included. See melTol in the tests for the resulting
// error of a cell.
type analyzer struct {
	bank *melBank
	hann []float64
	rows int

	folded [blockFrames * WindowSize]float32 // e of even j, e of odd j, o of even j, o of odd j: kernel.Fold
	sums   [folds][blockFrames * quarter]float32
	power  [blockFrames * powers]float32 // of frequencies 1 … 199
	mel    []float32                     // of each part of the bank
	logs   []float32                     // of one frame
}

const (
	// blockFrames is how many frames are transformed at a time: their folded samples
	// and sums fit into a second-level cache of 256 KB.
	blockFrames = 48

	folds   = 4
	quarter = WindowSize / 4
	powers  = spectrum - 2
)

func newAnalyzer(bins int) (*analyzer, error) {
	bank, err := melBankFor(bins)
	if err != nil {
		return nil, err
	}
	return &analyzer{bank: bank, hann: hann(), mel: make([]float32, blockFrames*bins), logs: make([]float32, bins)}, nil
}

// hann returns the window. go-dsp's is symmetric, torch's periodic: one point more, cut
// off.
func hann() []float64 { return window.Hann(WindowSize + 1)[:WindowSize] }

// add adds a frame to the block, which must not be full.
func (a *analyzer) add(x *frameSamples) {
	kernel.Fold(a.folded[a.rows*WindowSize:][:WindowSize], x[:])
	a.rows++
}

// reset drops the frames of the block.
func (a *analyzer) reset() { a.rows = 0 }

// full reports whether there is no room for another frame.
func (a *analyzer) full() bool { return a.rows == blockFrames }

// frames ends the block. For each frame that was added, in order, it yields the log10
// of the mel powers, at least logFloor, one per bin, valid until the next block, and
// the largest of them.
func (a *analyzer) frames() iter.Seq2[[]float32, float32] {
	rows := a.rows
	a.rows = 0
	a.transform(rows, a.folded[:])
	return func(yield func([]float32, float32) bool) {
		for r := range rows {
			top, ok := a.bank.log(a.logs, a.mel, r, 0)
			if !ok {
				top = a.scaled(r)
			}
			if !yield(a.logs, top) {
				return
			}
		}
	}
}

// Samples may be as large as tooLoud, and their squares overflow. Where a power exceeds
// hugePower, the frame is computed again, scaled down by a power of two.
const (
	hugePower = 1e30
	scaleDown = 1.0 / (1 << 40) / (1 << 40)
	scaledBy  = 2 * 80 * 0.30102999566398120 // log10 of what powers lose
)

// scaled takes the logarithms of a loud frame and returns the largest.
func (a *analyzer) scaled(row int) float32 {
	small := make([]float32, WindowSize)
	for i, v := range a.folded[row*WindowSize:][:WindowSize] {
		small[i] = v * scaleDown
	}
	other := &analyzer{bank: a.bank, mel: make([]float32, len(a.mel))}
	other.transform(1, small)
	top, _ := a.bank.log(a.logs, other.mel, 0, scaledBy)
	return top
}

// log writes the logarithms of a frame's powers plus shift, and returns the largest. It
// is false if a power is too large.
func (b *melBank) log(logs, mel []float32, frame int, shift float32) (top float32, ok bool) {
	n := 0
	for i := range b.parts {
		row := b.parts[i].row(mel, frame)
		for _, p := range row {
			if !(p <= hugePower) {
				return 0, false
			}
		}
		kernel.Log10(logs[n:], row, logFloor-shift)
		n += len(row)
	}
	top, _ = kernel.Max(logs)
	if shift != 0 {
		for i := range logs {
			logs[i] += shift
		}
		top += shift
	}
	return top, true
}

// transform computes the mel powers of rows folded frames.
func (a *analyzer) transform(rows int, folded []float32) {
	if rows == 0 {
		return
	}
	t := dft()
	for f := range folds {
		kernel.MatMul(nil, a.sums[f][:], folded[f*quarter:], rows, WindowSize, t[f], nil, kernel.Store)
	}
	for r := range rows {
		sums := func(f int) []float32 { return a.sums[f][r*quarter:][:quarter] }
		kernel.Squares(a.power[r*powers:][:powers], sums(0), sums(1), sums(2), sums(3))
	}
	a.bank.apply(a.mel, a.power[:], rows)
}

// dft returns the matrices of the transform, [n/4 frequencies][n/4 samples].
var dft = sync.OnceValue(func() (m [folds]*kernel.Matrix) {
	h := hann()
	for f := range folds {
		w := make([]float32, 0, quarter*quarter)
		for k := 1; k <= quarter; k++ {
			for i := range quarter {
				j := 2*i + 2 - f%2
				turn := cosine(j * k)
				if f >= 2 {
					turn = cosine(j*k - WindowSize/4)
				}
				if j == WindowSize/2 {
					turn /= 2
				}
				w = append(w, float32(h[j]*turn))
			}
		}
		m[f] = matrix(w, quarter, quarter)
	}
	return m
})

// cosine returns cos(2πm/n), the same for arguments that mirror each other, and zeros
// that are zero.
func cosine(m int) float64 {
	if m %= WindowSize; m < 0 {
		m += WindowSize
	}
	if m > WindowSize/2 {
		m = WindowSize - m
	}
	switch {
	case m == WindowSize/4:
		return 0
	case m > WindowSize/4:
		return -cosine(WindowSize/2 - m)
	}
	return math.Cos(2 * math.Pi * float64(m) / WindowSize)
}

func matrix(w []float32, out, in int) *kernel.Matrix {
	m, err := kernel.Pack(precision.F32, tensor.FromFloat32(w, out, in))
	if err != nil {
		panic("audio: a matrix of finite weights cannot be packed")
	}
	return m
}

// A melBank is a filterbank as matrices. For each group of bins, it holds only the
// frequencies for which a bin has weight.
type melBank struct {
	*filterbank
	bins  int
	parts []melPart
}

type melPart struct {
	at    int // place of the results, [frame][bins of this part]
	first int // power of the matrix's first input
	w     *kernel.Matrix
}

// row returns the mel powers of a frame.
func (p *melPart) row(mel []float32, r int) []float32 { return mel[p.at+r*p.w.Out():][:p.w.Out()] }

var melBanks sync.Map // of *melBank by number of bins; they are never changed

func melBankFor(bins int) (*melBank, error) {
	if b, ok := melBanks.Load(bins); ok {
		return b.(*melBank), nil
	}
	fb, err := filterbankFor(bins)
	if err != nil {
		return nil, err
	}
	b := &melBank{filterbank: fb, bins: bins}
	const group = 64 // a panel of the kernels
	for lo := 0; lo < bins; lo += group {
		b.parts = append(b.parts, newMelPart(lo*blockFrames, fb.rows[lo:min(lo+group, bins)]))
	}
	stored, _ := melBanks.LoadOrStore(bins, b)
	return stored.(*melBank), nil
}

func newMelPart(at int, rows []frontend.Filter) melPart {
	first, end := spectrum-2, 1
	for _, r := range rows {
		if len(r.Weights) > 0 {
			first, end = min(first, r.First), max(end, r.First+len(r.Weights))
		}
	}
	n := max(1, end-first)
	w := make([]float32, len(rows)*n)
	for b, r := range rows {
		for i, v := range r.Weights {
			w[b*n+r.First-first+i] = float32(v)
		}
	}
	return melPart{at, first - 1, matrix(w, len(rows), n)}
}

// apply computes the mel powers of rows frames: chains over ascending frequencies.
func (b *melBank) apply(mel, power []float32, rows int) {
	for _, p := range b.parts {
		kernel.MatMul(nil, mel[p.at:], power[p.first:], rows, powers, p.w, nil, kernel.Store)
	}
}

// below reports whether all mel powers of x are certain to be below limit, without a
// transform. False means that they may not be. By Parseval, the powers at the
// frequencies strictly between 0 and 8 kHz sum to at most WindowSize/2·Σ(hann·x)², and
// the filters are zero at the two ends.
func (a *analyzer) below(x *frameSamples, limit float64) bool {
	energy := 0.0
	for i, h := range a.hann {
		v := float64(x[i]) * h
		energy += float64(v * v)
	}
	// What float32 can add to a power is at most (m+3)·u·√n of the energy's root, twice:
	// less than 3e-4 of it.
	const rounding = 1 + 1e-3
	return energy*(WindowSize/2)*a.bank.max*rounding < limit
}
