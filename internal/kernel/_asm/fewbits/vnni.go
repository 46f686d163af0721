package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"

	"verity/internal/kernel/_asm/vex"
)

// Registers of directVNNI by number, since vex.Dot needs them: sums of up to six rows
// come first.
const (
	loVNNI = 6 + iota
	hiVNNI
	lowVNNI // a mask of four bits
	tableVNNI
	zeroVNNI
	ownVNNI // zero less that of a column
	scaleVNNI
	qVNNI // and the next
	_
	byVNNI
)

// directVNNI generates what direct512 does, for AVX-VNNI and four-bit codes, eight
// columns at a time.
func directVNNI(rows int, f directForm) {
	d := beginDirect(rows, f, isa{"VNNI", YMM, 32})
	more := load64("more")
	if !f.zeros {
		VBROADCASTI128(Mem{Base: more}, vex.Y(tableVNNI))
	}
	bits := GP32()
	MOVL(U32(0x0f0f0f0f), bits)
	spread := func(from Op, register int) {
		x := vex.Y(register).AsX()
		VMOVD(from, x)
		VPBROADCASTD(x, vex.Y(register))
	}
	spread(bits, lowVNNI)
	spread(load64("zero").As32(), zeroVNNI)
	lo, hi, own, scale, by := vex.Y(loVNNI), vex.Y(hiVNNI), vex.Y(zeroVNNI), vex.Y(scaleVNNI), vex.Y(byVNNI)
	d.columns(f, more, func() {
		if f.zeros {
			own = vex.Y(ownVNNI)
			VPMOVZXBD(Mem{Base: more}, own)
			VPSUBD(own, vex.Y(zeroVNNI), own)
		}
		for r := range rows {
			VPBROADCASTD(d.rowStart(r), vex.Y(r))
			VPMADDWD(own, vex.Y(r), vex.Y(r))
		}
		for quad := range group / 8 {
			at := quad * quadBytes
			VMOVDQU(Mem{Base: d.u, Disp: at}, lo)
			PREFETCHT0(Mem{Base: d.u, Disp: directAhead*f.codes + at})
			VPSRLW(U8(4), lo, hi)
			VPAND(vex.Y(lowVNNI), lo, lo)
			VPAND(vex.Y(lowVNNI), hi, hi)
			if !f.zeros {
				VPSHUFB(lo, vex.Y(tableVNNI), lo)
				VPSHUFB(hi, vex.Y(tableVNNI), hi)
			}
			for half, u := range []int{loVNNI, hiVNNI} {
				for r := range rows {
					q := qVNNI + r%2
					VPBROADCASTD(d.rowQ(r, 4*(quad+half*group/8)), vex.Y(q))
					vex.Dot(vex.Global, r, u, q)
				}
			}
		}
		VCVTPH2PS(Mem{Base: d.wScale}, scale)
		for r := range rows {
			sum := vex.Y(r)
			VBROADCASTSS(d.rowScale(r), by)
			VMULPS(scale, by, by)
			VCVTDQ2PS(sum, sum)
			VFMADD213PS(d.sum(r, 0), by, sum)
			VMOVUPS(sum, d.sum(r, 0))
		}
	})
}
