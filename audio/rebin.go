package audio

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"verity/internal/frontend"
	"verity/internal/kernel"
)

// WithBins returns about the spectrogram that the same sound has with fewer bins: m itself if it has as many. Each
// new bin is a sum of the powers of those of m, with the weights that come closest to its filter:
//
//	W = F_new·F_mᵀ·(F_m·F_mᵀ + εI)⁻¹, F the filters as rows
//
// From 128 to 80 bins, cells of speech are off by 0.003 on average (TestWithBins).
func (m *Mel) WithBins(bins int) *Mel {
	if bins == m.Bins {
		return m
	}
	const nothing = -200 // its exponential is 0
	power, silent := make([]float32, len(m.Data)), slices.Min(m.Data)
	for i, v := range m.Data {
		if power[i] = (4*v - 4) * math.Ln10; v == silent { // clamped
			power[i] = nothing
		}
	}
	kernel.ExpSum(power, power, 0)
	n := &Mel{Bins: bins, Frames: m.Frames, Data: make([]float32, bins*m.Frames)}
	weights := rebinning(m.Bins, bins)
	for b := range bins {
		sum := n.Data[b*m.Frames:][:m.Frames]
		for from, w := range weights[b*m.Bins:][:m.Bins] {
			if w == 0 {
				continue
			}
			for i, p := range power[from*m.Frames:][:m.Frames] {
				sum[i] += w * p
			}
		}
	}
	kernel.Log10(n.Data, n.Data, logFloor)
	kernel.ScaleLogMel(n.Data, n.Data, slices.Max(n.Data)-8)
	return n
}

var rebinnings sync.Map // of rebinning, by its arguments

// rebinning returns the weights of WithBins, [bins][from].
func rebinning(from, bins int) []float32 {
	const (
		ridge      = 1e-5 // of the largest: some filters lie between two frequencies, and are empty
		negligible = 1e-3 // of a row's largest
	)
	key := [2]int{from, bins}
	if w, ok := rebinnings.Load(key); ok {
		return w.([]float32)
	}
	old, wanted := filterMatrix(from), filterMatrix(bins)
	var gram, cross, solved mat.Dense
	gram.Mul(old, old.T())
	most := mat.Max(&gram)
	for i := range from {
		gram.Set(i, i, gram.At(i, i)+ridge*most)
	}
	cross.Mul(old, wanted.T())
	if err := solved.Solve(&gram, &cross); err != nil {
		panic("audio: rebinning: the matrix is singular") // impossible: it has a ridge
	}
	w := make([]float32, bins*from)
	for b := range bins {
		column := mat.Col(nil, b, &solved)
		for i, v := range column {
			if math.Abs(v) > negligible*slices.Max(column) {
				w[b*from+i] = float32(v)
			}
		}
	}
	rebinnings.Store(key, w)
	return w
}

func filterMatrix(bins int) *mat.Dense {
	f := mat.NewDense(bins, frontend.Spectrum, nil)
	for b, row := range frontend.Filters(bins) {
		for i, w := range row.Weights {
			f.Set(b, row.First+i, w)
		}
	}
	return f
}
