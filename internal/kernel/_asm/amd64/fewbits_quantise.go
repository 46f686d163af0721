package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	magic = 0x4b400000 // 1.5·2²³, as in roundInt8
	tiny  = 27 << 23   // 2⁻¹⁰⁰, as in int8Scale
	inf   = 0x7f800000
)

// quantiseGroups generates the rounding of whole groups to int8, each with a scale of its own.
func quantiseGroups(s isa) {
	p := s.begin("quantiseGroups", "(q *byte, scale *float32, start *int32, x *float32, groups int)",
		"q", "scale", "start", "x", "groups")
	q, scale, start, x, n := p[0], p[1], p[2], p[3], p[4]
	mask, round := s.words(0x7fffffff), s.words(magic)
	most := XMM()
	full := GP32()
	MOVL(U32(0x42fe0000), full) // 127
	VMOVD(full, most)
	v := make([]reg.VecVirtual, 4*group/s.size)
	label("loop")
	peak := largest(s, x, v, mask)
	bits := GP32()
	VMOVD(peak, bits)
	inverse, unit := XMM(), XMM()
	CMPL(bits, U32(tiny))
	JB(ref("zero"))
	CMPL(bits, U32(inf))
	JAE(ref("infinite"))
	VDIVSS(peak, most, inverse)
	VDIVSS(most, peak, unit)
	label("round")
	VMOVSS(unit, Mem{Base: scale})
	by := s.dupFloat(inverse)
	for i := range v {
		VMULPS(by, v[i], v[i])
		VADDPS(round, v[i], v[i])
		VPSUBD(round, v[i], v[i])
	}
	pack(s, q, v)
	sum := sumOf(s, v)
	NEGL(sum)
	MOVL(sum, Mem{Base: start})
	ADDQ(U8(group), q)
	ADDQ(U8(4), scale)
	ADDQ(U8(4), start)
	ADDQ(U32(4*group), x)
	repeat(1, n)
	label("zero")
	VXORPS(inverse, inverse, inverse)
	VXORPS(unit, unit, unit)
	JMP(ref("round"))
	label("infinite")
	nan := GP32()
	VXORPS(inverse, inverse, inverse)
	MOVL(U32(0x7fc00000), nan)
	VMOVD(nan, unit)
	Comment("Infinity times zero is not a number, and no int8: round zeros.")
	for i := range v {
		s.xor(v[i])
	}
	JMP(ref("round"))
}

// largest loads a group to v and returns the bits of its largest magnitude.
func largest(s isa, x reg.GPVirtual, v []reg.VecVirtual, mask reg.VecVirtual) reg.VecVirtual {
	top := s.vector()
	for i := range v {
		v[i] = s.vector()
		s.load(Mem{Base: x, Disp: i * s.size}, v[i])
		if i == 0 {
			s.and(mask, v[i], top)
			continue
		}
		m := s.vector()
		s.and(mask, v[i], m)
		VPMAXUD(m, top, top)
	}
	return s.reduce(top, func(a, b, to Op) { VPMAXUD(a, b, to) })
}

// sumOf returns the sum of all 32-bit elements of v, which it overwrites.
func sumOf(s isa, v []reg.VecVirtual) reg.GPVirtual {
	for _, w := range v[1:] {
		VPADDD(w, v[0], v[0])
	}
	r := GP32()
	VMOVD(s.reduce(v[0], func(a, b, to Op) { VPADDD(a, b, to) }), r)
	return r
}

// pack stores 32 integers as bytes at q.
func pack(s isa, q reg.GPVirtual, v []reg.VecVirtual) {
	if s.isWide() {
		for i := range v {
			VPMOVDB(v[i], Mem{Base: q, Disp: 16 * i})
		}
		return
	}
	a, b := YMM(), YMM()
	VPACKSSDW(v[1], v[0], a)
	VPACKSSDW(v[3], v[2], b)
	VPACKSSWB(b, a, a)
	Comment("Halves are packed apart: put the words in order.")
	lo, hi := XMM(), XMM()
	VEXTRACTI128(U8(1), a, hi)
	VPUNPCKLDQ(hi, a.AsX(), lo)
	VPUNPCKHDQ(hi, a.AsX(), hi)
	VMOVDQU(lo, Mem{Base: q})
	VMOVDQU(hi, Mem{Base: q, Disp: 16})
}
