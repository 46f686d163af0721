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
// The parts run on p. The bits of a row depend on that row alone.
//
// It panics if a slice is too short.
func MatMul(p *parallel.Pool, dst, x []float32, rows, xStride int, w *Matrix, bias []float32, e Epilogue) {
	if rows == 0 || w.out == 0 {
		return
	}
	t := matmulTasks.Get().(*matmul)
	*t = matmul{rows: rows, xStride: xStride, w: w, e: e}
	t.dst = dst[:rows*w.out]
	t.x = x[:(rows-1)*xStride+w.in]
	if bias != nil {
		t.bias = bias[:w.out]
	}
	p.Run(t.plan(p.Threads()), t)
	*t = matmul{} // keep nothing of the caller's alive
	matmulTasks.Put(t)
}

// A matmul is one call of MatMul, cut into parts of some panels by some rows.
type matmul struct {
	dst, x     []float32
	rows       int
	xStride    int
	w          *Matrix
	bias       []float32
	e          Epilogue
	rowBlocks  int // parts along the rows
	blockRows  int
	panelCount int // parts along the panels
}

var matmulTasks = sync.Pool{New: func() any { return new(matmul) }}

// maxRows is the most rows of a part: its running sums are 48 KiB then, and its
// rows of x at a width of 1280 stay in a second-level cache.
const maxRows = 192

func (t *matmul) plan(int) (parts int) {
	t.rowBlocks = (t.rows + maxRows - 1) / maxRows
	t.blockRows = (t.rows + t.rowBlocks - 1) / t.rowBlocks
	t.panelCount = (t.w.out + panel - 1) / panel
	return t.rowBlocks * t.panelCount
}

// Part computes one part: it implements parallel.Task.
func (t *matmul) Part(i int) {
	s := scratches.Get().(*scratch)
	lo := i / t.panelCount * t.blockRows
	hi := min(lo+t.blockRows, t.rows)
	t.tile(s, i%t.panelCount, lo, hi)
	scratches.Put(s)
}

// A scratch is the working memory of one part.
type scratch struct {
	acc [maxRows * panel]float32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// tile computes rows lo … hi-1 of panel p.
func (t *matmul) tile(s *scratch, p, lo, hi int) {
	acc := s.acc[:(hi-lo)*panel]
	clear(acc)
	x := t.x[lo*t.xStride:]
	size := t.w.in * panel * t.w.store.Size()
	block := t.w.data[p*size : (p+1)*size]
	switch t.w.store {
	case tensor.F32:
		tiles.fn.f32(acc, x, t.xStride, hi-lo, view[float32](block))
	case tensor.F16:
		tiles.fn.f16(acc, x, t.xStride, hi-lo, view[uint16](block))
	case tensor.BF16:
		tiles.fn.bf16(acc, x, t.xStride, hi-lo, view[uint16](block))
	}
	t.finish(acc, p, lo, hi)
}

// finish does the epilogue of rows lo … hi-1 of panel p, whose sums are acc.
func (t *matmul) finish(acc []float32, p, lo, hi int) {
	o := p * panel
	n := min(panel, t.w.out-o)
	for r := lo; r < hi; r++ {
		sums := acc[(r-lo)*panel:][:n]
		dst := t.dst[r*t.w.out+o:][:n]
		if t.bias != nil {
			for j, b := range t.bias[o:][:n] {
				sums[j] += b
			}
		}
		switch t.e {
		case Store:
			copy(dst, sums)
		case StoreAdd:
			for j, v := range sums {
				dst[j] += v
			}
		case StoreGELU:
			copy(dst, sums)
			GELU(dst)
		}
	}
}
