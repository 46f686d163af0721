package kernel

import (
	"math"
	"slices"
	"sync"

	"verity/parallel"
	"verity/precision"
)

// An Epilogue says what MatMul does with a finished sum.
type Epilogue int

// v is the sum plus the bias. GELU(v) is v·Φ(v), as geluRow says. (StoreAdd is not Add, a function.)
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
// With int8 weights, x is rounded to int8 as well, each row with its own scale as [Pack]
// says of weights, the sum of the integers is exact, and
//
//	dst[r·Out+o] = float32(acc)·(xScale[r]·wScale[o]) + bias[o]
//
// where each operation rounds. A row of x that holds an infinity or NaN gives NaN.
//
// With weights in groups of 32, x is rounded by groups too, and with
// s the exact sum of the integers of group g,
//
//	acc = 0
//	for g := range groups { acc = fma(float32(s), float32(xScale[r][g]·wScale[o][g]), acc) }
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
	if len(dst) < rows*w.out {
		panic("kernel: a slice of MatMul is too short")
	}
	multiply(p, matmul{dst: dst, x: x, rows: rows, xStride: xStride, w: w, bias: bias, e: e, stride: w.out})
}

// MatMulRounded is MatMul of rows rows that x holds. w must be as the matrix for which
// they were rounded.
func MatMulRounded(p *parallel.Pool, dst []float32, x *RoundedRows, rows int, w *Matrix, bias []float32, e Epilogue) {
	if rows == 0 || w.out == 0 {
		return
	}
	if len(dst) < rows*w.out || !x.full {
		panic("kernel: a slice of MatMulRounded is too short, or nothing was rounded")
	}
	multiply(p, matmul{dst: dst, rounded: x, rows: rows, xStride: w.in, w: w, bias: bias, e: e, stride: w.out})
}

// multiply runs a product. call holds its arguments.
func multiply(p *parallel.Pool, call matmul) {
	alreadyRounded := call.rounded != nil && call.w.RoundsInputs() && call.rounded.of(call.rows, call.w)
	if !alreadyRounded && len(call.x) < (call.rows-1)*call.xStride+call.w.in || call.bias != nil && len(call.bias) < call.w.out {
		panic("kernel: a slice of MatMul is too short")
	}
	m := matmuls.Get().(*matmul)
	call.own = m.own
	*m = call
	if m.w.RoundsInputs() {
		m.roundInputs(p)
	}
	p.Run(m.cut(p.Threads()), m)
	*m = matmul{own: m.own} // drop references to the caller's memory
	matmuls.Put(m)
}

// roundInputs rounds the inputs unless they are rounded already.
func (m *matmul) roundInputs(p *parallel.Pool) {
	if m.rounded == nil {
		m.rounded, m.own.full = &m.own, false
	}
	if !m.rounded.full {
		m.rounded.round(p, roundJob{x: m.x, rows: m.rows, stride: m.xStride, w: m.w})
	}
}

// A matmul is one call of MatMul or MatMulKV: a [parallel.Task].
//
// Its parts are units, one panel by unitRows rows, in the order [rows][panel].
type matmul struct {
	dst, x   []float32
	rows     int
	xStride  int
	w        *Matrix
	bias     []float32
	e        Epilogue
	places   []Slot // of MatMulKV
	stride   int    // of dst
	unitRows int
	depth    int // of many rows: how many k of a panel are processed at a time

	rounded *RoundedRows // x in int8
	own     RoundedRows  // for rounded to point to
}

var matmuls = sync.Pool{New: func() any { return new(matmul) }}

const (
	// maxRows is the maximum number of rows in a unit, a multiple of six. With more rows,
	// weights are loaded and widened less often. It is the size of a partScratch.
	maxRows = 192

	// maxDepth is the most k of a panel that are processed at a time for many rows, and
	// maxInt8Depth the same for int8: 64 and 96 KiB of weights.
	maxDepth     = 256
	maxInt8Depth = 1536
)

// cut cuts the work into units and returns their number.
func (m *matmul) cut(threads int) int {
	units := func() int { return m.w.panels() * ((m.rows + m.unitRows - 1) / m.unitRows) }
	m.setBlockSize()
	for ; m.unitRows > 2*manyRows && threads > 1 && units() < 4*threads; m.unitRows /= 2 {
	}
	return units()
}

// setBlockSize sets the rows and the depth of a unit.
func (m *matmul) setBlockSize() {
	b := blockSize{maxRows, maxDepth}
	switch inRowGroups := m.w.format == precision.Int8 && use.int8s.rowGroup > 0; {
	case inRowGroups:
		b = blockSize{m.int8Rows(), maxInt8Depth}
	case m.rows >= manyRows && m.w.grouped == nil:
		b = m.w.blockSizeFor(m.rows, caches)
	}
	m.unitRows, m.depth = b.rows, b.depth
}

