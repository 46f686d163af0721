package bench

import (
	"verity/model"
	"verity/precision"
)

// A work is operations, a multiplication and an addition counted as two.
type work struct {
	products float64 // with weights
	attend   float64 // among activations
}

// encoderWork returns the operations of a window.
func encoderWork(d model.Dims) work {
	n, w, ffn := float64(d.AudioPositions), float64(d.AudioWidth), float64(d.AudioFFN)
	stem := 2*n*w*3*float64(d.MelBins) + n*w*3*w // the first convolution runs on twice the positions
	layer := n * (4*w*w + 2*w*ffn)
	return work{
		products: 2 * (stem + float64(d.AudioLayers)*layer),
		attend:   2 * float64(d.AudioLayers) * 2 * n * n * w,
	}
}

// crossWork returns the operations of a window's cross-attention keys and values.
func crossWork(d model.Dims) work {
	return work{products: 2 * float64(d.TextLayers) * float64(d.AudioPositions) * float64(d.AudioWidth) *
		2 * float64(d.TextWidth)}
}

// passWork returns the operations of a pass of so many rows after that many
// positions.
func passWork(d model.Dims, rows, positions int) work {
	w, ffn, layers := float64(d.TextWidth), float64(d.TextFFN), float64(d.TextLayers)
	keys := float64(d.AudioPositions+positions) + float64(rows+1)/2
	return work{
		products: 2 * float64(rows) * (layers*(6*w*w+2*w*ffn) + w*float64(d.Vocab)),
		attend:   2 * float64(rows) * layers * 2 * keys * w,
	}
}

// ideal returns the seconds that a work takes at the ceilings of the arithmetic it
// runs in: products with weights in that of the activations, those among activations
// in that of the cache.
func (w work) ideal(c Ceiling, p precision.Precision) float64 {
	ceiling := func(f precision.Format) float64 {
		if f.Integer() {
			return 1e9 * c.GOPSInt8
		}
		return 1e9 * c.GFLOPS
	}
	p = p.Complete()
	return w.products/ceiling(p.Activations) + w.attend/ceiling(p.Cache)
}

// all returns all operations.
func (w work) all() float64 { return w.products + w.attend }
