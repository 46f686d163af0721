package kernel

import (
	"math/rand/v2"
	"testing"
)

func TestDots(t *testing.T) {
	forVectorImpls(t, func(t *testing.T, ops vectorOps, rng *rand.Rand, n int, f filler) {
		var a, b [4][]float32
		for i := range a {
			a[i], b[i] = random(rng, n, f).x, random(rng, n+rng.IntN(3), f).x
		}
		var got, want [4]float32
		dotsRef(&want, &a, &b)
		ops.dots(&got, &a, &b)
		for i := range got {
			if !sameBits(got[i], want[i]) {
				t.Fatalf("%s n=%d: product %d is %v, ref %v", f.name, n, i, got[i], want[i])
			}
		}
	})
}

// TestQuadRows has any number of rows, and an order of sums that shows in the result.
func TestQuadRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for rows := range 10 {
		for _, n := range []int{1, 4, 7, 130} {
			w, x, got := random(rng, rows*n, fillers[0]), random(rng, n, fillers[0]), newGuarded(rows)
			new(FourDots).Rows(got.x, w.x, x.x)
			for r, sum := range got.x {
				var p [4]float32
				for j, v := range x.x {
					k := j % 4
					if j >= n&^3 {
						k = 0
					}
					p[k] += float32(w.x[r*n+j] * v)
				}
				if want := (p[0] + p[1]) + (p[2] + p[3]); !sameBits(sum, want) {
					t.Fatalf("%d rows of %d: product %d is %v, want %v", rows, n, r, sum, want)
				}
			}
		}
	}
}

func TestDotsPanics(t *testing.T) {
	x := make([]float32, 8)
	for what, v := range map[string][2][4][]float32{
		"a": {{x, x, x, x[:7]}, {x, x, x, x}},
		"b": {{x, x, x, x}, {x, x[:7], x, x}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a vector of %s is too short, and Dots reads it", what)
				}
			}()
			(&FourDots{A: v[0], B: v[1]}).Dots()
		}()
	}
}
