package kernel

import (
	"math/rand/v2"
	"testing"
)

func TestStandardize(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, cols int, f filler) {
		if cols == 0 {
			return
		}
		rows := 1 + cols%7
		got := random(rng, rows*cols, f)
		got.x[rng.IntN(len(got.x))] = nan
		want := got.clone()
		standardizeRef(want.x, rows, cols)
		ops.standardize(got.x, rows, cols)
		compare(t, f.name, got, want)
	})
}

func TestMedian(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler) {
		x, got, want := random(rng, n+medianWidth, f), newGuarded(n), newGuarded(n)
		for range n / 2 {
			x.x[rng.IntN(n)] = []float32{nan, -nan, negInf, -negInf, 0}[rng.IntN(5)]
		}
		medianRef(want.x, x.x)
		ops.median(got.x, x.x)
		compare(t, f.name, got, want)
	})
}
