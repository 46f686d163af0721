package kernel

import (
	"testing"
	"time"

	"verity/internal/parallel"
)

func TestCeilings(t *testing.T) {
	pool := parallel.New(2)
	defer pool.Close()
	for _, im := range ceilingImpls {
		t.Run(im.name, func(t *testing.T) {
			if !im.ok {
				skipOrRequire(t, im.name)
			}
			saved := ceilings
			ceilings = im
			defer func() { ceilings = saved }()
			for _, p := range []*parallel.Pool{nil, pool} {
				const d = 2 * time.Millisecond
				fma, dot, read := PeakFMA(p, d), PeakVNNI(p, d), ReadBandwidth(p, d)
				t.Logf("%d threads: %.1f GFLOP/s, %.1f GOP/s int8, %.1f GB/s", p.Threads(), fma/1e9, dot/1e9, read/1e9)
				if !(fma > 1e7) || !(dot > 1e7) || !(read > 1e7) {
					t.Errorf("%g FLOP/s, %g int8 operations/s, %g bytes/s: too little to be true", fma, dot, read)
				}
			}
		})
	}
}
