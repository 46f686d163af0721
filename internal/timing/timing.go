// Package timing is the arithmetic of word times: from the cross-attention of tokens to their path through
// the sound.
package timing

import (
	"math"
	"slices"

	"verity/parallel"
)

// A Matrix is row-major.
type Matrix struct {
	Rows, Cols int
	Data       []float32
}

func (m Matrix) row(i int) []float32 { return m.Data[i*m.Cols : (i+1)*m.Cols] }

// medianWidth is the width of the filter over attention weights, in positions.
const medianWidth = 7

// Cost returns the cost matrix of a path, from the attention of each head over positions: the rows from start on, but the
// last. It overwrites heads.
//
// Source: openai/whisper@c0d2f62 whisper/timing.py, find_alignment.
func Cost(p *parallel.Pool, heads [][]float32, positions, start int) Matrix {
	sum := Matrix{Rows: len(heads[0])/positions - start - 1, Cols: positions}
	sum.Data = make([]float32, sum.Rows*sum.Cols)
	p.Run(len(heads), &filter{heads, positions, start, sum.Rows})
	for _, w := range heads {
		for i, v := range w[start*positions:][:len(sum.Data)] {
			sum.Data[i] += v
		}
	}
	for i := range sum.Data {
		sum.Data[i] = -(sum.Data[i] / float32(len(heads)))
	}
	return sum
}

// A filter standardizes each head and smooths the rows that Cost wants: a [parallel.Task].
type filter struct {
	heads                  [][]float32
	positions, start, rows int
}

// Part filters head i.
func (f *filter) Part(i int) {
	w := f.heads[i]
	standardize(Matrix{len(w) / f.positions, f.positions, w})
	Median(Matrix{f.rows, f.positions, w[f.start*f.positions:]})
}

// standardize makes every column of m one of mean 0 and variance 1.
func standardize(m Matrix) {
	mean, deviation := make([]float64, m.Cols), make([]float64, m.Cols)
	for r := range m.Rows {
		for c, v := range m.row(r) {
			mean[c] += float64(v)
		}
	}
	for c := range mean {
		mean[c] /= float64(m.Rows)
	}
	for r := range m.Rows {
		for c, v := range m.row(r) {
			d := float64(v) - mean[c]
			deviation[c] += float64(d * d)
		}
	}
	for c, square := range deviation {
		deviation[c] = math.Sqrt(square / float64(m.Rows))
	}
	for r := range m.Rows {
		row := m.row(r)
		for c := range row {
			row[c] = (row[c] - float32(mean[c])) / float32(deviation[c])
		}
	}
}

// Median replaces every element of a row of m by the median of the seven around it. Rows are reflected at their ends; one
// too short to be reflected stays as it is. NaN counts as the largest number, as for torch.sort.
//
// Two neighbours share six of their seven elements. With a, b and c the three of these in order that come first, and d, e and
// f the others, the median lies between the third and the fourth of the six,
//
//	third   min(c, f, max(a, e), max(b, d))
//	fourth  max(a, d, min(c, e), min(b, f))
//
// so it is the seventh element, or the nearer of these two.
//
// Source: openai/whisper@c0d2f62 whisper/timing.py, median_filter.
func Median(m Matrix) {
	const half = medianWidth / 2
	if m.Cols <= half {
		return
	}
	window := make([]int32, m.Cols+2*half+1) // a row with its reflections; one element more makes the pairs whole
	for r := range m.Rows {
		row := m.row(r)
		for i, v := range row {
			window[half+i] = orderOf(v)
		}
		for i := range half {
			window[i], window[half+m.Cols+i] = window[2*half-i], window[half+m.Cols-2-i]
		}
		for at := 0; at < len(row); at += 2 {
			x := window[at:][:medianWidth+1]
			a, b, c := sorted(x[1], x[2], x[3])
			d, e, f := sorted(x[4], x[5], x[6])
			third := min(c, f, max(a, e), max(b, d))
			fourth := max(a, d, min(c, e), min(b, f))
			row[at] = numberOf(max(third, min(fourth, x[0])))
			if at+1 < len(row) {
				row[at+1] = numberOf(max(third, min(fourth, x[7])))
			}
		}
	}
}

func sorted(a, b, c int32) (least, middle, most int32) {
	a, b = min(a, b), max(a, b)
	return min(a, c), max(a, min(b, c)), max(b, c)
}

// orderOf returns an integer that compares as v does, and is the largest for NaN.
func orderOf(v float32) int32 {
	if v != v {
		return math.MaxInt32
	}
	i := int32(math.Float32bits(v))
	return i ^ int32(uint32(i>>31)>>1)
}

// numberOf is the inverse of orderOf.
func numberOf(i int32) float32 { return math.Float32frombits(uint32(i ^ int32(uint32(i>>31)>>1))) }

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
			sums[j+1] = float32(float64(v) + float64(c))
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
