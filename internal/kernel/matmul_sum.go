package kernel

// widenRows is from how many rows on half-precision weights are widened once
// into a scratch, instead of by every six rows that use them.
const widenRows = 24

// step returns how many k to go through at a time, in a panel of n.
func step(rows, n int) int {
	if rows <= 6 {
		return max(n, 1) // nothing is read twice
	}
	return maxDepth
}

// sum adds the products of rows rows of x with panel w to s.acc.
func (t *matmul) sum(s *scratch, x []float32, rows int, w []float32) {
	step := step(rows, t.w.in)
	for k := 0; k < t.w.in; k += step {
		n := min(step, t.w.in-k)
		tiles.fn.f32(s.acc[:], x[k:], t.xStride, rows, w[k*panel:][:n*panel], n*panel*4)
	}
}

// sumHalf does as sum for weights of half precision, of which tile makes sums and
// which widen converts.
func (t *matmul) sumHalf(s *scratch, x []float32, rows int, w []uint16, tile tileFunc[uint16], widen func([]float32, []uint16)) {
	step := step(rows, t.w.in)
	for k := 0; k < t.w.in; k += step {
		n := min(step, t.w.in-k)
		if block := w[k*panel:][:n*panel]; rows < widenRows {
			tile(s.acc[:], x[k:], t.xStride, rows, block, n*panel*2)
		} else {
			widen(s.wide[:], block)
			tiles.fn.f32(s.acc[:], x[k:], t.xStride, rows, s.wide[:n*panel], 0)
		}
	}
}
