package kernel

// Kernels of the log-mel front end, which package audio puts together.

// Lanes is how many frames the kernels process side by side, one per column of a row: a panel
// of a product, so that its tiles serve here too.
const Lanes = panel

// Transpose puts columns of x into rows of Lanes: for r < rows ≤ Lanes and c < cols,
//
//	dst[c·Lanes+r] = x[r·stride+c]
//
// It panics if a slice is too short.
func Transpose(dst, x []float32, stride, rows, cols int) {
	use.packing.words(bytesOf(dst), bytesOf(x), 4*stride, rows, cols)
}

// Chains sums columns of x, each by every row of w: with n = len(x)/Lanes, for r < rows
// and c < Lanes,
//
//	acc = 0
//	for k := range n { acc = fma(w[r·n+k], x[k·Lanes+c], acc) }
//	dst[r·Lanes+c] = acc
//
// It panics if a slice is too short.
func Chains(dst, w []float32, rows int, x []float32) {
	dst = dst[:rows*Lanes]
	clear(dst)
	use.tiles.f32(dst, w, len(x)/Lanes, rows, x, hint{})
}

// Fold adds and subtracts mirrored rows of Lanes, and keeps those with even and odd numbers
// apart. With 2·n rows in x, for i < n
//
//	sum0[i] = x[2i] + y[2n-1-2i];    difference0[i] = x[2i] - y[2n-1-2i]
//	sum1[i] = x[2i+1] + y[2n-2-2i];  difference1[i] = x[2i+1] - y[2n-2-2i]
//
// It panics if a slice is too short.
func Fold(sum0, difference0, sum1, difference1, x, y []float32) {
	for at := 0; at < len(x); at += Lanes {
		a, b := x[at:][:Lanes], y[len(x)-Lanes-at:][:Lanes]
		to := at / (2 * Lanes) * Lanes
		sum, difference := sum0[to:][:Lanes], difference0[to:][:Lanes]
		if at/Lanes%2 == 1 {
			sum, difference = sum1[to:][:Lanes], difference1[to:][:Lanes]
		}
		for c, v := range a {
			sum[c], difference[c] = v+b[c], v-b[c]
		}
	}
}

// Squares computes the powers of 2·m-1 frequencies from sums of cosines c and sines s over
// even and odd places, m rows of Lanes each: for i < m
//
//	up   = (c0[i]+c1[i])² + (s0[i]+s1[i])²  → dst[i]
//	down = (c0[i]-c1[i])² + (s0[i]-s1[i])²  → dst[2m-2-i]
//
// where each operation rounds. At i = m-1 both have the same place, which keeps down. It
// panics if there are no rows, or a slice is too short.
func Squares(dst, c0, c1, s0, s1 []float32) {
	for at := 0; at < len(c0); at += Lanes {
		up, down := dst[at:][:Lanes], dst[2*len(c0)-2*Lanes-at:][:Lanes]
		c0, c1, s0, s1 := c0[at:][:Lanes], c1[at:][:Lanes], s0[at:][:Lanes], s1[at:][:Lanes]
		for i := range Lanes {
			re, im := c0[i]+c1[i], s0[i]+s1[i]
			up[i] = float32(re*re) + float32(im*im)
			re, im = c0[i]-c1[i], s0[i]-s1[i]
			down[i] = float32(re*re) + float32(im*im)
		}
	}
}

// MaxInto sets each element of dst to that of x if that is larger. It panics if dst is
// shorter than x.
func MaxInto(dst, x []float32) { use.vector.maxInto(dst[:len(x)], x) }

func maxIntoRef(dst, x []float32) {
	for i, v := range x {
		if v > dst[i] {
			dst[i] = v
		}
	}
}

// ScaleLogMel sets dst to (max(x, least) + 4) / 4, the values of a log-mel spectrogram; dst may be
// x. It panics if dst is shorter than x.
func ScaleLogMel(dst, x []float32, least float32) {
	dst = dst[:len(x)]
	for i, v := range x {
		if v < least {
			v = least
		}
		dst[i] = (v + 4) / 4
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
func Log10(dst, x []float32, floor float32) { use.vector.log10(dst[:len(x)], x, floor) }

func log10Ref(dst, x []float32, floor float32) {
	for i, v := range x {
		if v < leastNormal {
			v = leastNormal
		}
		if dst[i] = logNormal(v, 0) * log10e; !(dst[i] > floor) {
			dst[i] = floor
		}
	}
}
