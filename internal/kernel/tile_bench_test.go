package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func BenchmarkTile(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	fill := func(x []float32) []float32 {
		for i := range x {
			x[i] = rng.Float32()
		}
		return x
	}
	for _, n := range []int{64, 256, 1280} {
		for _, rows := range []int{1, 2, 3, 4, 5, 6, 12, 96} {
			acc, x := make([]float32, rows*panel), fill(make([]float32, rows*n))
			wf := view[float32](aligned(n * panel * 4))
			wh := view[uint16](aligned(n * panel * 2))
			fill(wf)
			for i := range wh {
				wh[i] = 0x3c00 + uint16(rng.Uint32()&0xff)
			}
			run := func(name string, f func()) {
				b.Run(fmt.Sprintf("%s/n=%d/rows=%d", name, n, rows), func(b *testing.B) {
					for b.Loop() {
						f()
					}
					b.ReportMetric(float64(b.N)*2*float64(rows*panel*n)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
				})
			}
			run("f32", func() { use.tiles.f32(acc, x, n, rows, wf, hint{}) })
			run("f16", func() { use.tiles.f16(acc, x, n, rows, wh, hint{}) })
		}
	}
}
