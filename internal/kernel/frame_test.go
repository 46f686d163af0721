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
	rng := rand.New(rand.NewPCG(7, 8))
	for n := range 10 {
		x, y := random(rng, 2*n*Lanes, fillers[0]), random(rng, 2*n*Lanes, fillers[0])
		var to [4]guarded
		for i := range to {
			to[i] = newGuarded(n * Lanes)
		}
		Fold(to[0].x, to[1].x, to[2].x, to[3].x, x.x, y.x)
		for i := range n * Lanes {
			r, c := i/Lanes, i%Lanes
			if v := x.x[2*r*Lanes+c] + y.x[(2*n-1-2*r)*Lanes+c]; !sameBits(to[0].x[i], v) {
				t.Fatalf("row %d of sum0: %v, want %v", r, to[0].x[i], v)
			}
			if v := x.x[(2*r+1)*Lanes+c] - y.x[(2*n-2-2*r)*Lanes+c]; !sameBits(to[3].x[i], v) {
				t.Fatalf("row %d of difference1: %v, want %v", r, to[3].x[i], v)
			}
		}
	}
}

func TestSquares(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for m := 1; m < 10; m++ {
		var sums [4]guarded
		for i := range sums {
			sums[i] = random(rng, m*Lanes, fillers[0])
		}
		dst := newGuarded((2*m - 1) * Lanes)
		Squares(dst.x, sums[0].x, sums[1].x, sums[2].x, sums[3].x)
		at := func(s, i int) float32 { return sums[s].x[i] }
		for i := range m * Lanes {
			re, im := at(0, i)-at(1, i), at(2, i)-at(3, i)
			v := float32(re*re) + float32(im*im)
			if down := dst.x[(2*m-2-i/Lanes)*Lanes+i%Lanes]; !sameBits(down, v) {
				t.Fatalf("row %d, downwards: %v, want %v", i/Lanes, down, v)
			}
		}
	}
}

func TestMaxInto(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler) {
		got, x := random(rng, n, f), random(rng, n, f)
		want := got.clone()
		maxIntoRef(want.x, x.x)
		ops.maxInto(got.x, x.x)
		compare(t, f.name, got, want)
	})
}

// TestChains: whatever was in dst, each sum is a chain from +0 in order.
func TestChains(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for rows := 1; rows < 20; rows++ {
		for _, n := range []int{0, 1, 3, 100} {
			f := fillers[(rows+n)%len(fillers)]
			w, x, got := random(rng, rows*n, f), random(rng, n*Lanes, f), random(rng, rows*Lanes, f)
			Chains(got.x, w.x, rows, x.x)
			for i, sum := range got.x {
				want := float32(0)
				for k := range n {
					want = fma(w.x[i/Lanes*n+k], x.x[k*Lanes+i%Lanes], want)
				}
				if !sameBits(sum, want) {
					t.Fatalf("%d rows of %d: sum %d = %v, want %v", rows, n, i, sum, want)
				}
			}
		}
	}
}
