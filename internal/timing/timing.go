// Package timing is the arithmetic of word times: from the cross-attention of tokens to their path through
// the sound.
package timing

import (
	"cmp"
	"math"
	"slices"
)

// A Matrix is row-major.
type Matrix struct {
	Rows, Cols int
	Data       []float32
}

func (m Matrix) row(i int) []float32 { return m.Data[i*m.Cols : (i+1)*m.Cols] }

// medianWidth is the width of the filter over attention weights, in positions.
const medianWidth = 7

// Cost returns the cost matrix of a path, from the attention of each head over positions: the rows from start on, but the last.
//
// Source: openai/whisper@c0d2f62 whisper/timing.py, find_alignment.
func Cost(heads [][]float32, positions, start int) Matrix {
	weights := make([]Matrix, len(heads))
	for i, w := range heads {
		m := Matrix{Rows: len(w) / positions, Cols: positions, Data: slices.Clone(w)}
		standardize(m)
		weights[i] = Median(m, medianWidth)
	}
	m := mean(weights)
	cost := Matrix{Rows: m.Rows - start - 1, Cols: m.Cols, Data: m.Data[start*m.Cols : (m.Rows-1)*m.Cols]}
	for i := range cost.Data {
		cost.Data[i] = -cost.Data[i]
	}
	return cost
}

// standardize makes every column of m one of mean 0 and variance 1.
func standardize(m Matrix) {
	for c := range m.Cols {
		sum, square := 0.0, 0.0
		for r := range m.Rows {
			sum += float64(m.Data[r*m.Cols+c])
		}
		mean := sum / float64(m.Rows)
		for r := range m.Rows {
			d := float64(m.Data[r*m.Cols+c]) - mean
			square += d * d
		}
		deviation := float32(math.Sqrt(square / float64(m.Rows)))
		for r := range m.Rows {
			v := &m.Data[r*m.Cols+c]
			*v = (*v - float32(mean)) / deviation
		}
	}
}

// Median filters every row of m, which is reflected at its ends. A row too short
// to be reflected stays as it is.
//
// Source: openai/whisper@c0d2f62 whisper/timing.py, median_filter.
func Median(m Matrix, width int) Matrix {
	half := width / 2
	if m.Cols <= half {
		return m
	}
	out := Matrix{m.Rows, m.Cols, make([]float32, len(m.Data))}
	window := make([]float32, width)
	for r := range m.Rows {
		from, to := m.row(r), out.row(r)
		for c := range to {
			for k := range window {
				window[k] = from[mirrored(c+k-half, m.Cols)]
			}
			slices.SortFunc(window, nanLast)
			to[c] = window[half]
		}
	}
	return out
}

// mirrored returns the index i if it is in 0 to n-1. Otherwise it reflects i at the nearer end without
// repeating that end: -1 becomes 1.
func mirrored(i, n int) int {
	if i < 0 {
		i = -i
	}
	if i >= n {
		i = 2*(n-1) - i
	}
	return i
}

// nanLast orders numbers as torch.sort does.
func nanLast(a, b float32) int { return cmp.Compare(-b, -a) }

// mean returns the mean of matrices of one shape.
func mean(all []Matrix) Matrix {
	m := Matrix{all[0].Rows, all[0].Cols, make([]float32, len(all[0].Data))}
	for i := range m.Data {
		sum := float32(0)
		for _, x := range all {
			sum += x.Data[i]
		}
		m.Data[i] = sum / float32(len(all))
	}
	return m
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
	inf := float32(math.Inf(1))
	// Sums of the column before and of this one, each with a row of infinity on top.
	before, sums := make([]float32, n+1), make([]float32, n+1)
	for i := range before {
		before[i] = inf
	}
	before[0] = 0
	trace := make([]uint8, n*m)
	for j := range m {
		sums[0] = inf
		for i := range n {
			c0, c1, c2 := before[i], sums[i], before[i+1]
			c, t := c2, uint8(right)
			if c0 < c1 && c0 < c2 {
				c, t = c0, both
			} else if c1 < c0 && c1 < c2 {
				c, t = c1, down
			}
			sums[i+1] = float32(float64(cost.Data[i*m+j]) + float64(c))
			trace[i*m+j] = t
		}
		before, sums = sums, before
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
