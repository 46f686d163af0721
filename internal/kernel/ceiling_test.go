package kernel

import (
	"testing"
	"time"

	"verity/parallel"
)

func TestCeilings(t *testing.T) {
	pool := parallel.New(2)
	defer pool.Close()
	forSets(t, func(t *testing.T) {
		for _, p := range []*parallel.Pool{nil, pool} {
			const d = 2 * time.Millisecond
			fma, dot, vector, read := PeakFMA(p, d), PeakInt8(p, d), PeakVector(p, d, 34), ReadBandwidth(p, d)
			t.Logf("%d threads: %.1f GFLOP/s, %.1f GOP/s int8, %.1f GOP/s of vectors, %.1f GB/s", p.Threads(), fma/1e9, dot/1e9, vector/1e9, read/1e9)
			if !(min(fma, dot, vector, read) > 0) { // how much, the load of the machine decides
				t.Errorf("%g FLOP/s, %g int8 operations/s, %g of vectors, %g bytes/s: want all above 0", fma, dot, vector, read)
			}
		}
	})
}
