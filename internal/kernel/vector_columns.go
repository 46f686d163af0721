package kernel

import "math"

// medianWidth is the width of [Median], in elements.
const medianWidth = 7

// Standardize makes every column of x, [rows][cols], one of mean 0 and variance 1:
//
//	m = (Σ x) / rows;  d = √((Σ (x-m)²) / rows)     in float64, each line rounded once, from the first row on
//	x = (x - float32(m)) / float32(d)
//
// A column whose elements are all the same becomes NaN.
func Standardize(x []float32, cols int) {
	if len(x) > 0 {
		use.vector.standardize(x, len(x)/cols, cols)
	}
}

func standardizeRef(x []float32, rows, cols int) {
	mean, deviation := make([]float64, cols), make([]float64, cols)
	for r := range rows {
		for c, v := range x[r*cols:][:cols] {
			mean[c] += float64(v)
		}
	}
	for c := range mean {
		mean[c] /= float64(rows)
	}
	for r := range rows {
		for c, v := range x[r*cols:][:cols] {
			d := float64(v) - mean[c]
			deviation[c] += float64(d * d)
		}
	}
	for c, square := range deviation {
		deviation[c] = math.Sqrt(square / float64(rows))
	}
	for r := range rows {
		for c, v := range x[r*cols:][:cols] {
			x[r*cols+c] = (v - float32(mean[c])) / float32(deviation[c])
		}
	}
}

// Median sets dst[i] to the median of x[i … i+6]. NaN counts as the largest number. It panics unless x has seven elements
// more than dst, of which the last is for the pairs of medianRef alone.
func Median(dst, x []float32) { use.vector.median(dst, x[:len(dst)+medianWidth]) }

// Two neighbours share six of their seven elements. With a, b and c the three of these in order that come first, and d, e and
// f the others, the median lies between the third and the fourth of the six,
//
//	third   min(c, f, max(a, e), max(b, d))
//	fourth  max(a, d, min(c, e), min(b, f))
//
// so it is the seventh element, or the nearer of these two.
func medianRef(dst, x []float32) {
	for at := 0; at < len(dst); at += 2 {
		var w [medianWidth + 1]int32
		for i, v := range x[at:][:len(w)] {
			w[i] = orderOf(v)
		}
		a, b, c := sorted(w[1], w[2], w[3])
		d, e, f := sorted(w[4], w[5], w[6])
		third := min(c, f, max(a, e), max(b, d))
		fourth := max(a, d, min(c, e), min(b, f))
		dst[at] = numberOf(max(third, min(fourth, w[0])))
		if at+1 < len(dst) {
			dst[at+1] = numberOf(max(third, min(fourth, w[7])))
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
