package kernel

import "math"

// LayerNorm sets dst to x, shifted and scaled to mean 0 and variance 1, times
// gamma plus beta. All have the length of x; dst may be x.
//
// Every line rounded once, sums being the sixteen partials of [partials], n the
// length, division and square root as IEEE 754 rounds them:
//
//	m  = (Σ x) / n
//	v  = (Σ (x-m)²) / n       d = x-m; p = fma(d, d, p)
//	s  = 1 / √(v + eps)
//	dst = fma((x-m)·s, gamma, beta)
//
// A NaN or an infinity in x makes all of dst NaN. It panics if gamma, beta or dst
// is shorter than x.
func LayerNorm(dst, x, gamma, beta []float32, eps float32) {
	if n := len(x); n > 0 {
		use.vector.norm(dst[:n], x, gamma[:n], beta[:n], eps)
	}
}

func normRef(dst, x, gamma, beta []float32, eps float32) {
	n := float32(len(x))
	var sum, squares partials
	for i, v := range x {
		sum[i%16] += v
	}
	mean := sum.sum() / n
	for i, v := range x {
		d := v - mean
		squares[i%16] = fma(d, d, squares[i%16])
	}
	variance := squares.sum() / n
	// The float64 root of a float32, rounded again, is the float32 root.
	scale := 1 / float32(math.Sqrt(float64(variance+eps)))
	for i, v := range x {
		dst[i] = fma(float32((v-mean)*scale), gamma[i], beta[i])
	}
}
