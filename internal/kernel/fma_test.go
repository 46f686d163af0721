package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// fmaExact rounds a·b+c once, from the exact value. All must be finite.
func fmaExact(a, b, c float32) float32 {
	exact := func(x float32) *big.Float { return new(big.Float).SetPrec(700).SetFloat64(float64(x)) }
	v := exact(a)
	v.Mul(v, exact(b))
	v.Add(v, exact(c))
	f, _ := v.Float32()
	if f == 0 && v.Sign() == 0 { // big.Float sums have their own sign of zero
		return float32(float64(a)*float64(b) + float64(c))
	}
	return f
}

func checkFMA(t *testing.T, a, b, c float32) {
	t.Helper()
	got, want := fma(a, b, c), fmaExact(a, b, c)
	if math.Float32bits(got) != math.Float32bits(want) {
		t.Fatalf("fma(%x, %x, %x) = %x, want %x", a, b, c, got, want)
	}
	acc := []float32{c}
	addScaled(acc, a, []float32{b})
	if math.Float32bits(acc[0]) != math.Float32bits(want) {
		t.Fatalf("addScaled(%x, %x, %x) = %x, want %x", c, a, b, acc[0], want)
	}
}

func TestFMA(t *testing.T) {
	// Where double rounding, underflow and overflow happen, and their neighbours.
	edges := []float32{
		0, 1, 1 + 0x1p-23, 1 - 0x1p-24, 0x1p-12, 0x1.000002p12, 0x1.8p1, 3, 1.0 / 3,
		0x1p-149, 0x1p-148, 0x1.8p-148, 0x1p-126, 0x1p-126 - 0x1p-149, 0x1p-75, 0x1.000002p-75, 0x1p-63,
		0x1.fffffep127, 0x1p127, 0x1p104, 0x1p103, 0x1.fffffep63, 0x1p64, 0x1.fffffep-1, 0x1p-24, 0x1p-25, 0x1.000002p-25,
	}
	for _, x := range edges {
		edges = append(edges, -x)
	}
	for _, a := range edges {
		for _, b := range edges {
			for _, c := range edges {
				checkFMA(t, a, b, c)
			}
		}
	}
}

// The product is 2⁻¹⁵⁰·(1-2⁻⁴⁶), just below half a unit of a subnormal: adding it
// in float64 gives the half exactly, and rounding that again goes to even.
func TestFMASubnormalTie(t *testing.T) {
	const a, b = 0x1.000002p-75, 0x1.fffffcp-76
	for _, c := range []float32{0x1p-130, 0x1p-130 + 0x1p-149, 0x1p-127 + 0x1p-149, 0x1p-126 - 0x1p-149} {
		checkFMA(t, a, b, c)
		checkFMA(t, -a, b, c)
		checkFMA(t, a, b, -c)
		checkFMA(t, a, -b, -c)
	}
}

func TestFMARandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	any := func() float32 {
		for {
			if x := math.Float32frombits(rng.Uint32()); x-x == 0 { // finite
				return x
			}
		}
	}
	for range 100_000 {
		a, b := any(), any()
		checkFMA(t, a, b, any())
		// The sum near a tie: c takes the leading bits of the product or half a
		// unit of them, so that what is left decides.
		p := float64(a) * float64(b)
		if c := float32(p); !math.IsInf(float64(c), 0) {
			checkFMA(t, a, b, -c)
			checkFMA(t, a, b, float32(math.Ldexp(p, int(rng.Uint32()%60)-30)))
		}
		// Few bits, so that exact ties are common.
		few := func() float32 { return float32(rng.Uint32()%32) * float32(math.Ldexp(1, int(rng.Uint32()%50)-25)) }
		checkFMA(t, 1+few(), 1-few(), few())
		checkFMA(t, few()*0x1p-70, few()*0x1p-70, few()*0x1p-120)
	}
}

func TestFMASpecial(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	tests := []struct{ a, b, c, want float32 }{
		{inf, 1, 1, inf},
		{-inf, 2, 3, -inf},
		{1, 1, -inf, -inf},
		{inf, 0, 1, nan},
		{inf, 1, -inf, nan},
		{nan, 1, 1, nan},
		{1, 1, nan, nan},
		{0x1p127, 2, 0, inf},
		{0x1p100, 0x1p100, -inf, -inf},
	}
	for _, tt := range tests {
		got := fma(tt.a, tt.b, tt.c)
		if got != tt.want && !(got != got && tt.want != tt.want) {
			t.Errorf("fma(%v, %v, %v) = %v, want %v", tt.a, tt.b, tt.c, got, tt.want)
		}
	}
}