// int8Rows returns the rows of a unit if sums are finished group by group: whole groups, as many rounded rows as half of
// the second-level cache keeps, and at least maxRows.
func (m *matmul) int8Rows() int {
	return max(maxRows, caches.Second/2/max(1, m.w.depth())&^(use.int8s.rowGroup-1))
}

// Part does unit i.
func (m *matmul) Part(i int) {
	s := partScratches.Get().(*partScratch)
	first := i / m.w.panels() * m.unitRows
	m.unit(s, i%m.w.panels(), first, min(m.unitRows, m.rows-first))
	partScratches.Put(s)
}

// A partScratch is the working memory of one part.
type partScratch struct {
	acc     [maxRows * panel]float32
	wide    [maxDepth * panel]float32
	accInt8 [maxRows * panel]int32
	tile    [panelKeys * panel]float32 // finished keys or values
	row     []float32                  // normalised

	groups      [fewBitsBlock * groupBytes]byte // expanded
	groupScales [fewBitsBlock * panel]float32
}

var partScratches = sync.Pool{New: func() any { return new(partScratch) }}

// unit computes rows first … first+rows-1 of panel p.
func (m *matmul) unit(s *partScratch, p, first, rows int) {
	m.prefetch(p, first, rows)
	if m.w.format == precision.Int8 {
		step := maxRows
		if use.int8s.rowGroup > 0 && rows >= manyRows {
			step = use.int8s.rowGroup
		}
		for r := 0; r < rows; r += step {
			n := min(step, rows-r)
			m.sumInt8(s.accInt8[:n*panel], p, first+r, n)
			m.finish(s, p, first+r, n)
		}
		return
	}
	clear(s.acc[:rows*panel])
	if m.w.grouped != nil {
		m.sumGroups(s, p, first, rows)
		m.finish(s, p, first, rows)
		return
	}
	x, size := m.x[first*m.xStride:], m.w.in*panel
	switch m.w.format {
	case precision.F32:
		m.sum(s, x, rows, view[float32](m.w.data)[p*size:][:size])
	case precision.F16:
		m.sumHalf(s, x, rows, view[uint16](m.w.data)[p*size:][:size])
	}
	m.finish(s, p, first, rows)
}

// target returns where the results of panel p go, rows m.stride apart.
func (m *matmul) target(p, first, rows int) []float32 {
	o := p * panel
	return m.dst[first*m.stride+o : (first+rows-1)*m.stride+min(o+panel, m.w.out)]
}

// finish does the epilogue for the sums of panel p. Keys and values are finished in
// pieces that stay in the first-level cache until they are stored.
func (m *matmul) finish(s *partScratch, p, first, rows int) {
	if m.places == nil {
		dst := m.target(p, first, rows)
		m.finishRows(dst, m.stride, s, 0, p, first, rows)
		if m.e == StoreGELU {
			for r := range rows {
				geluRow(dst[r*m.stride:][:min(panel, m.w.out-p*panel)])
			}
		}
		return
	}
	for r := 0; r < rows; r += panelKeys {
		n := min(panelKeys, rows-r)
		m.finishRows(s.tile[:n*panel], panel, s, r, p, first+r, n)
		m.spread(s.tile[:], p, first+r, n)
	}
}

// prefetch asks for the memory that the epilogue of panel p accesses. A few rows are
// summed as fast as weights arrive from memory, and the epilogue would have to wait.
func (m *matmul) prefetch(p, first, rows int) {
	o := p * panel
	if m.bias != nil {
		prefetchRows(&bytesOf(m.bias[o:])[0], 0, 1)
	}
	if m.w.format == precision.Int8 {
		prefetchRows(&bytesOf(m.w.scale[o:])[0], 0, 1)
		prefetchRows(&bytesOf(m.w.offset[o:])[0], 0, 1)
	}
	if rows < manyRows && m.places == nil {
		prefetchRows(&bytesOf(m.target(p, first, rows))[0], 4*m.stride, rows)
	}
}

// finishRows finishes rows rows of sums from row at on, which are rows from first on
// of panel p, into dst.
func (m *matmul) finishRows(dst []float32, stride int, s *partScratch, at, p, first, rows int) {
	o := p * panel
	bias := negativeZeros[:min(panel, m.w.out-o)]
	if m.bias != nil {
		bias = m.bias[o:][:len(bias)]
	}
	if m.w.format == precision.Int8 {
		m.finishInt8(dst, s.accInt8[at*panel:][:rows*panel], o, first, rows, stride, bias)
		return
	}
	f := use.tiles.store
	if m.e == StoreAdd {
		f = use.tiles.add
	}
	f(dst, s.acc[at*panel:][:rows*panel], bias, stride, rows)
}

var negativeZero = float32(math.Copysign(0, -1))

// negativeZeros are the bias of a product without one: x + -0 is x, whatever x is.
var negativeZeros = slices.Repeat([]float32{negativeZero}, panel)
