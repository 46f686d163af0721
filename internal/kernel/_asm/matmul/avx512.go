package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func avx512() {
	for _, w := range floats {
		for rows := 1; rows <= 6; rows++ {
			tile512(w, rows)
		}
	}
	wide.floats()
}

// tile512 generates a tile: rows by four vectors of sums, up to 24. Up to four rows of
// int8 prefetch into the first-level cache: Zen 5 is up to 9 % faster so. More rows are
// those of long products, whose next weights are too many for it.
func tile512(w width, rows int) {
	const vectors, unroll = panel / 16, 4
	near := w.name == "Int8" && rows <= 4
	a := load("AVX512", w, rows)
	acc := make([]reg.VecVirtual, rows*vectors)
	at := func(i int) Mem { return Mem{Base: a.acc, Disp: 64 * i} }
	for i := range acc {
		acc[i] = ZMM()
		VMOVUPS(at(i), acc[i])
	}
	loop(a, w, unroll, func(u int) {
		wide := make([]reg.VecVirtual, vectors)
		for v := range wide {
			wide[v] = ZMM()
			load512(w, Mem{Base: a.w, Disp: u * panel * w.size}, v, wide[v])
		}
		a.prefetch(panel*w.size, near)
		for r := range rows {
			factor := ZMM()
			if w.name == "Int8" {
				VPBROADCASTD(a.row(r, u), factor)
			} else {
				VBROADCASTSS(a.row(r, u), factor)
			}
			for v := range wide {
				if w.name == "Int8" {
					VPDPBUSD(wide[v], factor, acc[r*vectors+v])
				} else {
					VFMADD231PS(wide[v], factor, acc[r*vectors+v])
				}
			}
		}
	})
	for i := range acc {
		VMOVUPS(acc[i], at(i))
	}
	VZEROUPPER()
	RET()
}

// load512 loads vector v of the panel's row k, which is at m.
func load512(w width, m Mem, v int, dst reg.VecVirtual) {
	switch w.name {
	case "F32", "Int8":
		VMOVUPS(m.Offset(64*v), dst)
	case "F16":
		VCVTPH2PS(m.Offset(32*v), dst)
	}
}
