package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// guard is how many NaN lie on both sides of a test vector. It is odd, so that
// vector loads are unaligned.
const guard = 17

var nan = float32(math.NaN())

// A guarded is a vector with NaN on both sides of it in memory, so that reading
// outside shows in results; writing outside shows in intact.
type guarded struct{ all, x []float32 }

func newGuarded(n int) guarded {
	all := make([]float32, n+2*guard)
	for i := range all {
		all[i] = nan
	}
	return guarded{all, all[guard : guard+n : guard+n]}
}

// random returns a guarded vector of n elements of a kind.
func random(rng *rand.Rand, n int, f filler) guarded {
	g := newGuarded(n)
	for i := range g.x {
		g.x[i] = f.at(rng)
	}
	return g
}

// clone returns a copy with guards of its own.
func (g guarded) clone() guarded {
	c := newGuarded(len(g.x))
	copy(c.x, g.x)
	return c
}

func (g guarded) intact() bool {
	want := math.Float32bits(nan)
	for i := range guard {
		if math.Float32bits(g.all[i]) != want || math.Float32bits(g.all[len(g.all)-1-i]) != want {
			return false
		}
	}
	return true
}

// A filler gives the elements of a test vector.
type filler struct {
	name string
	at   func(rng *rand.Rand) float32
}

var fillers = []filler{
	{"uniform", func(rng *rand.Rand) float32 { return rng.Float32()*2 - 1 }},
	{"wide", func(rng *rand.Rand) float32 { return (rng.Float32()*2 - 1) * 200 }},
	{"normal", func(rng *rand.Rand) float32 { return float32(rng.NormFloat64()) * 3 }},
	{"bits", func(rng *rand.Rand) float32 { return finite(math.Float32frombits(rng.Uint32())) }},
	{"special", func(rng *rand.Rand) float32 { return special[rng.IntN(len(special))] }},
	{"masked", func(rng *rand.Rand) float32 {
		if rng.IntN(3) == 0 {
			return negInf
		}
		return rng.Float32() * 20
	}},
}

var special = []float32{0, float32(math.Copysign(0, -1)), 1e-45, -1e-45, 1e-38, -1e-38, 1, -1, 88, -88, -103.5,
	math.MaxFloat32, -math.MaxFloat32, 1e10, -1e10, 0.5, -14.5, 13.1}

// finite replaces NaN and infinity by 1.
func finite(x float32) float32 {
	if x-x != 0 {
		return 1
	}
	return x
}

// sameBits reports whether a and b are the same, or both NaN.
func sameBits(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// compare fails the test unless got is want bit by bit, and its guards untouched.
func compare(t *testing.T, what string, got, want guarded) {
	t.Helper()
	for i := range want.x {
		if !sameBits(got.x[i], want.x[i]) {
			t.Fatalf("%s, n=%d: [%d] = %x (%v), want the bits of ref, %x (%v)", what, len(want.x), i,
				math.Float32bits(got.x[i]), got.x[i], math.Float32bits(want.x[i]), want.x[i])
		}
	}
	if !got.intact() {
		t.Fatalf("%s, n=%d: wrote outside of the vector", what, len(want.x))
	}
}

// forVectorImpls runs a test for every implementation and length.
func forVectorImpls(t *testing.T, test func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler)) {
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, f := range fillers {
			for n := range 310 {
				test(t, use.vector, rng, n, f)
			}
		}
	})
}

func TestAdd(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler) {
		got, x := random(rng, n, f), random(rng, n, f)
		want := got.clone()
		addRef(want.x, x.x)
		ops.add(got.x, x.x)
		compare(t, f.name, got, want)
	})
}

func TestDiv(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler) {
		got, by := random(rng, n, f), f.at(rng)
		want := got.clone()
		divRef(want.x, want.x, by)
		ops.div(got.x, got.x, by)
		compare(t, f.name, got, want)
	})
}

func TestScale(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler) {
		x, by := random(rng, n, f), f.at(rng)
		got, want := newGuarded(n), newGuarded(n)
		scaleRef(want.x, x.x, by)
		ops.scale(got.x, x.x, by)
		compare(t, f.name, got, want)
	})
}

func TestGELU(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler) {
		got := random(rng, n, f)
		if n > 3 {
			got.x[rng.IntN(n)] = nan
			got.x[rng.IntN(n)] = -negInf
		}
		want := got.clone()
		geluRef(want.x)
		ops.gelu(got.x)
		compare(t, f.name, got, want)
	})
}

func TestLayerNorm(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler) {
		if n == 0 {
			return
		}
		x, gamma, beta := random(rng, n, f), random(rng, n, fillers[0]), random(rng, n, fillers[0])
		got, want := newGuarded(n), newGuarded(n)
		normRef(want.x, x.x, gamma.x, beta.x, 1e-5)
		ops.norm(got.x, x.x, gamma.x, beta.x, 1e-5)
		compare(t, f.name, got, want)
		ops.norm(x.x, x.x, gamma.x, beta.x, 1e-5)
		compare(t, f.name+" in place", x, want)
	})
}

