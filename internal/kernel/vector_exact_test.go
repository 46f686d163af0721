package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The tests of this file compare the portable functions with package math in
// float64, whose own error is some 2⁻²⁹ of a float32 ulp.

// ulps returns |got-want| in units of the last place of want as a float32.
func ulps(got float32, want float64) float64 {
	_, e := math.Frexp(want)
	unit := math.Ldexp(1, max(e-24, -149))
	return math.Abs(float64(got)-want) / unit
}

// everyFloat calls f with about n positive floats, spread evenly over their bits,
// and with their negatives. The step is odd, so all mantissa bits vary.
func everyFloat(n int, f func(x float32)) {
	step := uint32(0x7f800000/n) | 1
	for u := uint32(0); u < 0x7f800000; u += step {
		f(math.Float32frombits(u))
		f(math.Float32frombits(u | 1<<31))
	}
}

func TestExpExact(t *testing.T) {
	check := func(x float32) {
		want := math.Exp(float64(x))
		switch got := Exp(x); {
		case want > math.MaxFloat32*(1+0x1p-25):
			if !math.IsInf(float64(got), 1) {
				t.Fatalf("Exp(%v) = %v, want +Inf", x, got)
			}
		case !(ulps(got, want) <= 1):
			t.Fatalf("Exp(%v) = %v, want %v, off by %.3f ulp", x, got, want, ulps(got, want))
		}
	}
	everyFloat(1<<20, check)
	for x := float32(-104.5); x < 89; x += 0.000231 {
		check(x)
	}
}

func TestLogExact(t *testing.T) {
	check := func(x float32) {
		if got, want := Log(x), math.Log(float64(x)); !(ulps(got, want) <= 1) {
			t.Fatalf("Log(%v) = %v, want %v, off by %.3f ulp", x, got, want, ulps(got, want))
		}
	}
	everyFloat(1<<20, func(x float32) {
		if x > 0 {
			check(x)
		}
	})
	for u := math.Float32bits(0.5); u < math.Float32bits(2); u += 11 { // where results are small
		check(math.Float32frombits(u))
	}
}

func TestGELUExact(t *testing.T) {
	everyFloat(1<<20, func(x float32) {
		if math.Abs(float64(x)) > 1e6 {
			return
		}
		want := 0.5 * float64(x) * math.Erfc(-float64(x)/math.Sqrt2)
		bound := 3.0
		switch {
		case x <= -geluMax:
			if got := gelu(x); math.Float32bits(got) != 1<<31 || !(math.Abs(want) < 2e-37) {
				t.Fatalf("GELU(%v) = %v, want -0 for %v", x, got, want)
			}
			return
		case x < -5:
			bound = 32
		case x < -1:
			bound = 10
		}
		if got := gelu(x); !(ulps(got, want) <= bound) {
			t.Fatalf("GELU(%v) = %v, want %v, off by %.1f ulp", x, got, want, ulps(got, want))
		}
	})
}

func TestElementaryExtremes(t *testing.T) {
	inf, negZero := float32(math.Inf(1)), float32(math.Copysign(0, -1))
	for _, tt := range []struct {
		name      string
		f         func(float32) float32
		x, result float32
	}{
		{"Exp", Exp, negInf, 0}, {"Exp", Exp, inf, inf}, {"Exp", Exp, nan, nan}, {"Exp", Exp, 0, 1},
		{"Exp", Exp, negZero, 1}, {"Exp", Exp, -104, 0}, {"Exp", Exp, 89, inf}, {"Exp", Exp, -103.97, 1e-45},
		{"Exp", Exp, 1e-45, 1}, {"Exp", Exp, -math.MaxFloat32, 0}, {"Exp", Exp, math.MaxFloat32, inf},
		{"Log", Log, 0, negInf}, {"Log", Log, negZero, negInf}, {"Log", Log, inf, inf}, {"Log", Log, nan, nan},
		{"Log", Log, -1, nan}, {"Log", Log, negInf, nan}, {"Log", Log, 1, 0}, {"Log", Log, -1e-45, nan},
		{"gelu", gelu, 0, 0}, {"gelu", gelu, negZero, negZero}, {"gelu", gelu, inf, inf}, {"gelu", gelu, nan, nan},
		{"gelu", gelu, negInf, nan}, {"gelu", gelu, 20, 20}, {"gelu", gelu, -20, negZero},
		{"gelu", gelu, math.MaxFloat32, math.MaxFloat32}, {"gelu", gelu, 3e-45, 1e-45},
	} {
		if got := tt.f(tt.x); !sameBits(got, tt.result) {
			t.Errorf("%s(%v) = %v, want %v", tt.name, tt.x, got, tt.result)
		}
	}
}

