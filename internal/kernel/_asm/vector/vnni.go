package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"

	"verity/internal/kernel/_asm/vex"
)

// panelVNNI goes through the keys in slices, each over all quads, as panel256 does, but
// needs no 16 bits. Registers are physical ones, since vex.Dot needs their numbers: sums,
// two of keys, two of queries.
func (s *score) panelVNNI() {
	n := []int{8, 4, 4, 2, 2, 2}[s.rows-1] // vectors of eight keys in a slice
	const keys, queries = 12, 14
	s.third(s.dst, s.dStride, s.dst3)
	from := s.GP64()
	for first := 0; first < panelKeys/8; first += n {
		for r := range s.rows {
			s.VPBROADCASTD(operand.Mem{Base: s.start, Disp: 4 * r}, vex.Y(r*n))
			for v := 1; v < n; v++ {
				s.VMOVDQA(vex.Y(r*n), vex.Y(r*n+v))
			}
		}
		s.MOVQ(s.k, from)
		s.factors(fmt.Sprintf("at%d", first), 2, func(u int) {
			for v := 0; first == 0 && v < 4; v++ {
				s.PREFETCHT0(operand.Mem{Base: s.k, Disp: 256*u + 64*v + scoreAhead})
			}
			for v := 0; v < n; v += 2 {
				s.VMOVDQU(operand.Mem{Base: s.k, Disp: 256*u + 32*(first+v)}, vex.Y(keys))
				s.VMOVDQU(operand.Mem{Base: s.k, Disp: 256*u + 32*(first+v+1)}, vex.Y(keys+1))
				for r := range s.rows {
					q := queries + r%2
					s.VPBROADCASTD(row(r, s.q, s.q3, s.qStride).Offset(4*u), vex.Y(q))
					vex.Dot(s, r*n+v, keys, q)
					vex.Dot(s, r*n+v+1, keys+1, q)
				}
			}
		})
		if first+n < panelKeys/8 {
			s.MOVQ(from, s.k)
		}
		for r := range s.rows {
			q, by := vex.Y(queries), vex.Y(queries+1)
			s.VBROADCASTSS(operand.Mem{Base: s.scale, Disp: 4 * r}, q)
			for v := range n {
				at, sum := 32*(first+v), vex.Y(r*n+v)
				s.VMULPS(operand.Mem{Base: s.kScale, Disp: at}, q, by)
				s.VCVTDQ2PS(sum, sum)
				s.VMULPS(by, sum, sum)
				s.VMOVUPS(sum, row(r, s.dst, s.dst3, s.dStride).Offset(at))
			}
		}
	}
}
