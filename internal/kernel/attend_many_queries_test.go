package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"verity/precision"
)

// TestAttendTall: tiles of many queries, all of which see as much or each something else,
// give the bits of the reference, whatever is left in what they reuse.
func TestAttendTall(t *testing.T) {
	var s Scratch
	for _, rows := range []int{17, 24, 31, 32, 33, 49, 64, 70} {
		for _, n := range []int{1, 16, 63, 64, 65, 128, 250, 256, 257, 300, 513} {
			rng := rand.New(rand.NewPCG(uint64(rows), uint64(n)))
			a := newAttention(rng, 1+n%2, 64, rows, n, precision.Int8, n%3 == 0, 1)
			if n == 65 {
				a.scale = -a.scale
			}
			if n == 128 { // scores beyond what a float32 holds
				for i := range a.q {
					a.q[i] *= 0x1p90
					a.k[0][i%len(a.k[0])] *= 0x1p40
				}
			}
			if n == 250 {
				a.q[len(a.q)/2], a.k[0][100*64+3], a.v[0][77*64+5] = nan, nan, nan
			}
			var want guarded
			saved := use
			use = sets[len(sets)-1] // ref
			want = a.run(nil, nil)
			use = saved
			forSets(t, func(t *testing.T) {
				compare(t, fmt.Sprintf("%d rows over %d keys", rows, n), a.run(nil, &s), want)
			})
		}
	}
}
