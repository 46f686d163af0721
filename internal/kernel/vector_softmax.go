package kernel

import "math"

var negInf = float32(math.Inf(-1))

// Softmax replaces x by e^x / Σe^x:
//
//	m = max x;  x = Exp(x-m);  s = Σ x (sixteen partials);  x = x / s
//
// -Inf becomes +0. The result is all NaN if x has a NaN or +Inf, or nothing but
// -Inf.
func Softmax(x []float32) {
	if len(x) > 0 {
		use.vector.div(x, x, use.vector.expSum(x, x, use.vector.max(x)))
	}
}

// LogSumExp returns log Σe^x without overflow, m + Log(Σ Exp(x-m)) with m = max
// x and sixteen partial sums. Entries of -Inf contribute nothing. It is -Inf if
// there is nothing else, or nothing at all; NaN if x has one, otherwise +Inf if
// x has that.
func LogSumExp(x []float32) float32 {
	m := use.vector.max(x)
	if m != m || math.IsInf(float64(m), 0) {
		return m
	}
	exps := numbers.Get().(*[]float32)
	defer numbers.Put(exps)
	*exps = Resize(*exps, len(x))
	return m + Log(use.vector.expSum(*exps, x, m))
}

// Max returns the largest element of x and its index, the lowest if it occurs
// more than once (-0 and +0 are equal). If there is a NaN, it returns NaN and the
// index of the first. Of nothing, the maximum is -Inf and the index -1.
func Max(x []float32) (value float32, index int) {
	const block = 1024 // what is searched is in the nearest cache
	value, index = negInf, -1
	for i := 0; i < len(x); i += block {
		part := x[i:min(i+block, len(x))]
		m := use.vector.max(part)
		if m != m {
			return m, i + find(part, m)
		}
		if m > value || index < 0 {
			value, index = m, i
		}
	}
	if index >= 0 {
		index += find(x[index:], value)
		value = x[index]
	}
	return value, index
}

// ExpSum sets dst to Exp(x-m) and returns the sum, in sixteen partials. dst may be x. No x may be above m. It
// panics if dst is shorter than x.
func ExpSum(dst, x []float32, m float32) float32 { return use.vector.expSum(dst[:len(x)], x, m) }

// maxRef returns the maximum of x, NaN if x has one and -Inf if it is empty. Of
// zeros of both signs it returns any.
func maxRef(x []float32) float32 {
	m := negInf
	for _, v := range x {
		if v != v {
			return v
		}
		if v > m {
			m = v
		}
	}
	return m
}

// find returns the lowest i where x[i] is v or NaN. There is one.
func find(x []float32, v float32) (i int) {
	for ; x[i] != v && x[i] == x[i]; i++ {
	}
	return i
}

// expSumRef sets dst to Exp(x-m) and returns the sum, in sixteen partials. dst
// may be x. No x is above m.
func expSumRef(dst, x []float32, m float32) float32 {
	var p partials
	for i, v := range x {
		e := Exp(v - m)
		dst[i] = e
		p[i%16] += e
	}
	return p.sum()
}
