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
		x, y := random(rng, n, f), random(rng, n, f)
		sum, difference := newGuarded(n), newGuarded(n)
		ops.fold(sum.x, difference.x, x.x, y.x)
		wantSum, wantDifference := newGuarded(n), newGuarded(n)
		foldRef(wantSum.x, wantDifference.x, x.x, y.x)
		compare(t, f.name, sum, wantSum)
		compare(t, f.name, difference, wantDifference)
	})
}

// TestSquares also has both results in one place, as at a quarter of the sampling rate.
func TestSquares(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler) {
		var sums [4]guarded
		for i := range sums {
			sums[i] = random(rng, n, f)
		}
		run := func(ops vectorOps, up, down guarded) {
			ops.squares(up.x, down.x, sums[0].x, sums[1].x, sums[2].x, sums[3].x)
		}
		up, down, one := newGuarded(n), newGuarded(n), newGuarded(n)
		run(ops, up, down)
		run(ops, one, one)
		wantUp, wantDown := newGuarded(n), newGuarded(n)
		run(vectorRef, wantUp, wantDown)
		compare(t, f.name, up, wantUp)
		compare(t, f.name, down, wantDown)
		compare(t, f.name, one, wantDown)
	})
}

func TestRaise(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler) {
		got, x := random(rng, n, f), random(rng, n, f)
		want := got.clone()
		raiseRef(want.x, x.x)
		ops.raise(got.x, x.x)
		compare(t, f.name, got, want)
	})
}

func TestCells(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler) {
		x, least := random(rng, n, f), f.at(rng)
		got, want := newGuarded(n), newGuarded(n)
		cellsRef(want.x, x.x, least)
		ops.cells(got.x, x.x, least)
		compare(t, f.name, got, want)
		ops.cells(x.x, x.x, least) // in place
		compare(t, f.name, x, want)
	})
}

func TestChain(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler) {
		if n > 20 {
			return
		}
		w, x, got := random(rng, n, f), random(rng, n*Lanes, f), random(rng, Lanes, f)
		want := got.clone()
		chainRef(want.x, w.x, x.x)
		ops.chain(got.x, w.x, x.x)
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
