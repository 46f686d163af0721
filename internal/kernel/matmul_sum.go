package kernel

import "unsafe"

// manyRows is the number of rows from which on a panel is used so often that the cost of
// loading its weights from memory does not matter.
const manyRows = 24

// wideRows is the number of rows from which on half-precision weights are widened once,
// into a scratch buffer, instead of by each group of rows. Widening earlier costs up to a
// sixth at 24 rows; widening later, up to a twentieth at 63.
const wideRows = 48

// fewRows is how many rows share one pass over a panel.
const fewRows = 6

// blocks returns how many of n steps along k to process at a time, if each has size bytes
// of weights, and how many bytes ahead the kernel should prefetch.
//
// Few rows use each weight once, so all steps are one block. Some rows read a block twice
// or more, while the next one arrives in the second-level cache. With many rows blocks
// may be larger: sums are stored and loaded again less often. some is the size of a block
// in bytes for some rows, many its number of steps for many.
func blocks(rows, n, size, some, many int) (step, ahead int) {
	switch {
	case rows <= fewRows || n == 0:
		return max(n, 1), 0
	case rows < manyRows:
		return some / size, some
	}
	step = evenly(n, many)
	return step, step * size
}

// The size of a block for some rows: a small part of a second-level cache, or of a
// first-level one where products are too fast for the second level.
const (
	blockBytes     = 64 << 10
	blockBytesInt8 = 8 << 10
)

// sum adds the products of rows rows of x with panel w to s.acc.
func (m *matmul) sum(s *partScratch, x []float32, rows int, w []float32) {
	step, ahead := blocks(rows, m.w.in, 4*panel, blockBytes, m.depth)
	for k := 0; k < m.w.in; k += step {
		n := min(step, m.w.in-k)
		use.tiles.f32(s.acc[:], x[k:], m.xStride, rows, w[k*panel:][:n*panel], hint{ahead: ahead})
	}
}

// sumHalf is sum for half-precision weights.
func (m *matmul) sumHalf(s *partScratch, x []float32, rows int, w []uint16) {
	step, ahead := blocks(rows, m.w.in, 2*panel, blockBytes, m.depth)
	for k := 0; k < m.w.in; k += step {
		n := min(step, m.w.in-k)
		if block := w[k*panel:][:n*panel]; rows < wideRows {
			use.tiles.f16(s.acc[:], x[k:], m.xStride, rows, block, hint{ahead: ahead})
		} else {
			use.tiles.widen(s.wide[:], block)
			next := hint{ahead: distance(s.wide[:], block) + 2*len(block), width: 2 * panel}
			use.tiles.f32(s.acc[:], x[k:], m.xStride, rows, s.wide[:n*panel], next)
		}
	}
}

// distance returns the number of bytes from a to b, for a prefetch.
func distance[A, B any](a []A, b []B) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(a))))
}
