package kernel

import "math"

// Constants of exp. With n = round(x·log₂e), eˣ = 2ⁿ·eʳ and |r| ≤ ln2/2. The
// first part of ln 2 has nine bits, so that n times it is exact.
const (
	log2e  = 1.4426950408889634
	ln2Hi  = 355.0 / 512
	ln2Lo  = -2.12194440054690583e-4 // ln 2 - ln2Hi
	expMin = -104                    // e⁻¹⁰⁴ < 2⁻¹⁵⁰, which rounds to 0
	expMax = 89                      // e⁸⁹ > 2¹²⁸

	// roundShift is 1.5·2²³. Adding it to a small float32 rounds that to an
	// integer, ties to even, and leaves the integer in the low mantissa bits.
	roundShift = 3 << 22
)

// expPoly holds c₆ … c₂ of eʳ ≈ 1 + r + c₂r² + … + c₆r⁶ for |r| ≤ ln2/2, a
// minimax fit of the relative error (3.1e-9), rounded to float32.
var expPoly = [5]float32{0x1.6a5232p-10, 0x1.12396cp-7, 0x1.5558aap-5, 0x1.555492p-3, 0x1.fffffcp-2}

// Exp returns eˣ, off by at most one unit in the last place (ulp). Exp(-Inf) and
// all below -104 is +0, Exp(+Inf) is +Inf, Exp(NaN) is NaN.
//
// In float32, every line rounded once:
//
//	x = clamp(x, -104, 89)
//	t = fma(x, log₂e, 1.5·2²³);  n = t - 1.5·2²³
//	r = fma(n, -ln2Hi, x);       r = fma(n, -ln2Lo, r)
//	p = c₆;  p = fma(p, r, c) for c in c₅, c₄, c₃, c₂, 1, 1
//	p · 2ⁿ
func Exp(x float32) float32 { return exp(x, 0) }

// exp returns e^(x+low), where low is too small to matter for n. It is Exp with
// r = r + low after the reduction; for low = 0 that changes nothing.
func exp(x, low float32) float32 {
	if x < expMin {
		x = expMin
	}
	if x > expMax {
		x = expMax
	}
	if x != x {
		return x
	}
	n := fma(x, log2e, roundShift) - roundShift
	r := fma(n, -ln2Hi, x)
	r = fma(n, -ln2Lo, r)
	r += low
	p := expPoly[0]
	for _, c := range expPoly[1:] {
		p = fma(p, r, c)
	}
	p = fma(p, r, 1)
	p = fma(p, r, 1)
	// Exact in float64: one rounding, to a subnormal or infinity where due.
	return float32(float64(p) * math.Float64frombits(uint64(1023+int(n))<<52))
}

// logPoly holds c₇ … c₀ of log(1+f) ≈ f - f²/2 + f³·(c₀ + c₁f + … + c₇f⁷) for
// 1+f in √½ … √2, a minimax fit of the relative error (6e-9), rounded to float32.
var logPoly = [8]float32{-0x1.38c974p-4, 0x1.055eaep-3, -0x1.0d8246p-3, 0x1.22d93p-3,
	-0x1.54728ap-3, 0x1.99a01cp-3, -0x1.000226p-2, 0x1.555554p-2}

// Log returns the natural logarithm of x, off by at most 1 ulp. Log(±0) is -Inf,
// Log(+Inf) is +Inf; of a negative number or NaN it is NaN.
//
// With x = 2ᵉ·(1+f) and 1+f in √½ … √2, exactly, and every line rounded once:
//
//	p = c₇;  p = fma(p, f, c) for c in c₆ … c₀, -½
//	w = f·f;  w = w·p;  w = fma(e, ln2Lo, w);  w = w + f
//	fma(e, ln2Hi, w)
func Log(x float32) float32 {
	switch {
	case x == 0:
		return float32(math.Inf(-1))
	case !(x > 0):
		return float32(math.NaN())
	case x > math.MaxFloat32:
		return x
	}
	e := float32(0)
	if x < 0x1p-126 {
		x *= 0x1p23
		e = -23
	}
	u := math.Float32bits(x) - sqrtHalf
	e += float32(int32(u) >> 23)
	f := math.Float32frombits(u&0x7fffff+sqrtHalf) - 1
	p := logPoly[0]
	for _, c := range logPoly[1:] {
		p = fma(p, f, c)
	}
	p = fma(p, f, -0.5)
	w := float32(float32(f*f) * p)
	w = fma(e, ln2Lo, w)
	w += f
	return fma(e, ln2Hi, w)
}
