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
		if n > 10 {
			return
		}
		x, y := random(rng, 2*n*Lanes, f), random(rng, 2*n*Lanes, f)
		run := func(ops vectorOps) (to [4]guarded) {
			for i := range to {
				to[i] = newGuarded(n * Lanes)
			}
			ops.fold(to[0].x, to[1].x, to[2].x, to[3].x, x.x, y.x)
			return to
		}
		got, want := run(ops), run(vectorRef)
		for i := range got {
			compare(t, f.name, got[i], want[i])
		}
		for i := range n * Lanes {
			r, c := i/Lanes, i%Lanes
			if v := x.x[2*r*Lanes+c] + y.x[(2*n-1-2*r)*Lanes+c]; !sameBits(want[0].x[i], v) {
				t.Fatalf("row %d of sum0: %v, want %v", r, want[0].x[i], v)
			}
			if v := x.x[(2*r+1)*Lanes+c] - y.x[(2*n-2-2*r)*Lanes+c]; !sameBits(want[3].x[i], v) {
				t.Fatalf("row %d of difference1: %v, want %v", r, want[3].x[i], v)
			}
		}
	})
}

func TestSquares(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, m int, f filler) {
		if m == 0 || m > 10 {
			return
		}
		var sums [4]guarded
		for i := range sums {
			sums[i] = random(rng, m*Lanes, f)
		}
		run := func(ops vectorOps) guarded {
			dst := newGuarded((2*m - 1) * Lanes)
			ops.squares(dst.x, sums[0].x, sums[1].x, sums[2].x, sums[3].x)
			return dst
		}
		got, want := run(ops), run(vectorRef)
		compare(t, f.name, got, want)
		at := func(s, i int) float32 { return sums[s].x[i] }
		for i := range m * Lanes {
			re, im := at(0, i)-at(1, i), at(2, i)-at(3, i)
			v := float32(re*re) + float32(im*im)
			if down := want.x[(2*m-2-i/Lanes)*Lanes+i%Lanes]; !sameBits(down, v) {
				t.Fatalf("row %d, downwards: %v, want %v", i/Lanes, down, v)
			}
		}
	})
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

func TestScaleLogMel(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler) {
		x, least := random(rng, n, f), f.at(rng)
		got, want := newGuarded(n), newGuarded(n)
		scaleLogMelRef(want.x, x.x, least)
		ops.scaleLogMel(got.x, x.x, least)
		compare(t, f.name, got, want)
		ops.scaleLogMel(x.x, x.x, least) // in place
		compare(t, f.name, x, want)
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
