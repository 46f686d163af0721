package bench

import (
	"math"

	"verity/model"
	"verity/precision"
)

// A work is a count of operations; a multiplication and an addition count as two.
type work struct {
	products float64 // with weights
	attend   float64 // among activations

	// vector counts the other operations on elements of vectors. A fused multiply-add
	// counts as one, as every instruction does.
	vector float64
}

// Operations per element in the definitions of package kernel: one for each rounded
// line, comparison and choice. Moving, packing and widening are not counted.
const (
	expOps   = 12                         // clamp, t, n, two for r, six for p, power of two
	softOps  = 1 + 1 + expOps + 1         // maximum, x-m, exponential, sum
	geluOps  = 1 + 2 + 9 + 4 + expOps + 6 // t, v, g, -½t² in two parts, exp of both, the rest
	normOps  = 1 + 2 + 3                  // sum; d and its square; d, its product with s, gamma and beta
	roundOps = 2 + 2                      // magnitude, maximum; product with the inverse, rounding
)

// Operations where an integer sum becomes a float32.
const (
	productOps = 1 + 1 + 1 + 1 // offset, conversion, product of scales, product with it
	scoreOps   = 1 + 1 + 1     // conversion, product of scales, product with it
	mixOps     = 1 + 1 + 1     // conversion, product with the unit, sum of blocks
	weightOps  = 1 + 1 + 2     // product with the scale, maximum, rounding
	weightRun  = 256           // keys with a common unit
)

// encoderWork returns the operations for one window.
func encoderWork(d model.Dims, p precision.Precision) work {
	n, w, ffn := float64(d.AudioPositions), float64(d.AudioWidth), float64(d.AudioFFN)
	layers, bins := float64(d.AudioLayers), float64(d.MelBins)
	k := kindOf(p)
	out := work{vector: (layers*2 + 1) * n * w * normOps}
	out.add(k.product(2*n, 3*bins, w), 1) // the first convolution has twice the positions
	out.add(k.product(n, 3*w, w), 1)
	out.vector += 3*n*w*geluOps + n*w // and the position embedding

	var layer work
	layer.add(k.product(n, w, 3*w), 1)
	layer.add(k.attention(n, n, w, float64(d.AudioHeads)), 1)
	layer.add(k.cacheWrite(2*n*w), 1)
	layer.add(k.product(n, w, w), 1)
	layer.add(k.product(n, w, ffn), 1)
	layer.add(k.product(n, ffn, w), 1)
	layer.vector += n*ffn*geluOps + 2*n*w // and the two residual additions
	out.add(layer, layers)
	return out
}

// crossWork returns the operations for a window's cross-attention keys and values.
// Their input is rounded once for all layers.
func crossWork(d model.Dims, p precision.Precision) work {
	n, layers := float64(d.AudioPositions), float64(d.TextLayers)
	k := kindOf(p)
	once := k.product(n, float64(d.AudioWidth), 2*float64(d.TextWidth))
	once.vector -= k.rounding(n * float64(d.AudioWidth))
	once.add(k.cacheWrite(2*n*float64(d.TextWidth)), 1)
	out := work{vector: k.rounding(n * float64(d.AudioWidth))}
	out.add(once, layers)
	return out
}

// Operations returns the multiplications of a model: of its encoder and of the keys and values of the audio, for a
// window, and of its decoder for a token in the middle of one.
func Operations(d model.Dims) (encoder, cross, token float64) {
	var p precision.Precision
	return encoderWork(d, p).multiplied() / 2, crossWork(d, p).multiplied() / 2,
		passWork(d, p, 1, min(position, d.TextPositions/2)).multiplied() / 2
}

// passWork returns the operations of a pass over rows tokens that follow positions tokens.
func passWork(d model.Dims, p precision.Precision, rows, positions int) work {
	n, w, ffn, layers := float64(rows), float64(d.TextWidth), float64(d.TextFFN), float64(d.TextLayers)
	heads := float64(d.TextHeads)
	k := kindOf(p)
	var layer work
	layer.add(k.product(n, w, 3*w), 1)
	layer.add(k.cacheWrite(2*n*w), 1)
	layer.add(k.product(n, w, w), 3) // outputs of both attentions, and the cross-attention query
	layer.add(k.attention(n, float64(positions)+(n+1)/2, w, heads), 1)
	layer.add(k.attention(n, float64(d.AudioPositions), w, heads), 1)
	layer.add(k.product(n, w, ffn), 1)
	layer.add(k.product(n, ffn, w), 1)
	layer.vector += n*ffn*geluOps + 3*n*w*(normOps+1)
	out := work{vector: n * w * (1 + normOps)} // sum of token and position embedding, last norm
	out.add(layer, layers)
	out.add(k.product(n, w, float64(d.Vocab)), 1)
	return out
}

// A kind says which values of a precision are integers.
type kind struct{ activations, cache bool }

func kindOf(p precision.Precision) kind {
	p = p.Complete()
	return kind{p.Weights.Integer(), p.Cache.Integer()}
}

// product returns the operations of a product with weights and a bias, from in to out
// numbers for each row, including rounding the inputs.
func (k kind) product(rows, in, out float64) work {
	w := work{products: 2 * rows * in * out, vector: rows*out + k.rounding(rows*in)}
	if k.activations {
		w.vector += rows * out * productOps
	}
	return w
}

// rounding returns the operations that convert n activations to integers.
func (k kind) rounding(n float64) float64 {
	if k.activations {
		return n * roundOps
	}
	return 0
}

// cacheWrite returns the operations that put n keys and values into a cache.
func (k kind) cacheWrite(n float64) work {
	if k.cache {
		return work{vector: n * roundOps}
	}
	return work{}
}

// attention returns the operations of queries of a given width over keys.
func (k kind) attention(rows, keys, width, heads float64) work {
	w := work{
		attend: 2 * 2 * rows * keys * width,
		vector: rows*width*2 + rows*keys*heads*softOps, // scaling of queries, division of outputs
	}
	if k.cache {
		w.vector += rows*width*(roundOps-1+mixOps*math.Ceil(keys/weightRun)) + rows*keys*heads*(scoreOps+weightOps)
	}
	return w
}

func (w *work) add(x work, times float64) {
	w.products += times * x.products
	w.attend += times * x.attend
	w.vector += times * x.vector
}

// An ideal is the time in seconds of a work at the ceilings, by part.
type ideal struct{ products, attend, vector float64 }

// ideal returns the seconds of a work at the ceilings of its arithmetic: products with
// weights at the ceiling of the activations, products among activations at that of the
// cache, everything else at that of vectors.
func (w work) ideal(c Ceiling, p precision.Precision) ideal {
	ceiling := func(integer bool) float64 {
		if integer {
			return 1e9 * c.GOPSInt8
		}
		return 1e9 * c.GFLOPS
	}
	k := kindOf(p)
	return ideal{w.products / ceiling(k.activations), w.attend / ceiling(k.cache), w.vector / (1e9 * c.GOPSVector)}
}

// all returns the sum of the parts.
func (i ideal) all() float64 { return i.products + i.attend + i.vector }

func (w work) multiplied() float64 { return w.products + w.attend }
