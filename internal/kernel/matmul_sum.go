package kernel

import "unsafe"

// manyRows is from how many rows on a panel is used so often that bringing its
// weights from memory does not matter.
const manyRows = 24

// wideRows is from how many rows on half-precision weights are widened once, into a
// scratch, instead of by each group of rows. Widening earlier costs up to a sixth at 24
// rows, later up to a twentieth at 63 (docs/log/2026-11-21-drafting.md).
const wideRows = 48

// few is how many rows go through a panel together.
const few = 6

// blocks returns how many k of n to go through at a time, when those weights take
// size bytes for each, and what to tell the kernel: how far ahead the next lie.
//
// Few rows use each weight once, so it is all one block. Some rows go over it
// twice or more, while the next block arrives in the second-level cache. If many
// rows do, blocks may be larger, and sums are stored and taken up again less often.
// some is the size of a block for some rows, in bytes, and many its k for many.
func blocks(rows, n, size, some, many int) (step, ahead int) {
	switch {
	case rows <= few || n == 0:
		return max(n, 1), 0
	case rows < manyRows:
		return some / size, some
	}
	parts := (n + many - 1) / many // of equal length, in steps of four
	step = ((n+parts-1)/parts + 3) &^ 3
	return step, step * size
}

// What some rows go over at a time: little of a second-level cache, or of a
// first-level one if products are so fast that the second is too slow for them.
const (
	blockBytes     = 64 << 10
	blockBytesInt8 = 8 << 10
)

// sum adds the products of rows rows of x with panel w to s.acc.
func (t *matmul) sum(s *scratch, x []float32, rows int, w []float32) {
	step, ahead := blocks(rows, t.w.in, 4*panel, blockBytes, maxDepth)
	for k := 0; k < t.w.in; k += step {
		n := min(step, t.w.in-k)
		tiles.fn.f32(s.acc[:], x[k:], t.xStride, rows, w[k*panel:][:n*panel], hint{ahead: ahead})
	}
}

// sumHalf does as sum for weights of half precision, of which tile makes sums and
// which widen converts.
func (t *matmul) sumHalf(s *scratch, x []float32, rows int, w []uint16, tile tileFunc[uint16], widen func([]float32, []uint16)) {
	step, ahead := blocks(rows, t.w.in, 2*panel, blockBytes, maxDepth)
	for k := 0; k < t.w.in; k += step {
		n := min(step, t.w.in-k)
		if block := w[k*panel:][:n*panel]; rows < wideRows {
			tile(s.acc[:], x[k:], t.xStride, rows, block, hint{ahead: ahead})
		} else {
			widen(s.wide[:], block)
			next := hint{ahead: distance(s.wide[:], block) + 2*len(block), width: 2 * panel}
			tiles.fn.f32(s.acc[:], x[k:], t.xStride, rows, s.wide[:n*panel], next)
		}
	}
}

// distance returns how many bytes behind a b lies, for a prefetch.
func distance[A, B any](a []A, b []B) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(a))))
}
