package kernel

import "math"

// geluPoly holds c₉ … c₀ of the fit below: G(t) ≈ c₀ + c₁v + … + c₉v⁹ with
// v = t/(t+3), minimax for the relative error on 0 … 14.5 (1.5e-8), c₀ = ½
// exactly, rounded to float32.
var geluPoly = [10]float32{0x1.bdbc2p-6, -0x1.7ce0a8p-4, 0x1.56e5d6p-4, 0x1.318a3p-7, 0x1.fcfae2p-5,
	-0x1.4518c2p-3, -0x1.25dc7ep-2, 0x1.0d9b9cp+0, -0x1.32633ap+0, 0.5}

// geluMax is the t from which on the tail of the normal distribution, e^(-t²/2)·G(t),
// counts as 0: soon after, it would be subnormal. A vector with a subnormal number takes
// a processor a hundred cycles, here and where the result is used, and many activations
// of Whisper lie there.
const geluMax = 12.9375

// geluRow replaces every x by x·Φ(x) = x·½(1 + erf(x/√2)), Φ being the distribution function
// of the normal distribution. It is off by at most 3 ulp for x ≥ -1, 10 for x ≥ -5, and
// 32 below that, where results are tiny. For x ≤ -12.9375, where they are closer to 0
// than 2e-37, they are -0. The sign of zero is kept. GELU(+Inf) is +Inf; of -Inf and NaN
// it is NaN, as ½x(1+erf) is in floating point.
//
// The upper tail is Q(t) = 1-Φ(t) = e^(-t²/2)·G(t) with a smooth G. With
// t = |x|, every line rounded once, and exp the function of [Exp] whose second
// argument is added after the range reduction:
//
//	t = |x|;  v = t / (t+3)
//	g = c₉;  g = fma(g, v, c) for c in c₈ … c₀
//	s = t·t;  d = fma(t, t, -s)          (s + d is t² exactly)
//	q = exp(-½·s, -½·d) · g;  q = 0 if t ≥ 12.9375
//	x · (x < 0 ? q : 1-q)
func geluRow(x []float32) { use.vector.gelu(x) }

func geluRef(x []float32) {
	for i, v := range x {
		x[i] = gelu(v)
	}
}

func gelu(x float32) float32 {
	t := math.Float32frombits(math.Float32bits(x) &^ (1 << 31))
	if t >= geluMax {
		if x < 0 {
			return x * 0
		}
		return x
	}
	g := polynomial(t/(t+3), geluPoly[:])
	s := float32(t * t)
	d := fma(t, t, -s)
	q := float32(exp(float32(-0.5*s), float32(-0.5*d)) * g)
	if !(x < 0) {
		q = 1 - q
	}
	return x * q
}
