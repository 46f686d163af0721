package transcribe

import (
	"math"
	"slices"

	"verity/audio"
	"verity/decoder"
	"verity/tokenizer"
)

// A wordTime is a word with its times, in seconds from the start of the window.
type wordTime struct {
	word        string
	tokens      []tokenizer.Token
	start, end  float64
	probability float64 // mean of its tokens
}

// alignmentHeads returns the heads whose attention follows the speech: those that the
// checkpoint names, or all heads of the upper half of the layers, as upstream does.
//
// Source: openai/whisper@c0d2f62 whisper/model.py, Whisper.__init__.
func (m *Model) alignmentHeads() (heads []decoder.Head) {
	if named := m.Generation.AlignmentHeads; len(named) > 0 {
		for _, h := range named {
			heads = append(heads, decoder.Head{Layer: h[0], Head: h[1]})
		}
		return heads
	}
	layers := m.Dims.TextLayers
	for layer := layers / 2; layer < layers; layer++ {
		for head := range m.Dims.TextHeads {
			heads = append(heads, decoder.Head{Layer: layer, Head: head})
		}
	}
	return heads
}

// A matrix is row-major.
type matrix struct {
	rows, cols int
	data       []float32
}

func (m matrix) row(i int) []float32 { return m.data[i*m.cols : (i+1)*m.cols] }

// medianWidth is the width of the filter over attention weights, in positions.
const medianWidth = 7

// timesOf returns the times of words from the attention of text tokens.
//
//	a       of start sequence, <|notimestamps|>, text, <|endoftext|>
//	start   length of the start sequence
//	words   of the text and <|endoftext|>, with their tokens
//
// Source: openai/whisper@c0d2f62 whisper/timing.py, find_alignment.
func timesOf(a *decoder.Alignment, positions, start int, words []string, groups [][]tokenizer.Token) []wordTime {
	if len(groups) <= 1 {
		return nil // end-of-text alone
	}
	weights := make([]matrix, len(a.Weights))
	for i, w := range a.Weights {
		m := matrix{len(w) / positions, positions, slices.Clone(w)}
		standardize(m)
		weights[i] = medianFilter(m, medianWidth)
	}
	mean := meanOf(weights)
	cost := matrix{mean.rows - start - 1, mean.cols, mean.data[start*mean.cols : (mean.rows-1)*mean.cols]}
	for i := range cost.data {
		cost.data[i] = -cost.data[i]
	}
	begins := warp(cost)
	times := make([]wordTime, len(groups)-1)
	at := 0
	for i, g := range groups[:len(groups)-1] {
		end := at + len(g)
		times[i] = wordTime{
			word: words[i], tokens: slices.Clone(g),
			start: secondsAt(begins[at]), end: secondsAt(begins[end]),
			probability: meanProb(a.Probs[at:end]),
		}
		at = end
	}
	return times
}

// secondsAt returns the time of an audio position of 20 ms.
func secondsAt(position int) float64 {
	return float64(position) / (audio.FramesPerSecond / framesPerStep)
}

func meanProb(probs []float32) float64 {
	sum := 0.0
	for _, p := range probs {
		sum += float64(p)
	}
	return sum / float64(len(probs))
}

// standardize makes every column of m one of mean 0 and variance 1.
func standardize(m matrix) {
	for c := range m.cols {
		sum, square := 0.0, 0.0
		for r := range m.rows {
			sum += float64(m.data[r*m.cols+c])
		}
		mean := sum / float64(m.rows)
		for r := range m.rows {
			d := float64(m.data[r*m.cols+c]) - mean
			square += d * d
		}
		deviation := float32(math.Sqrt(square / float64(m.rows)))
		for r := range m.rows {
			v := &m.data[r*m.cols+c]
			*v = (*v - float32(mean)) / deviation
		}
	}
}

// medianFilter filters every row of m, which is reflected at its ends. A row too short
// to be reflected stays as it is.
//
// Source: openai/whisper@c0d2f62 whisper/timing.py, median_filter.
func medianFilter(m matrix, width int) matrix {
	half := width / 2
	if m.cols <= half {
		return m
	}
	out := matrix{m.rows, m.cols, make([]float32, len(m.data))}
	window := make([]float32, width)
	for r := range m.rows {
		from, to := m.row(r), out.row(r)
		for c := range to {
			for k := range window {
				window[k] = from[mirrored(c+k-half, m.cols)]
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
func nanLast(a, b float32) int {
	switch {
	case a < b || b != b && a == a:
		return -1
	case b < a || a != a && b == b:
		return 1
	}
	return 0
}

// meanOf returns the mean of matrices of one shape.
func meanOf(all []matrix) matrix {
	m := matrix{all[0].rows, all[0].cols, make([]float32, len(all[0].data))}
	for i := range m.data {
		sum := float32(0)
		for _, x := range all {
			sum += x.data[i]
		}
		m.data[i] = sum / float32(len(all))
	}
	return m
}

// warp finds the cheapest path from the first to the last element of cost and returns its first
// column in each row. Each step goes down, right, or both: dynamic time warping.
//
// Source: openai/whisper@c0d2f62 whisper/timing.py, dtw_cpu and backtrace.
func warp(cost matrix) (first []int) {
	const both, down, right = 0, 1, 2
	n, m := cost.rows, cost.cols
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
			sums[i+1] = float32(float64(cost.data[i*m+j]) + float64(c))
			trace[i*m+j] = t
		}
		before, sums = sums, before
	}
	first = make([]int, n)
	for i, j := n, m; i > 0 || j > 0; { // backwards
		t := uint8(right)
		if i > 0 {
			first[i-1] = j - 1
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
	return first
}
