// Package timing is the arithmetic of word times: from the cross-attention of tokens to their path through
// the sound.
package timing

import (
	"math"
	"slices"

	"verity/internal/kernel"
	"verity/parallel"
)

// A Matrix is row-major.
type Matrix struct {
	Rows, Cols int
	Data       []float32
}

func (m Matrix) row(i int) []float32 { return m.Data[i*m.Cols : (i+1)*m.Cols] }

// Cost returns the cost matrix of a path, from the attention of each head over positions: the rows from start on, but the
// last. It overwrites heads.
//
// Source: openai/whisper@c0d2f62 whisper/timing.py, find_alignment.
func Cost(p *parallel.Pool, heads [][]float32, positions, start int) Matrix {
	sum := Matrix{Rows: len(heads[0])/positions - start - 1, Cols: positions}
	sum.Data = make([]float32, sum.Rows*sum.Cols)
	p.For(len(heads), 1, func(lo, hi int) {
		for _, w := range heads[lo:hi] {
			kernel.Standardize(w, positions)
		}
	})
	p.For(sum.Rows, 16, func(lo, hi int) {
		smooth, window := make([]float32, positions), make([]float32, positions+medianWidth)
		for _, w := range heads {
			for r := lo; r < hi; r++ {
				Median(smooth, w[(start+r)*positions:][:positions], window)
				kernel.Add(sum.row(r), smooth)
			}
		}
		for i, v := range sum.Data[lo*positions : hi*positions] {
			sum.Data[lo*positions+i] = -(v / float32(len(heads)))
		}
	})
	return sum
}

const medianWidth = 7

// Median sets dst to the medians of the seven elements around each of row, which is reflected at its ends; one too short to
// be reflected stays as it is. NaN counts as the largest number, as for torch.sort. window has room for seven elements more.
//
// Source: openai/whisper@c0d2f62 whisper/timing.py, median_filter.
func Median(dst, row, window []float32) {
	const half = medianWidth / 2
	cols := len(row)
	if cols <= half {
		copy(dst, row)
		return
	}
	copy(window[half:], row)
	for i := range half {
		window[i], window[half+cols+i] = row[half-i], row[cols-2-i]
	}
	kernel.Median(dst, window)
}

// Begins returns the first column of each row on the cheapest path through cost.
func Begins(cost Matrix) []int {
	begins := make([]int, cost.Rows)
	for _, step := range slices.Backward(Path(cost)) {
		begins[step.Row] = step.Col
	}
	return begins
}

// A Step is one element of a path through a matrix.
type Step struct{ Row, Col int }

// Path finds the cheapest path from the first to the last element of cost. Each step goes down,
// right, or both: dynamic time warping.
//
// Source: openai/whisper@c0d2f62 whisper/timing.py, dtw_cpu and backtrace.
func Path(cost Matrix) (path []Step) {
	const both, down, right = 0, 1, 2
	n, m := cost.Rows, cost.Cols
	// Sums of the row above and of this one, each with a column of infinity in front.
	above, sums := make([]float32, m+1), make([]float32, m+1)
	for j := range above {
		above[j] = float32(math.Inf(1))
	}
	above[0] = 0
	trace := make([]uint8, n*m)
	for i := range n {
		row, steps := cost.row(i), trace[i*m:(i+1)*m]
		sums[0] = float32(math.Inf(1))
		for j, v := range row {
			c0, c1, c2 := above[j], above[j+1], sums[j]
			c, t := c2, uint8(right)
			if c0 < c1 && c0 < c2 {
				c, t = c0, both
			} else if c1 < c0 && c1 < c2 {
				c, t = c1, down
			}
			sums[j+1] = v + c // upstream's float64 sum, rounded, has the same bits
			steps[j] = t
		}
		above, sums = sums, above
	}
	for i, j := n, m; i > 0 || j > 0; { // backwards
		path = append(path, Step{i - 1, j - 1})
		t := uint8(right)
		if i > 0 {
			t = down
			if j > 0 {
				t = trace[(i-1)*m+j-1]
			}
		}
		if t != right {
			i--
		}
		if t != down {
			j--
		}
	}
	slices.Reverse(path)
	return path
}
