package kernel

import (
	"sync"

	"verity/internal/parallel"
	"verity/internal/tensor"
)

// An Epilogue says what MatMul does with a finished sum.
type Epilogue int

// With v the sum plus the bias (named apart from the functions Add and GELU):
const (
	Store     Epilogue = iota // dst = v
	StoreAdd                  // dst += v, a residual connection
	StoreGELU                 // dst = GELU(v)
)

// MatMul computes dst = x·wᵀ + bias, or what e says instead of "=".
//
//	x     [rows][In], row r at x[r·xStride]; xStride may be below In (rows
//	      overlap: a convolution over [frame][channel] has stride·channels)
//	dst   [rows][Out], no part of x
//	bias  [Out], or nil: nothing is added
//
// For r < rows and o < Out,
//
//	acc = 0
//	for k := range In { acc = fma(x[r·xStride+k], w[o][k], acc) }
//	dst[r·Out+o] = acc + bias[o]
//
// The parts run on p, or in the caller if it is nil. The bits of a row depend on
// that row alone.
//
// It panics if a slice is too short.
func MatMul(p *parallel.Pool, dst, x []float32, rows, xStride int, w *Matrix, bias []float32, e Epilogue) {
	if rows == 0 || w.out == 0 {
		return
	}
	t := matmuls.Get().(*matmul)
	t.rows, t.xStride, t.w, t.e = rows, xStride, w, e
	t.dst = dst[:rows*w.out]
	t.x = x[:(rows-1)*xStride+w.in]
	if t.bias = nil; bias != nil {
		t.bias = bias[:w.out]
	}
	p.Run(t.plan(p.Threads()), t)
	t.dst, t.x, t.w, t.bias = nil, nil, nil, nil // keep nothing of the caller's alive
	matmuls.Put(t)
}

// A matmul is one call of MatMul: a [parallel.Task].
//
// Its work is cut into units, one panel by at most maxRows rows, in the order
// [rows][panel]. Part i is the units from starts[i] to starts[i+1].
type matmul struct {
	dst, x  []float32
	rows    int
	xStride int
	w       *Matrix
	bias    []float32
	e       Epilogue
	starts  []int
}

var matmuls = sync.Pool{New: func() any { return new(matmul) }}

const (
	// maxRows is the most rows of a unit, a multiple of six. The more, the rarer
	// are weights loaded and widened; but 96 rows of 1280 floats are half of a
	// second-level cache.
	maxRows = 96

	// maxDepth is how many k of a panel more than six rows go through at a time:
	// what they read again fits the second-level cache.
	maxDepth = 256
)

// plan cuts the work into parts and returns their number. The parts get smaller
// towards the end: large ones stream through memory, and small ones let a thread
// that was held up finish with the others.
func (t *matmul) plan(threads int) (parts int) {
	units := t.panels() * ((t.rows + maxRows - 1) / maxRows)
	t.starts = append(t.starts[:0], 0)
	for at := 0; at < units; parts++ {
		at += (units - at + 2*threads - 1) / (2 * threads)
		t.starts = append(t.starts, at)
	}
	return parts
}

func (t *matmul) panels() int { return (t.w.out + panel - 1) / panel }

// Part does the units of part i.
func (t *matmul) Part(i int) {
	s := scratches.Get().(*scratch)
	for u := t.starts[i]; u < t.starts[i+1]; u++ {
		p, first := u%t.panels(), u/t.panels()*maxRows
		t.unit(s, p, first, min(maxRows, t.rows-first))
	}
	scratches.Put(s)
}

// A scratch is the working memory of one part.
type scratch struct {
	acc  [maxRows * panel]float32
	wide [maxDepth * panel]float32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// unit computes rows first … first+rows-1 of panel p.
func (t *matmul) unit(s *scratch, p, first, rows int) {
	acc := s.acc[:rows*panel]
	clear(acc)
	x, size := t.x[first*t.xStride:], t.w.in*panel
	switch t.w.store {
	case tensor.F32:
		t.sum(acc, x, rows, view[float32](t.w.data)[p*size:][:size])
	case tensor.F16:
		sumHalf(t, s, x, rows, view[uint16](t.w.data)[p*size:][:size], tiles.fn.f16, tiles.fn.widenF16)
	case tensor.BF16:
		sumHalf(t, s, x, rows, view[uint16](t.w.data)[p*size:][:size], tiles.fn.bf16, tiles.fn.widenBF16)
	}
	t.finish(acc, p, first, rows)
}

// finish does the epilogue for the sums of panel p.
func (t *matmul) finish(acc []float32, p, first, rows int) {
	o := p * panel
	n := min(panel, t.w.out-o)
	bias := negativeZeros[:n]
	if t.bias != nil {
		bias = t.bias[o:][:n]
	}
	dst := t.dst[first*t.w.out+o : (first+rows-1)*t.w.out+o+n]
	if t.e == StoreAdd {
		tiles.fn.add(dst, acc, bias, t.w.out, rows)
		return
	}
	tiles.fn.store(dst, acc, bias, t.w.out, rows)
	if t.e == StoreGELU {
		for r := range rows {
			GELU(dst[r*t.w.out:][:n])
		}
	}
}

// negativeZeros are the bias of a product without one: x + -0 is x, whatever x is.
var negativeZeros = func() (z [panel]float32) {
	for i := range z {
		z[i] = negativeZero
	}
	return z
}()
