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
				int8s.fn.tile(acc, x, n, rows, w, hint{})
			}
			b.ReportMetric(float64(b.N)*2*float64(rows*panel*n)/float64(b.Elapsed().Nanoseconds()), "GOP/s")
		})
	}
}