// TestLayerNormExact bounds the error. With u = 2⁻²⁴ the mean is off by
// (n/16+6)·u·mean|x|, which moves x-m, so for |x| ≤ 1 and a spread of about ½ a
// bound of (n/8+64)·u on the result, of size 4, is ample.
func TestLayerNormExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{5, 16, 100, 384, 1280, 5120} {
		x, one, dst := random(rng, n, fillers[0]).x, make([]float32, n), make([]float32, n)
		mean, variance := 0.0, 0.0
		for i, v := range x {
			one[i] = 1
			mean += float64(v) / float64(n)
		}
		for _, v := range x {
			variance += (float64(v) - mean) * (float64(v) - mean) / float64(n)
		}
		LayerNorm(dst, x, one, make([]float32, n), 1e-5)
		for i, v := range x {
			want := (float64(v) - mean) / math.Sqrt(variance+float64(float32(1e-5)))
			if diff := math.Abs(float64(dst[i]) - want); !(diff <= (float64(n)/8+64)*0x1p-24) {
				t.Fatalf("n=%d: [%d] = %v, want %v", n, i, dst[i], want)
			}
		}
	}
}

func TestSoftmax(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := 1; n < 3000; n += 1 + n/3 {
		x := random(rng, n, fillers[5]).x
		x[rng.IntN(n)] = 3
		lse := LogSumExp(x)
		sum := 0.0
		for _, v := range x {
			sum += math.Exp(float64(v))
		}
		if want := math.Log(sum); !(math.Abs(float64(lse)-want) <= 4*0x1p-24*(math.Abs(want)+float64(n)/16+4)) {
			t.Errorf("n=%d: LogSumExp = %v, want %v", n, lse, want)
		}
		y := append([]float32(nil), x...)
		Softmax(y)
		for i, v := range y {
			want := math.Exp(float64(x[i])) / sum
			if diff := math.Abs(float64(v) - want); !(diff <= want*0x1p-24*(float64(n)/16+40)) {
				t.Fatalf("n=%d: Softmax[%d] = %v, want %v", n, i, v, want)
			}
		}
	}
}

func TestSoftmaxExtremes(t *testing.T) {
	inf := -negInf
	for _, tt := range []struct {
		x   []float32
		lse float32
		max float32
		at  int
		why string
	}{
		{nil, negInf, negInf, -1, "nothing"},
		{[]float32{negInf, negInf}, negInf, negInf, 0, "all ruled out"},
		{[]float32{negInf, 2, negInf}, 2, 2, 1, "one choice"},
		{[]float32{1, inf, 1, inf}, inf, inf, 1, "infinity wins"},
		{[]float32{negInf, nan, inf}, nan, nan, 1, "NaN comes before infinity"},
		{[]float32{-5, -3, -3}, -3 + Log(2+Exp(-2)), -3, 1, "the lowest index wins a tie"},
		{[]float32{-1, float32(math.Copysign(0, -1)), 0}, Log(2 + Exp(-1)), float32(math.Copysign(0, -1)), 1, "zeros tie"},
	} {
		if got := LogSumExp(tt.x); !(sameBits(got, tt.lse) || math.Abs(float64(got-tt.lse)) < 1e-6) {
			t.Errorf("%s: LogSumExp(%v) = %v, want %v", tt.why, tt.x, got, tt.lse)
		}
		if v, i := Max(tt.x); !sameBits(v, tt.max) || i != tt.at {
			t.Errorf("%s: Max(%v) = %v, %d, want %v, %d", tt.why, tt.x, v, i, tt.max, tt.at)
		}
	}
	for _, x := range [][]float32{{negInf, negInf}, {inf, 0}, {0, nan, 1}} {
		Softmax(x)
		for _, v := range x {
			if v == v {
				t.Errorf("Softmax of what has none = %v, want NaN", x)
			}
		}
	}
}
