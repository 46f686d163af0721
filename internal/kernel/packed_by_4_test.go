package kernel

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"verity/precision"
)

// levels returns numbers that round to themselves, if 127 is among them, by kind.
func levels(rng *rand.Rand) map[string]func() float32 {
	some := func(from ...float32) func() float32 {
		return func() float32 { return from[rng.IntN(len(from))] }
	}
	return map[string]func() float32{
		"normal":      func() float32 { return float32(int(rng.NormFloat64() * 36)) },
		"few large":   func() float32 { return float32(int(rng.NormFloat64() * 5)) },
		"at the edge": some(32, 32, 32, 33, 31, 64, -32, -32, -33, -64, 0, 0),
		"pairs":       some(1, 1, 2, 126, 127, -1, -2, -126, -127, 0, 0, 0, 0, 0, 0, 0),
		"largest":     some(127),
		"smallest":    some(-127),
		"both":        some(127, -127),
	}
}

// TestPackedBy4: activations and their outliers are what was rounded, and four that are summed
// in 16 bits have room there.
func TestPackedBy4(t *testing.T) {
	forSets(t, func(t *testing.T) {
		if use.int8s.tilePackedBy4 == nil {
			t.Skip("needs another processor: sums products in 32 bits")
		}
		rng := rand.New(rand.NewPCG(41, 42))
		for kind, next := range levels(rng) {
			for _, depth := range []int{4, 8, 28, 32, 36, 60, 256, 260, 520} {
				const rows = 3
				f := packedBy4{maxOutliers: depth}
				f.x = bytes.Repeat([]byte{0x7f}, (depth+wordDepth-1)/wordDepth*rows*wordDepth)
				f.start, f.outlierCount = make([]int32, rows), make([]int32, rows)
				f.outliers, f.large = make([]outlier, rows*f.maxOutliers), make([]wordMask, rows)
				for r := range rows {
					q := make([]uint8, depth)
					for k := range q {
						q[k] = uint8(int(next()) + int8Zero)
					}
					f.setRow(r, q)
					checkSigned(t, q[:min(depth, wordDepth)])
					checkPackedBy4(t, &f, r, q, fmt.Sprint(kind, ", depth ", depth))
				}
			}
		}
	})
}

func checkSigned(t *testing.T, q []uint8) {
	t.Helper()
	got, want := make([]byte, len(q)), make([]byte, len(q))
	var gotFound, wantFound wordMask
	gotSum, wantSum := use.int8s.signed(got, q, &gotFound), signedRef(want, q, &wantFound)
	if gotSum != wantSum || gotFound != wantFound || !bytes.Equal(got, want) {
		t.Fatalf("signed of %d: %v, found %b, %v, want %v, %b, %v", len(q), gotSum, gotFound, got, wantSum, wantFound, want)
	}
}

func checkPackedBy4(t *testing.T, f *packedBy4, r int, q []uint8, what string) {
	t.Helper()
	got, sum := make([]int32, len(q)), int32(0)
	for k := range q {
		got[k] = int32(int8(f.x[(k/wordDepth*len(f.start)+r)*wordDepth+k%wordDepth]))
		sum += got[k]
	}
	for k := 0; k < len(q); k += 8 {
		for lane := range 2 {
			above, below := int32(0), int32(0)
			for _, j := range []int{2 * lane, 2*lane + 1, 2*lane + 4, 2*lane + 5} {
				if k+j < len(q) {
					above, below = above+max(got[k+j], 0), below+max(-got[k+j], 0)
				}
			}
			if above > maxHalfSum || below > maxHalfSum {
				t.Fatalf("%s: four from %d add up to %d and -%d", what, k, above, below)
			}
		}
	}
	for _, o := range f.outliers[r*f.maxOutliers:][:f.outlierCount[r]] {
		for j := range 4 {
			got[int(o.at)/panel+j] += int32(int8(o.activations >> (8 * j)))
		}
	}
	for k, b := range q {
		if got[k] != int32(b)-int8Zero {
			t.Fatalf("%s: number %d is %d, want %d", what, k, got[k], int32(b)-int8Zero)
		}
	}
	if f.start[r] != -int8Zero*sum {
		t.Fatalf("%s: starts at %d, want %d", what, f.start[r], -int8Zero*sum)
	}
}

// TestPackedBy4Products multiplies what is hard to sum in 16 bits by the largest weights.
func TestPackedBy4Products(t *testing.T) {
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(43, 44))
		for kind, next := range levels(rng) {
			for _, weight := range []func() float32{func() float32 { return 1 }, func() float32 { return -1 }, func() float32 { return float32(1 - 2*rng.IntN(2)) }} {
				p := newProduct(t, rng, weight, 3+rng.IntN(30), 4*(1+rng.IntN(140)), 70, precision.Int8)
				for i := range p.x {
					p.x[i] = next()
				}
				for r := range p.rows {
					p.x[r*p.stride] = 127
				}
				checkSame(t, p.run(t, nil, 0, p.rows), p.want(), kind+", "+p.String())
			}
		}
	})
}
