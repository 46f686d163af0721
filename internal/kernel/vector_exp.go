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

// expPoly holds c₆ … c₀ of eʳ ≈ 1 + r + c₂r² + … + c₆r⁶ for |r| ≤ ln2/2, a
// minimax fit of the relative error (3.1e-9), rounded to float32.
var expPoly = [7]float32{0x1.6a5232p-10, 0x1.12396cp-7, 0x1.5558aap-5, 0x1.555492p-3, 0x1.fffffcp-2, 1, 1}

// polynomial returns a polynomial in x by Horner's rule, each step rounded once. The coefficient
// of the highest power comes first.
func polynomial(x float32, coefficients []float32) float32 {
	p := coefficients[0]
	for _, c := range coefficients[1:] {
		p = fma(p, x, c)
	}
	return p
}

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
	p := polynomial(r+low, expPoly[:])
	// Exact in float64: one rounding, to a subnormal or infinity where due.
	return float32(float64(p) * math.Float64frombits(uint64(1023+int(n))<<52))
}

// logPoly holds c₇ … c₀, and -½, of log(1+f) ≈ f - f²/2 + f³·(c₀ + c₁f + … + c₇f⁷) for
// 1+f in √½ … √2, a minimax fit of the relative error (6e-9), rounded to float32.
var logPoly = [9]float32{-0x1.38c974p-4, 0x1.055eaep-3, -0x1.0d8246p-3, 0x1.22d93p-3,
	-0x1.54728ap-3, 0x1.99a01cp-3, -0x1.000226p-2, 0x1.555554p-2, -0.5}

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
	if x < leastNormal {
		return logNormal(x*0x1p23, -23)
	}
	return logNormal(x, 0)
}

// logNormal returns the logarithm of x·2ᵉ, x being normal.
func logNormal(x, e float32) float32 {
	u := math.Float32bits(x) - sqrtHalf
	e += float32(int32(u) >> 23)
	f := math.Float32frombits(u&0x7fffff+sqrtHalf) - 1
	w := float32(float32(f*f) * polynomial(f, logPoly[:]))
	w = fma(e, ln2Lo, w)
	w += f
	return fma(e, ln2Hi, w)
}
