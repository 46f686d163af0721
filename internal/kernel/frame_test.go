package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestLog10(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler) {
		x, floor := random(rng, n, f), float32(-10)
		if n%2 == 0 {
			floor = -100
		}
		for i := range x.x { // mostly positive
			if rng.IntN(4) > 0 && x.x[i] < 0 {
				x.x[i] = -x.x[i]
			}
			if x.x[i] > math.MaxFloat32 {
				x.x[i] = math.MaxFloat32
			}
		}
		got, want := newGuarded(n), newGuarded(n)
		log10Ref(want.x, x.x, floor)
		ops.log10(got.x, x.x, floor)
		compare(t, f.name, got, want)
	})
}

// TestLog10Exact compares with math.Log10: 2 ulp, for each power of two and within.
func TestLog10Exact(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	x, got := make([]float32, 1), make([]float32, 1)
	for e := 1; e < 255; e++ {
		for range 2000 {
			x[0] = math.Float32frombits(uint32(e)<<23 | rng.Uint32()&(1<<23-1))
			Log10(got, x, -100)
			want := math.Log10(float64(x[0]))
			ulp := math.Abs(want)*0x1p-23 + 0x1p-149
			if d := math.Abs(float64(got[0]) - want); !(d <= 2*ulp) {
				t.Fatalf("Log10(%v) = %v, want %v: off by %.2f ulp", x[0], got[0], want, d/ulp)
			}
		}
	}
	for _, v := range []float32{0, -1, 1e-45, 1e-11, float32(math.Copysign(0, -1))} {
		if x[0] = v; true {
			if Log10(got, x, -10); got[0] != -10 {
				t.Errorf("Log10(%v) = %v, want the floor", v, got[0])
			}
		}
	}
}

func TestFold(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler) {
		if n == 0 {
			return
		}
		x := random(rng, 4*n, f)
		got, want := newGuarded(4*n), newGuarded(4*n)
		foldRef(want.x, x.x)
		ops.fold(got.x, x.x)
		compare(t, f.name, got, want)
		for i := range n {
			if even, odd := x.x[2*i+2]+x.x[4*n-2*i-2], x.x[2*i+1]-x.x[4*n-2*i-1]; !sameBits(got.x[i], even) || !sameBits(got.x[3*n+i], odd) {
				t.Fatalf("n=%d, i=%d: %v, %v", n, i, got.x[i], got.x[3*n+i])
			}
		}
	})
}

func TestSquares(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler) {
		if n == 0 {
			return
		}
		var sums [4]guarded
		for i := range sums {
			sums[i] = random(rng, n, f)
		}
		got, want := newGuarded(2*n-1), newGuarded(2*n-1)
		squaresRef(want.x, sums[0].x, sums[1].x, sums[2].x, sums[3].x)
		ops.squares(got.x, sums[0].x, sums[1].x, sums[2].x, sums[3].x)
		compare(t, f.name, got, want)
	})
}
