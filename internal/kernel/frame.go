package kernel

import "math"

// Kernels of the log-mel front end, which package audio puts together.

// Fold adds and subtracts the mirrored halves of a frame of 4·m samples, separately for
// even and odd places: dst is [4][m], and for i < m
//
//	dst[0][i] = x[2i+2] + x[4m-2-2i]
//	dst[1][i] = x[2i+1] + x[4m-1-2i]
//	dst[2][i] = x[2i+2] - x[4m-2-2i]
//	dst[3][i] = x[2i+1] - x[4m-1-2i]
//
// It panics if dst is shorter than x.
func Fold(dst, x []float32) { vector.fold(dst[:len(x)], x) }

func foldRef(dst, x []float32) { foldRest(dst, x, 0) }

// foldRest is foldRef from i on.
func foldRest(dst, x []float32, i int) {
	m, n := len(x)/4, len(x)
	for ; i < m; i++ {
		p, q := x[2*i+2], x[n-2-2*i]
		dst[i], dst[2*m+i] = p+q, p-q
		p, q = x[2*i+1], x[n-1-2*i]
		dst[m+i], dst[3*m+i] = p+q, p-q
	}
}

// Squares computes the powers of 2·m-1 frequencies from sums of cosines c and sines s
// over even and odd places, m of each: for i < m
//
//	up   = (c0[i]+c1[i])² + (s0[i]+s1[i])²  → dst[i]
//	down = (c0[i]-c1[i])² + (s0[i]-s1[i])²  → dst[2m-2-i]
//
// where each operation rounds. At i = m-1 both have the same place, which keeps down. It
// panics if a slice is too short.
func Squares(dst, c0, c1, s0, s1 []float32) {
	m := len(c0)
	vector.squares(dst[:2*m-1], c0, c1[:m], s0[:m], s1[:m])
}

func squaresRef(dst, c0, c1, s0, s1 []float32) { squaresRest(dst, c0, c1, s0, s1, 0) }

// squaresRest is squaresRef from i on.
func squaresRest(dst, c0, c1, s0, s1 []float32, i int) {
	m := len(c0)
	for ; i < m; i++ {
		re, im := c0[i]+c1[i], s0[i]+s1[i]
		dst[i] = float32(re*re) + float32(im*im)
		re, im = c0[i]-c1[i], s0[i]-s1[i]
		dst[2*m-2-i] = float32(re*re) + float32(im*im)
	}
}

const (
	sqrtHalf    = 0x3f3504f3          // the bits of √½
	log10e      = 0.43429448190325182 // 1/ln 10
	leastNormal = 0x1p-126
)

// Log10 sets dst to the decimal logarithm of x, at least floor, off by at most 2 ulp.
// With x = 2ᵉ·(1+f), as in [Log], and every line rounded once:
//
//	x = max(x, 2⁻¹²⁶)
//	p = c₇;  p = fma(p, f, c) for c in c₆ … c₀, -½
//	w = f·f;  w = w·p;  w = fma(e, ln2Lo, w);  w = w + f;  w = fma(e, ln2Hi, w)
//	max(w·log₁₀e, floor)
//
// x must not hold NaN. It panics if dst is shorter than x.
func Log10(dst, x []float32, floor float32) { vector.log10(dst[:len(x)], x, floor) }

func log10Ref(dst, x []float32, floor float32) {
	for i, v := range x {
		if v < leastNormal {
			v = leastNormal
		}
		u := math.Float32bits(v) - sqrtHalf
		e := float32(int32(u) >> 23)
		f := math.Float32frombits(u&(1<<23-1)+sqrtHalf) - 1
		p := logPoly[0]
		for _, c := range logPoly[1:] {
			p = fma(p, f, c)
		}
		p = fma(p, f, -0.5)
		w := float32(float32(f*f) * p)
		w = fma(e, ln2Lo, w)
		w += f
		w = fma(e, ln2Hi, w)
		if w *= log10e; !(w > floor) {
			w = floor
		}
		dst[i] = w
	}
}
