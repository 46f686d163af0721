package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"verity/internal/tensor"
)

// TestAttendTile checks every tile of every implementation against ref, with and
// without carry, and that lanes outside of the tile are left alone.
func TestAttendTile(t *testing.T) {
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for rows := 1; rows <= tileRows; rows++ {
			for _, depth := range []int{1, 2, 3, 4, 5, 7, 8, 24, 33, 130} {
				s := tileShape{rows: rows, depth: depth}
				s.panels = 1 + rng.IntN(3)
				s.aStride = depth + rng.IntN(3)
				s.bStride = panelKeys + rng.IntN(3)
				s.bPanel = s.bStride*depth + rng.IntN(3)
				s.cStride = (s.panels-1)*panelKeys + panelKeys + rng.IntN(3)
				s.carry = rng.IntN(2) == 0
				testTile(t, use.attend, rng, s)
			}
		}
	})
}

func testTile(t *testing.T, ops attendOps, rng *rand.Rand, s tileShape) {
	f := fillers[rng.IntN(len(fillers))]
	a := random(rng, (s.rows-1)*s.aStride+s.depth, f)
	b := random(rng, (s.panels-1)*s.bPanel+(s.depth-1)*s.bStride+panelKeys, f)
	half := make([]uint16, len(b.all))
	for i, v := range b.all {
		half[i] = tensor.F16Bits(v)
	}
	half = half[guard : guard+len(b.x)]
	c := random(rng, (s.rows-1)*s.cStride+(s.panels-1)*panelKeys+panelKeys, f)

	want, got := c.clone(), c.clone()
	attendF32Ref(s, a.x, b.x, want.x)
	ops.f32(s, a.x, b.x, got.x)
	compare(t, fmt.Sprintf("f32 %s %+v", f.name, s), got, want)

	want, got = c.clone(), c.clone()
	attendF16Ref(s, a.x, half, want.x)
	ops.f16(s, a.x, half, got.x)
	compare(t, fmt.Sprintf("f16 %s %+v", f.name, s), got, want)
}
