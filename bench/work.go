package bench

import (
	"math"

	"verity/model"
	"verity/precision"
)

// A work is operations, a multiplication and an addition counted as two.
type work struct {
	products float64 // with weights
	attend   float64 // among activations

	// vector is what else is done with the elements of vectors, a fused multiplication
	// and addition counted as one, as every instruction is.
	vector float64
}

// What the definitions of package kernel do with an element, one for each rounded line,
// comparison and choice. Moving, packing and widening elements is not counted.
const (
	expOps   = 12                         // the clamp, t, n, two of r, six of p, the power of two
	softOps  = 1 + 1 + expOps + 1         // the maximum, x-m, the exponent, the sum
	geluOps  = 1 + 2 + 9 + 4 + expOps + 6 // t, v, g, -½t² in two parts, exp of both, the rest
	normOps  = 1 + 2 + 3                  // the sum; d and its square; d, its product with s, gamma and beta
	roundOps = 2 + 2                      // the magnitude, the largest; the product with the inverse, the rounding
)

// Of an integer product, the places where a sum becomes a float32.
const (
	productOps = 1 + 1 + 1 + 1 // the offset, the conversion, the product of scales, the product with it
	scoreOps   = 1 + 1 + 1     // the conversion, the product of scales, the product with it
	mixOps     = 1 + 1 + 1     // the conversion, the product with the unit, the sum of blocks
	weightOps  = 1 + 1 + 2     // the product with the scale, the largest, the rounding
	weightRun  = 256           // keys with one unit
)

// encoderWork returns the operations of a window.
func encoderWork(d model.Dims, p precision.Precision) work {
	n, w, ffn := float64(d.AudioPositions), float64(d.AudioWidth), float64(d.AudioFFN)
	layers, bins := float64(d.AudioLayers), float64(d.MelBins)
	k := kindOf(p)
	out := work{vector: (layers*2 + 1) * n * w * normOps}
	out.add(k.product(2*n, 3*bins, w), 1) // the first convolution runs on twice the positions
	out.add(k.product(n, 3*w, w), 1)
	out.vector += 3*n*w*geluOps + n*w // and the positions

	var layer work
	layer.add(k.product(n, w, 3*w), 1)
	layer.add(k.attention(n, n, w, float64(d.AudioHeads)), 1)
	layer.add(k.kept(2*n*w), 1)
	layer.add(k.product(n, w, w), 1)
	layer.add(k.product(n, w, ffn), 1)
	layer.add(k.product(n, ffn, w), 1)
	layer.vector += n*ffn*geluOps + 2*n*w // and what was there before
	out.add(layer, layers)
	return out
}

// crossWork returns the operations of a window's cross-attention keys and values, which
// are rounded once for all layers.
func crossWork(d model.Dims, p precision.Precision) work {
	n, layers := float64(d.AudioPositions), float64(d.TextLayers)
	k := kindOf(p)
	once := k.product(n, float64(d.AudioWidth), 2*float64(d.TextWidth))
	once.vector -= k.rounding(n * float64(d.AudioWidth))
	once.add(k.kept(2*n*float64(d.TextWidth)), 1)
	out := work{vector: k.rounding(n * float64(d.AudioWidth))}
	out.add(once, layers)
	return out
}

// passWork returns the operations of a pass of so many rows after that many
// positions.
func passWork(d model.Dims, p precision.Precision, rows, positions int) work {
	n, w, ffn, layers := float64(rows), float64(d.TextWidth), float64(d.TextFFN), float64(d.TextLayers)
	heads := float64(d.TextHeads)
	k := kindOf(p)
	var layer work
	layer.add(k.product(n, w, 3*w), 1)
	layer.add(k.kept(2*n*w), 1)
	layer.add(k.product(n, w, w), 3) // outputs of both attentions, and the query of one
	layer.add(k.attention(n, float64(positions)+(n+1)/2, w, heads), 1)
	layer.add(k.attention(n, float64(d.AudioPositions), w, heads), 1)
	layer.add(k.product(n, w, ffn), 1)
	layer.add(k.product(n, ffn, w), 1)
	layer.vector += n*ffn*geluOps + 3*n*w*(normOps+1)
	out := work{vector: n * w * (1 + normOps)} // the sum of both embeddings, the last norm
	out.add(layer, layers)
	out.add(k.product(n, w, float64(d.Vocab)), 1)
	return out
}

// A kind is what operations depend on in a precision.
type kind struct{ activations, cache bool } // whether they are integers

func kindOf(p precision.Precision) kind {
	p = p.Complete()
	return kind{p.Activations.Integer(), p.Cache.Integer()}
}

// product returns the operations of one with weights and a bias, from in to out numbers
// for each of some rows, with the rounding of its inputs.
func (k kind) product(rows, in, out float64) work {
	w := work{products: 2 * rows * in * out, vector: rows*out + k.rounding(rows*in)}
	if k.activations {
		w.vector += rows * out * productOps
	}
	return w
}

// rounding returns the operations that make so many activations integers.
func (k kind) rounding(n float64) float64 {
	if k.activations {
		return n * roundOps
	}
	return 0
}

// kept returns the operations on so many keys and values that go into a cache.
func (k kind) kept(n float64) work {
	if k.cache {
		return work{vector: n * roundOps}
	}
	return work{}
}

// attention returns the operations of some queries of that width over keys.
func (k kind) attention(rows, keys, width, heads float64) work {
	w := work{
		attend: 2 * 2 * rows * keys * width,
		vector: rows*width*2 + rows*keys*heads*softOps, // queries are scaled, outputs divided
	}
	if k.cache {
		w.vector += rows*width*(roundOps-1+mixOps*math.Ceil(keys/weightRun)) + rows*keys*heads*(scoreOps+weightOps)
	}
	return w
}

// add adds a work so many times.
func (w *work) add(x work, times float64) {
	w.products += times * x.products
	w.attend += times * x.attend
	w.vector += times * x.vector
}

// An ideal is the seconds that a work takes at the ceilings, part by part.
type ideal struct{ products, attend, vector float64 }

// ideal returns the seconds that a work takes at the ceilings of the arithmetic it
// runs in: products with weights in that of the activations, those among activations
// in that of the cache, all else in that of vectors.
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

// all returns the seconds of all parts, one after the other.
func (i ideal) all() float64 { return i.products + i.attend + i.vector }

// multiplied returns the operations of all products.
func (w work) multiplied() float64 { return w.products + w.attend }
