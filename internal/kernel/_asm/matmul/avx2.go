package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func avx2() {
	for _, w := range floats {
		for rows := 1; rows <= 6; rows++ {
			tile256(w, rows)
		}
	}
	narrow.floats()
}

// vectors256 is how many vectors of 8 columns are summed at a time. The sums of more
// would not fit 16 registers.
func vectors256(rows int) int { return []int{8, 4, 4, 2, 2, 2}[rows-1] }

// tile256 generates a tile that goes through the columns in slices, each over all k.
func tile256(w width, rows int) {
	a, n := load("AVX2", w, rows), vectors256(rows)
	acc := make([]reg.VecVirtual, rows*n)
	for i := range acc {
		acc[i] = YMM()
	}
	slices(a, n*8*w.size, n*32, func(b args) {
		at := func(i int) Mem { return Mem{Base: a.acc, Disp: 4*panel*(i/n) + 32*(i%n)} }
		for i := range acc {
			VMOVUPS(at(i), acc[i])
		}
		loop(b, w, 2, func(u int) {
			b.prefetch(n*8*w.size, false)
			step256(b, w, rows, acc, u)
		})
		for i := range acc {
			VMOVUPS(acc[i], at(i))
		}
	})
}

// step256 generates the products of step k+u. It keeps in registers what is fewer: the
// factors of the rows, or the vectors of weights.
func step256(a args, w width, rows int, acc []reg.VecVirtual, u int) {
	n := len(acc) / rows
	at := func(v int) Mem { return Mem{Base: a.w, Disp: (u*panel + 8*v) * w.size} }
	if rows <= 3 {
		factors := make([]reg.VecVirtual, rows)
		for r := range factors {
			factors[r] = YMM()
			VBROADCASTSS(a.row(r, u), factors[r])
		}
		for v := range n {
			wide := YMM()
			load256(w, at(v), wide)
			for r := range rows {
				VFMADD231PS(wide, factors[r], acc[r*n+v])
			}
		}
		return
	}
	wide := make([]reg.VecVirtual, n)
	for v := range wide {
		wide[v] = YMM()
		load256(w, at(v), wide[v])
	}
	for r := range rows {
		factor := YMM()
		VBROADCASTSS(a.row(r, u), factor)
		for v := range wide {
			VFMADD231PS(wide[v], factor, acc[r*n+v])
		}
	}
}

// load256 loads eight weights.
func load256(w width, m Mem, dst reg.VecVirtual) {
	if w.name == "F16" {
		VCVTPH2PS(m, dst)
	} else {
		VMOVUPS(m, dst)
	}
}
