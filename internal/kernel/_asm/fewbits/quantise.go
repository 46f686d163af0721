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

// quantise generates the rounding of groups to int8, each with a scale of its own.
func quantise(s isa) {
	TEXT("quantiseGroups"+s.name, NOSPLIT, "func(q *byte, scale *float32, start *int32, x *float32, groups int)")
	Pragma("noescape")
	Doc("quantiseGroups" + s.name + " does quantiseGroupsRef for groups whole groups.")
	q, scale, start := load64("q"), load64("scale"), load64("start")
	x, n := load64("x"), load64("groups")
	mask, round := s.words(0x7fffffff), s.words(magic)
	most := XMM()
	full := GP32()
	MOVL(U32(0x42fe0000), full) // 127
	VMOVD(full, most)
	v := make([]reg.VecVirtual, 4*group/s.size)
	Label("loop")
	peak := largest(s, x, v, mask)
	bits := GP32()
	VMOVD(peak, bits)
	inverse, unit := XMM(), XMM()
	CMPL(bits, U32(tiny))
	JB(LabelRef("zero"))
	CMPL(bits, U32(inf))
	JAE(LabelRef("infinite"))
	VDIVSS(peak, most, inverse)
	VDIVSS(most, peak, unit)
	Label("round")
	VMOVSS(unit, Mem{Base: scale})
	by := s.vector()
	VBROADCASTSS(inverse, by)
	for i := range v {
		VMULPS(by, v[i], v[i])
		VADDPS(round, v[i], v[i])
		VPSUBD(round, v[i], v[i])
	}
	pack(s, q, v)
	sum := fold(s, v)
	NEGL(sum)
	MOVL(sum, Mem{Base: start})
	ADDQ(U8(group), q)
	ADDQ(U8(4), scale)
	ADDQ(U8(4), start)
	ADDQ(U32(4*group), x)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
	Label("zero")
	VXORPS(inverse, inverse, inverse)
	VXORPS(unit, unit, unit)
	JMP(LabelRef("round"))
	Label("infinite")
	nan := GP32()
	VXORPS(inverse, inverse, inverse)
	MOVL(U32(0x7fc00000), nan)
	VMOVD(nan, unit)
	Comment("Infinity times zero is not a number, and no int8: round zeros.")
	for i := range v {
		xor(s, v[i])
	}
	JMP(LabelRef("round"))
}

func xor(s isa, v reg.VecVirtual) {
	if s.size == 64 {
		VPXORD(v, v, v)
	} else {
		VPXOR(v, v, v)
	}
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
	return reduce(s, top, func(a, b, to Op) { VPMAXUD(a, b, to) })
}

// fold returns the sum of all 32-bit elements of v, which it overwrites.
func fold(s isa, v []reg.VecVirtual) reg.GPVirtual {
	for _, w := range v[1:] {
		VPADDD(w, v[0], v[0])
	}
	r := GP32()
	VMOVD(reduce(s, v[0], func(a, b, to Op) { VPADDD(a, b, to) }), r)
	return r
}

// reduce combines the elements of v by do. The result is the first element of the vector
// that it returns.
func reduce(s isa, v reg.VecVirtual, do func(a, b, to Op)) reg.VecVirtual {
	if s.size == 64 {
		half := YMM()
		VEXTRACTI64X4(U8(1), v, half)
		do(half, v.AsY(), half)
		v = half
	}
	low := XMM()
	VEXTRACTI128(U8(1), v.AsY(), low)
	do(low, v.AsX(), low)
	for _, order := range []uint8{0x4e, 0xb1} {
		other := XMM()
		VPSHUFD(U8(order), low, other)
		do(other, low, low)
	}
	return low
}

// pack stores 32 integers as bytes at q.
func pack(s isa, q reg.GPVirtual, v []reg.VecVirtual) {
	if s.size == 64 {
		for i := range v {
			VPMOVDB(v[i], Mem{Base: q, Disp: 16 * i})
		}
		return
	}
	a, b := YMM(), YMM()
	VPACKSSDW(v[1], v[0], a)
	VPACKSSDW(v[3], v[2], b)
	VPACKSSWB(b, a, a)
	Comment("Halves are packed apart: put the fours in order.")
	lo, hi := XMM(), XMM()
	VEXTRACTI128(U8(1), a, hi)
	VPUNPCKLDQ(hi, a.AsX(), lo)
	VPUNPCKHDQ(hi, a.AsX(), hi)
	VMOVDQU(lo, Mem{Base: q})
	VMOVDQU(hi, Mem{Base: q, Disp: 16})
}
