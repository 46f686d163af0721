package main

import (
	"github.com/mmcloughlin/avo/operand"

	"verity/internal/kernel/_asm/vex"
)

// sliceVNNI needs no 16 bits. Registers are physical ones, since vex.Dot needs their
// numbers: sums, two of keys, two of queries.
func (s *score) sliceVNNI(n int) {
	const keys, queries = 12, 14
	for r := range s.rows {
		s.VPBROADCASTD(operand.Mem{Base: s.start, Disp: 4 * r}, vex.Y(r*n))
		for v := 1; v < n; v++ {
			s.VMOVDQA(vex.Y(r*n), vex.Y(r*n+v))
		}
	}
	s.factors(2, 4, func(u int) {
		s.fetch(32 * n)
		for v := 0; v < n; v += 2 {
			s.VMOVDQU(operand.Mem{Base: s.k, Disp: 256*u + 32*v}, vex.Y(keys))
			s.VMOVDQU(operand.Mem{Base: s.k, Disp: 256*u + 32*(v+1)}, vex.Y(keys+1))
			for r := range s.rows {
				q := queries + r%2
				s.VPBROADCASTD(row(r, s.q, s.q3, s.qStride).Offset(4*u), vex.Y(q))
				vex.Dot(s, r*n+v, keys, q)
				vex.Dot(s, r*n+v+1, keys+1, q)
			}
		}
	})
	s.dst3 = s.GP64()
	s.third(s.dst, s.dStride, s.dst3)
	for r := range s.rows {
		q, by := vex.Y(queries), vex.Y(queries+1)
		s.VBROADCASTSS(operand.Mem{Base: s.scale, Disp: 4 * r}, q)
		for v := range n {
			sum := vex.Y(r*n + v)
			s.VMULPS(operand.Mem{Base: s.kScale, Disp: 32 * v}, q, by)
			s.VCVTDQ2PS(sum, sum)
			s.VMULPS(by, sum, sum)
			s.VMOVUPS(sum, row(r, s.dst, s.dst3, s.dStride).Offset(32*v))
		}
	}
}
