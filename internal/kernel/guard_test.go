package kernel

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// skipOrRequire skips the test of an implementation this CPU cannot run, unless
// $VERITY_REQUIRE names it: CI machines that have the feature set that variable,
// so a broken feature check cannot turn coverage into skips unseen.
func skipOrRequire(t testing.TB, name string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("VERITY_REQUIRE"), ","), name) {
		t.Fatalf("this machine must be able to run %s", name)
	}
	t.Skipf("needs another processor: CPU cannot run %s", name)
}

// forSets runs a test with each set of kernels in use.
func forSets(t *testing.T, test func(t *testing.T)) {
	for _, s := range sets {
		t.Run(s.name, func(t *testing.T) {
			if !s.ok {
				skipOrRequire(t, s.name)
			}
			defer func(saved set) { use = saved }(use)
			use = s
			test(t)
		})
	}
}

const margin = 17 // odd, so that vector accesses are unaligned

// poisoned returns n values of next with NaN on both sides of them in memory, so
// that reading outside the slice shows in the result.
func poisoned(n int, next func() float32) []float32 {
	buf := make([]float32, n+2*margin)
	for i := range buf {
		buf[i] = float32(math.NaN())
	}
	x := buf[margin : margin+n : margin+n]
	for i := range x {
		x[i] = next()
	}
	return x
}

const canary = -12345.678

// canaried returns n values of next between canaries, and a function that fails
// the test if one of those was written over.
func canaried(n int, next func() float32) (x []float32, check func(t testing.TB)) {
	buf := make([]float32, n+2*margin)
	for i := range buf {
		buf[i] = canary
	}
	x = buf[margin : margin+n : margin+n]
	for i := range x {
		x[i] = next()
	}
	return x, func(t testing.TB) {
		t.Helper()
		for i, v := range buf {
			if (i < margin || i >= margin+n) && v != canary {
				t.Fatalf("wrote %v at %d of a slice of %d", v, i-margin, n)
			}
		}
	}
}

// uniform returns a source of values in [-1, 1).
func uniform(rng *rand.Rand) func() float32 {
	return func() float32 { return rng.Float32()*2 - 1 }
}

// wild returns a source of values of which some are zeros, subnormal, near
// overflow, or infinite.
func wild(rng *rand.Rand) func() float32 {
	return func() float32 {
		v := rng.Float32()*2 - 1
		switch rng.Uint32() % 16 {
		case 0:
			return 0
		case 1:
			return negativeZero
		case 2:
			return v * 0x1p-126
		case 3:
			return v * 0x1p-70
		case 4:
			return v * 0x1p70
		case 5:
			if rng.Uint32()%64 == 0 {
				return float32(math.Inf(1))
			}
		}
		return v
	}
}

// equalBits reports whether a and b are the same bits, or both NaN.
func equalBits(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// checkSame fails the test unless got has the bits of want.
func checkSame(t testing.TB, got, want []float32, what string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !equalBits(got[i], want[i]) {
			t.Fatalf("%s: element %d = %x, want the bits of %x", what, i, got[i], want[i])
		}
	}
}
