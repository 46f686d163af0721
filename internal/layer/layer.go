package layer

import (
	"verity/internal/kernel"
	"verity/parallel"
)

// eps is added to the variance in every norm. Source: torch.nn.LayerNorm.
const eps = 1e-5

// A Linear is a matrix product with an optional bias: out = W·x + b.
type Linear struct {
	W    *kernel.Matrix // [out][in]
	Bias []float32      // [out], or nil
	Tap  Tap
}

// A Tap passes the inputs of a product to the calibration: model.Tap.
type Tap struct {
	names  []string // of the weights
	record func(names []string, x []float32, rows, stride int)
}

// Input reports rows inputs that lie stride elements apart.
func (w Tap) Input(x []float32, rows, stride int) {
	if w.record != nil {
		w.record(w.names, x, rows, stride)
	}
}

// Apply computes rows outputs from rows inputs that lie stride elements apart.
func (l Linear) Apply(p *parallel.Pool, dst, x []float32, rows, stride int, e kernel.Epilogue) {
	l.Tap.Input(x, rows, stride)
	kernel.MatMul(p, dst, x, rows, stride, l.W, l.Bias, e)
}

// ApplyKV computes one row of outputs for each place and puts the last of them, its
// keys and values, there: see [kernel.MatMulKV].
func (l Linear) ApplyKV(
	p *parallel.Pool, dst []float32, places []kernel.Slot, x []float32, stride int, keep *kernel.RoundedRows,
) {
	l.Tap.Input(x, len(places), stride)
	kernel.MatMulKV(p, dst, places, x, stride, l.W, l.Bias, keep)
}

// ApplyNormed is Apply with the rows of y as inputs.
func (l Linear) ApplyNormed(p *parallel.Pool, dst []float32, y *NormedRows, e kernel.Epilogue) {
	if !y.isRounded {
		l.Apply(p, dst, y.Data, y.rows, l.W.In(), e)
		return
	}
	kernel.MatMulRounded(p, dst, &y.rounded, y.rows, l.W, l.Bias, e)
}

// ApplyKVNormed is ApplyKV with the rows of y as inputs.
func (l Linear) ApplyKVNormed(p *parallel.Pool, dst []float32, places []kernel.Slot, y *NormedRows) {
	if !y.isRounded {
		l.ApplyKV(p, dst, places, y.Data, l.W.In(), nil)
		return
	}
	kernel.MatMulKV(p, dst, places, nil, l.W.In(), l.W, l.Bias, &y.rounded)
}

// A Norm is a layer normalisation over one row.
type Norm struct{ Gain, Bias []float32 }

// Apply normalises rows rows of x into dst, which may be x.
func (n Norm) Apply(p *parallel.Pool, dst, x []float32, rows int) {
	w := len(n.Gain)
	if rows < 16 { // starting a job costs more than the rows
		n.rows(dst, x, 0, rows, w)
		return
	}
	p.For(rows, 8, func(lo, hi int) { n.rows(dst, x, lo, hi, w) })
}

// ApplyTo normalises rows rows of x into y, in the form that l multiplies. If that is int8,
// it writes nothing in float32.
func (n Norm) ApplyTo(l Linear, p *parallel.Pool, y *NormedRows, x []float32, rows int) {
	y.rows, y.isRounded = rows, l.W.RoundsInputs() && l.Tap.record == nil
	if !y.isRounded {
		n.Apply(p, y.Data, x, rows)
		return
	}
	y.rounded.Normalise(p, x, rows, kernel.Norm{Gain: n.Gain, Bias: n.Bias, Eps: eps}, l.W)
}

// NormedRows are normalised rows, in the form that the next product needs.
type NormedRows struct {
	Data []float32 // [rows][width], to write to where the product is in floating point

	rows      int
	rounded   kernel.RoundedRows
	isRounded bool
}

func (n Norm) rows(dst, x []float32, lo, hi, w int) {
	for r := lo; r < hi; r++ {
		kernel.LayerNorm(dst[r*w:(r+1)*w], x[r*w:(r+1)*w], n.Gain, n.Bias, eps)
	}
}
