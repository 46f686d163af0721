package kernel

// widenRows is from how many rows on half-precision weights are widened once
// into a scratch, instead of by every six rows that use them.
const widenRows = 24

// depth returns how many k to go through at a time, in a panel of n.
func depth(rows, n int) int {
	if rows <= 6 {
		return max(n, 1) // nothing is read twice
	}
	return maxDepth
}

// sum adds the products of rows rows of x with panel w to acc.
func (t *matmul) sum(acc, x []float32, rows int, w []float32) {
	step := depth(rows, t.w.in)
	for k := 0; k < t.w.in; k += step {
		n := min(step, t.w.in-k)
		tiles.fn.f32(acc, x[k:], t.xStride, rows, w[k*panel:][:n*panel], n*panel*4)
	}
}

// sumHalf does as sum for weights of half precision.
func sumHalf(t *matmul, s *scratch, x []float32, rows int, w []uint16, tile tileFunc[uint16], widen func([]float32, []uint16)) {
	step := depth(rows, t.w.in)
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
