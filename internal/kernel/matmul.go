package kernel

import (
	"math"
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
// With weights stored as I8, x is rounded to int8 as well, each row with its own
// scale as [Pack] says of weights, the sum of the integers is exact, and
//
//	dst[r·Out+o] = float32(acc)·(xScale[r]·wScale[o]) + bias[o]
//
// where each operation rounds. A row of x that holds an infinity or NaN gives NaN.
//
// The parts run on p, or in the caller if it is nil. The bits of a row depend on
// that row alone.
//
// It panics if a slice is too short.
func MatMul(p *parallel.Pool, dst, x []float32, rows, xStride int, w *Matrix, bias []float32, e Epilogue) {
	if rows == 0 || w.out == 0 {
		return
	}
	if len(dst) < rows*w.out || len(x) < (rows-1)*xStride+w.in || bias != nil && len(bias) < w.out {
		panic("kernel: a slice of MatMul is too short")
	}
	t := matmuls.Get().(*matmul)
	t.dst, t.x, t.rows, t.xStride = dst, x, rows, xStride
	t.w, t.bias, t.e = w, bias, e
	if w.store == tensor.I8 {
		t.quantise(p)
	}
	p.Run(t.plan(p.Threads()), t)
	t.dst, t.x, t.w, t.bias = nil, nil, nil, nil // keep nothing of the caller's alive
	matmuls.Put(t)
}

// A matmul is one call of MatMul: a [parallel.Task].
//
// Its work is cut into units, one panel by unitRows rows, in the order
// [rows][panel]. Part i is the units from starts[i] to starts[i+1].
type matmul struct {
	dst, x   []float32
	rows     int
	xStride  int
	w        *Matrix
	bias     []float32
	e        Epilogue
	unitRows int
	starts   []int

	q      []uint8 // [rows][w.depth()], for int8: rounded x plus 128
	qScale []float32
}

var matmuls = sync.Pool{New: func() any { return new(matmul) }}

const (
	// maxRows is the most rows of a unit, a multiple of six. The more, the rarer
	// are weights loaded and widened; but the sums and what is used of x have to
	// fit a second-level cache.
	maxRows = 192

	// maxDepth is how many k of a panel go through at a time if many rows use
	// them, and maxInt8Depth the same for int8: 64 and 96 KiB of weights.
	maxDepth     = 256
	maxInt8Depth = 1536
)

// plan cuts the work into parts and returns their number. The parts get smaller
// towards the end: large ones stream through memory, and small ones let a thread
// that was held up finish with the others.
func (t *matmul) plan(threads int) (parts int) {
	units := func() int { return t.w.panels() * ((t.rows + t.unitRows - 1) / t.unitRows) }
	for t.unitRows = maxRows; t.unitRows > 2*manyRows && threads > 1 && units() < 4*threads; t.unitRows /= 2 {
	}
	t.starts = append(t.starts[:0], 0)
	for at, n := 0, units(); at < n; parts++ {
		at += (n - at + 2*threads - 1) / (2 * threads)
		t.starts = append(t.starts, at)
	}
	return parts
}

// Part does the units of part i.
func (t *matmul) Part(i int) {
	s := scratches.Get().(*scratch)
	for u := t.starts[i]; u < t.starts[i+1]; u++ {
		p, first := u%t.w.panels(), u/t.w.panels()*t.unitRows
		t.unit(s, p, first, min(t.unitRows, t.rows-first))
	}
	scratches.Put(s)
}

// A scratch is the working memory of one part.
type scratch struct {
	acc  [maxRows * panel]float32
	wide [maxDepth * panel]float32
	int8 [maxRows * panel]int32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// unit computes rows first … first+rows-1 of panel p.
func (t *matmul) unit(s *scratch, p, first, rows int) {
	if t.w.store == tensor.I8 {
		acc := s.int8[:rows*panel]
		t.sumInt8(acc, p, first, rows)
		t.finishInt8(acc, p, first, rows)
		return
	}
	clear(s.acc[:rows*panel])
	x, size := t.x[first*t.xStride:], t.w.in*panel
	switch t.w.store {
	case tensor.F32:
		t.sum(s, x, rows, view[float32](t.w.data)[p*size:][:size])
	case tensor.F16:
		t.sumHalf(s, x, rows, view[uint16](t.w.data)[p*size:][:size], tiles.fn.f16, tiles.fn.widenF16)
	case tensor.BF16:
		t.sumHalf(s, x, rows, view[uint16](t.w.data)[p*size:][:size], tiles.fn.bf16, tiles.fn.widenBF16)
	}
	t.finish(s.acc[:rows*panel], p, first, rows)
}

// target returns where the results of panel p go, rows t.w.out apart, and their
// bias, whose length is the number of columns.
func (t *matmul) target(p, first, rows int) (dst, bias []float32) {
	o := p * panel
	bias = negativeZeros[:min(panel, t.w.out-o)]
	if t.bias != nil {
		bias = t.bias[o:][:len(bias)]
	}
	return t.dst[first*t.w.out+o : (first+rows-1)*t.w.out+o+len(bias)], bias
}

// finish does the epilogue for the sums of panel p.
func (t *matmul) finish(acc []float32, p, first, rows int) {
	dst, bias := t.target(p, first, rows)
	f := tiles.fn.store
	if t.e == StoreAdd {
		f = tiles.fn.add
	}
	f(dst, acc, bias, t.w.out, rows)
	t.activate(dst, len(bias), rows)
}

// activate applies the activation, if there is one, to n columns of dst.
func (t *matmul) activate(dst []float32, n, rows int) {
	if t.e == StoreGELU {
		for r := range rows {
			GELU(dst[r*t.w.out:][:n])
		}
	}
}

var negativeZero = float32(math.Copysign(0, -1))

// negativeZeros are the bias of a product without one: x + -0 is x, whatever x is.
var negativeZeros = func() (z [panel]float32) {
	for i := range z {
		z[i] = negativeZero
	}
	return z
}()
