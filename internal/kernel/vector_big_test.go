package kernel

import (
	"math"
	"math/big"
	"testing"
)

// The tests of this file hold the elementary functions against math/big, in which
// a series gives as many digits as wanted, and package math, which the dense tests
// of vector_exact_test.go trust, against the same.

// bigPrec is the precision of big numbers in bits. The tail of the normal
// distribution at 14.5, 2⁻¹⁵⁷, comes out of 1-Φ with more than 200 of them left.
const bigPrec = 384

func newBig(x float64) *big.Float { return new(big.Float).SetPrec(bigPrec).SetFloat64(x) }

func bigAdd(a, b *big.Float) *big.Float { return newBig(0).Add(a, b) }
func bigMul(a, b *big.Float) *big.Float { return newBig(0).Mul(a, b) }
func bigQuo(a, b *big.Float) *big.Float { return newBig(0).Quo(a, b) }

// bigSeries returns first + the terms that next makes of the one before, n = 1, 2, …,
// until they do not count.
func bigSeries(first *big.Float, next func(term *big.Float, n float64) *big.Float) *big.Float {
	sum, term := newBig(0).Set(first), first
	for n := 1.0; ; n++ {
		term = next(term, n)
		if term.Sign() == 0 || term.MantExp(nil) < sum.MantExp(nil)-bigPrec {
			return sum
		}
		sum.Add(sum, term)
	}
}

// bigExp returns eˣ: the series of e^(x/2ᵏ), squared k times.
func bigExp(x *big.Float) *big.Float {
	if x.Sign() == 0 {
		return newBig(1)
	}
	k := max(0, x.MantExp(nil)+8)
	r := newBig(0).SetMantExp(x, -k)
	y := bigSeries(newBig(1), func(t *big.Float, n float64) *big.Float { return bigQuo(bigMul(t, r), newBig(n)) })
	for range k {
		y = bigMul(y, y)
	}
	return y
}

// bigAtanh returns Σ s^(2n+1)/(2n+1), and with alternate signs if sign is -1: atan.
func bigAtanh(s *big.Float, sign float64) *big.Float {
	if s.Sign() == 0 {
		return newBig(0)
	}
	power, square := newBig(0).Set(s), bigMul(bigMul(s, s), newBig(sign))
	return bigSeries(newBig(0).Set(s), func(_ *big.Float, n float64) *big.Float {
		power = bigMul(power, square)
		return bigQuo(power, newBig(2*n+1))
	})
}

var (
	bigLn2 = bigMul(newBig(2), bigAtanh(bigQuo(newBig(1), newBig(3)), 1)) // 2·atanh(⅓)

	// Machin: π = 16·atan(1/5) - 4·atan(1/239).
	bigPi = bigAdd(bigMul(newBig(16), bigAtanh(bigQuo(newBig(1), newBig(5)), -1)),
		bigMul(newBig(-4), bigAtanh(bigQuo(newBig(1), newBig(239)), -1)))
)

// bigLog returns the natural logarithm of x = m·2ᵉ, ½ ≤ m < 1: e·ln 2 + 2·atanh of
// (m-1)/(m+1).
func bigLog(x *big.Float) *big.Float {
	m := newBig(0)
	e := x.MantExp(m)
	s := bigQuo(bigAdd(m, newBig(-1)), bigAdd(m, newBig(1)))
	return bigAdd(bigMul(newBig(float64(e)), bigLn2), bigMul(newBig(2), bigAtanh(s, 1)))
}

// bigGELU returns x·Φ(x), with Φ(x) = ½ + e^(-x²/2)/√(2π) · Σ x^(2n+1)/(1·3·5 … 2n+1).
func bigGELU(x *big.Float) *big.Float {
	if x.Sign() == 0 {
		return newBig(0)
	}
	square := bigMul(x, x)
	sum := bigSeries(newBig(0).Set(x), func(t *big.Float, n float64) *big.Float {
		return bigQuo(bigMul(t, square), newBig(2*n+1))
	})
	density := bigQuo(bigExp(bigMul(square, newBig(-0.5))), newBig(0).Sqrt(bigMul(newBig(2), bigPi)))
	return bigMul(x, bigAdd(newBig(0.5), bigMul(density, sum)))
}

