package kernel

import (
	"fmt"
	"testing"
)

// BenchmarkTileInt8 is the int8 tile on weights that a first-level cache holds.
func BenchmarkTileInt8(b *testing.B) {
	for _, rows := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 192} {
		const n = 256
		acc, x, w := make([]int32, rows*panel), make([]uint8, rows*n), view[int8](aligned(n*panel))
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			for b.Loop() {
				use.int8s.tile(acc, x, n, rows, w, hint{begun: true})
			}
			b.ReportMetric(float64(b.N)*2*float64(rows*panel*n)/float64(b.Elapsed().Nanoseconds()), "GOP/s")
		})
	}
}

// BenchmarkTilePackedBy4 is the tile of activations without outliers, likewise.
func BenchmarkTilePackedBy4(b *testing.B) {
	if use.int8s.tilePackedBy4 == nil {
		b.Skip("needs another processor: none of " + use.name)
	}
	for _, rows := range []int{3, 4, 5, 6, 7, 8, 9, 10, packedBy4Rows} {
		const n = wordDepth
		acc, x, w := make([]int32, rows*panel), make([]uint8, rows*n), aligned(n*panel)
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			for b.Loop() {
				use.int8s.tilePackedBy4(&acc[0], &x[0], n, &w[0], n/4, 0, 4*panel, rows)
			}
			b.ReportMetric(float64(b.N)*2*float64(rows*panel*n)/float64(b.Elapsed().Nanoseconds()), "GOP/s")
		})
	}
}