func TestExpSum(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler) {
		x := random(rng, n, f)
		m := maxRef(x.x)
		got, want := newGuarded(n), newGuarded(n)
		wantSum, gotSum := expSumRef(want.x, x.x, m), ops.expSum(got.x, x.x, m)
		compare(t, f.name, got, want)
		if !sameBits(gotSum, wantSum) {
			t.Fatalf("%s, n=%d: expSum = %v, ref %v", f.name, n, gotSum, wantSum)
		}
		if n > 0 {
			x.x[rng.IntN(n)] = nan
			if got := ops.expSum(x.x, x.x, m); got == got {
				t.Fatalf("%s, n=%d: expSum = %v in spite of a NaN", f.name, n, got)
			}
		}
	})
}

// TestExpSumSmall: where results become subnormal and then 0, each is still that of the reference.
func TestExpSumSmall(t *testing.T) {
	var x []float32
	for v := float32(-103); v > -107; v = math.Nextafter32(v, -200) {
		x = append(x, v)
	}
	x = append(x, -200, -math.MaxFloat32, negInf, 0, -87, -88, nan, -nan, math.Float32frombits(0xffc00000))
	got, want := make([]float32, len(x)), make([]float32, len(x))
	expSumRef(want, x, 0)
	forSets(t, func(t *testing.T) {
		use.vector.expSum(got, x, 0)
		for i := range x {
			if !sameBits(got[i], want[i]) {
				t.Fatalf("e^%v = %v, ref %v", x[i], got[i], want[i])
			}
		}
	})
}

func TestMax(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler) {
		x := random(rng, n, f)
		want := maxRef(x.x)
		if got := ops.max(x.x); got != want { // zeros of both signs are one
			t.Fatalf("%s, n=%d: max = %v, ref %v", f.name, n, got, want)
		}
		if n == 0 {
			return
		}
		at := rng.IntN(n)
		x.x[at] = nan
		if got := ops.max(x.x); got == got {
			t.Fatalf("%s, n=%d: max = %v in spite of a NaN", f.name, n, got)
		}
	})
}

// TestMaxIndex: the lowest index of the largest, or of the first NaN, over several blocks.
func TestMaxIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		x := random(rng, n*11, fillers[n%len(fillers)]).x
		for i := range x {
			if n%3 > 0 {
				x[i] = float32(int(x[i])) // many are equal
			}
			if n%7 == 6 && rng.IntN(n*9) == 0 {
				x[i] = nan
			}
		}
		want := slices.IndexFunc(x, func(v float32) bool { return v != v })
		if want < 0 && n > 0 {
			want = slices.Index(x, slices.Max(x))
		}
		value, at := Max(x)
		if at != want || at >= 0 && !sameBits(value, x[at]) || at < 0 && value != negInf {
			t.Fatalf("%d numbers: Max = %v, %d, want index %d", len(x), value, at, want)
		}
	}
}

func TestNarrow(t *testing.T) {
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for n := range 100 {
			for _, f := range append(fillers, halfTies) {
				x := random(rng, n, f)
				got, want := make([]uint16, n+guard), make([]uint16, n+guard)
				narrowRef(want, x.x)
				use.vector.narrow(got, x.x)
				if !slices.Equal(got, want) {
					t.Fatalf("%s n=%d: %x, want the bits of ref, %x", f.name, n, got, want)
				}
			}
		}
	})
}

// TestTranspose transposes and rounds tiles of all sizes up to a panel, into the middle of memory
// that must stay as it is.
func TestTranspose(t *testing.T) {
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for rows := range panelKeys + 1 {
			for _, cols := range []int{0, 1, 7, 8, 9, 16, 27, 64} {
				stride, f := cols+rng.IntN(3), append(fillers, halfTies)[rng.IntN(len(fillers)+1)]
				x := random(rng, max(0, (rows-1)*stride+cols), f)
				testTranspose(t, use.vector.transposeNarrow, transposeNarrowRef, x.x, stride, rows, cols)
			}
		}
	})
}

func testTranspose(t *testing.T, transpose, ref transposeNarrowFunc, x []float32, stride, rows, cols int) {
	t.Helper()
	got, want := make([]uint16, guard+(cols+1)*panelKeys), make([]uint16, guard+(cols+1)*panelKeys)
	for i := range want {
		got[i], want[i] = uint16(i%99), uint16(i%99)
	}
	ref(want[guard:], x, stride, rows, cols)
	transpose(got[guard:], x, stride, rows, cols)
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%T, %d×%d, stride %d: [%d] = %v, want that of ref, %v", want[i], rows, cols, stride, i-guard, got[i], want[i])
		}
	}
}

// halfTies are floats that lie between two binary16, or a little beside the
// middle, around overflow and among the subnormal ones too.
var halfTies = filler{"ties", func(rng *rand.Rand) float32 {
	u := uint32(96+rng.IntN(50))<<23 | uint32(rng.IntN(2))<<31 | rng.Uint32()&(1<<23-1)
	drop := 12 + rng.IntN(11)
	u = u>>drop<<drop + uint32(rng.IntN(3)) - 1
	return finite(math.Float32frombits(u))
}}