// bigULPs returns |got-want| in units of the last place of want as a float32.
func bigULPs(got float64, want *big.Float) float64 {
	if want.Sign() == 0 {
		return math.Abs(got) / 0x1p-149
	}
	unit := max(want.MantExp(nil)-24, -149)
	diff, _ := newBig(0).SetMantExp(bigAdd(newBig(got), newBig(0).Neg(want)), -unit).Float64()
	return math.Abs(diff)
}

// An elementary function, how package math computes it, and for which x, with which
// bounds in ulp.
type elementary struct {
	name    string
	f       func(float32) float32
	float64 func(float64) float64 // to within 2⁻²⁰ ulp of a float32
	exact   func(*big.Float) *big.Float
	bound   func(x float32, want float64) float64 // negative where it is another test's business
	n       int
}

// geluBound is what the doc of geluRow says.
func geluBound(x float32, want float64) float64 {
	switch {
	case x < -5:
		return 32
	case x < -1:
		return 10
	}
	return 3
}

func geluFloat64(x float64) float64 { return 0.5 * x * math.Erfc(-x/math.Sqrt2) }

// TestElementaryBig checks the bounds that the docs state.
func TestElementaryBig(t *testing.T) {
	for _, e := range []elementary{
		{"Exp", Exp, math.Exp, bigExp, func(x float32, want float64) float64 {
			if x < -104 || want > math.MaxFloat32*(1+0x1p-25) {
				return -1
			}
			return 1
		}, 6000},
		{"Log", Log, math.Log, bigLog, func(x float32, _ float64) float64 {
			if !(x > 0) {
				return -1
			}
			return 1
		}, 6000},
		{"gelu", gelu, geluFloat64, bigGELU, func(x float32, want float64) float64 {
			if x <= -geluMax || x > 14.5 { // TestGELUExact
				return -1
			}
			return geluBound(x, want)
		}, 3000},
	} {
		t.Run(e.name, func(t *testing.T) {
			everyFloat(e.n, func(x float32) { e.check(t, x) })
			for _, span := range [][2]float32{{-104, 89}, {-14.5, 14.5}, {-2, 2}, {0.7, 1.5}} { // where the work is
				for x := span[0]; x < span[1]; x += (span[1] - span[0]) / float32(e.n/4) {
					e.check(t, x)
				}
			}
		})
	}
}

func (e *elementary) check(t *testing.T, x float32) {
	bound := e.bound(x, e.float64(float64(x)))
	if bound < 0 {
		return
	}
	want := e.exact(newBig(float64(x)))
	if off := bigULPs(float64(e.f(x)), want); !(off <= bound) {
		t.Fatalf("%s(%v) = %v, want %.10g, off by %.3f ulp, bound %v", e.name, x, e.f(x), want, off, bound)
	}
	if off := bigULPs(e.float64(float64(x)), want); !(off <= 0x1p-20) {
		t.Fatalf("package math: %s(%v) is off by %g ulp of a float32", e.name, x, off)
	}
}

// TestBig checks the series themselves, by constants and identities.
func TestBig(t *testing.T) {
	near := func(name string, got, want *big.Float) {
		t.Helper()
		diff := bigAdd(got, newBig(0).Neg(want))
		if diff.Sign() != 0 && diff.MantExp(nil) > want.MantExp(nil)-300 {
			t.Errorf("%s = %.60g, want %.60g", name, got, want)
		}
	}
	parse := func(s string) *big.Float {
		f, _, err := big.ParseFloat(s, 10, bigPrec, big.ToNearestEven)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	near("π", bigPi, parse("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651"))
	near("e", bigExp(newBig(1)), parse("2.71828182845904523536028747135266249775724709369995957496696762772407663035354759457138217852516642742746639193"))
	near("ln 10", bigLog(newBig(10)), parse("2.30258509299404568401799145468436420760110148862877297603332790096757260967735248023599720508959829834196778404"))
	for _, x := range []float64{-103.25, -7.5, -1e-6, 0.03, 5, 88} {
		near("log exp", bigLog(bigExp(newBig(x))), newBig(x))
		near("eˣ·e⁻ˣ", bigMul(bigExp(newBig(x)), bigExp(newBig(-x))), newBig(1))
	}
	for _, x := range []float64{1e-6, 0.5, 3, 14} { // Φ(x) + Φ(-x) = 1
		near("x·Φ(x) + x·Φ(-x)", bigAdd(bigGELU(newBig(x)), newBig(0).Neg(bigGELU(newBig(-x)))), newBig(x))
	}
}
