package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"

	"verity/internal/kernel/_asm/vex"
)

// tileInt8VNNI generates a tile for AVX-VNNI, of processors without AVX-512, for three rows
// and more: fewer are as fast with AVX2. It goes
// through the columns in slices, each over all k. Registers are physical ones, since
// vex.Dot needs their numbers: sums, two of weights, two of activations.
func tileInt8VNNI(rows int) {
	a, n := load("VNNI", int8s, rows), 2 // vectors of eight columns in a slice
	if rows == 3 {
		n = 4
	}
	const weights, factors = 12, 14
	slices(a, 32*n, 32*n, func(b args) {
		for i := range rows * n {
			VPXOR(vex.Y(i), vex.Y(i), vex.Y(i))
		}
		loop(b, int8s, 2, func(u int) {
			b.prefetch(32*n, false)
			at := func(v int) Mem { return Mem{Base: b.w, Disp: u*panel*4 + 32*v} }
			for v := 0; v < n; v += 2 {
				VMOVDQU(at(v), vex.Y(weights))
				VMOVDQU(at(v+1), vex.Y(weights+1))
				for r := range rows {
					VPBROADCASTD(b.row(r, u), vex.Y(factors+r%2))
					vex.Dot(vex.Global, r*n+v, factors+r%2, weights)
					vex.Dot(vex.Global, r*n+v+1, factors+r%2, weights+1)
				}
			}
		})
		for r := range rows {
			for v := range n {
				sum, at := vex.Y(r*n+v), Mem{Base: a.acc, Disp: 4*r*panel + 32*v}
				VPADDD(at, sum, sum)
				VMOVDQU(sum, at)
			}
		}
	})
}
