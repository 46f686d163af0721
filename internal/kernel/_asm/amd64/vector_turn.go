package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// scatterHalf writes eight elements at a time, and then one by one.
func scatterHalf(g *gen) {
	g.function("ScatterHalf", "func(dst []uint16, step int, x []float32)")
	dst, x, n := g.slice("dst"), g.slice("x"), g.length("x")
	step, step3 := Load(Param("step"), GP64()).(reg.GPVirtual), GP64()
	ADDQ(step, step) // in bytes
	LEAQ(Mem{Base: step, Index: step, Scale: 2}, step3)
	half := XMM()
	put := func(lane int, index reg.GPVirtual, scale uint8) {
		m := Mem{Base: dst}
		if scale > 0 {
			m.Index, m.Scale = index, scale
		}
		VPEXTRW(U8(lane), half, m)
	}
	SUBQ(U8(8), n)
	JLT(ref("few"))
	label("eight")
	eight := YMM()
	VMOVUPS(at(x), eight)
	VCVTPS2PH(U8(nearestEven), eight, half)
	for i := 0; i < 8; i += 4 {
		put(i, step, 0)
		put(i+1, step, 1)
		put(i+2, step, 2)
		put(i+3, step3, 1)
		LEAQ(Mem{Base: dst, Index: step, Scale: 4}, dst)
	}
	ADDQ(U8(32), x)
	SUBQ(U8(8), n)
	JGE(ref("eight"))
	label("few")
	ADDQ(U8(8), n)
	JE(ref("done"))
	label("one")
	one := XMM()
	VMOVSS(at(x), one)
	VCVTPS2PH(U8(nearestEven), one, half)
	put(0, step, 0)
	ADDQ(step, dst)
	ADDQ(U8(4), x)
	DECQ(n)
	JNE(ref("one"))
	label("done")
	ret()
}

// narrowHalf rounds a multiple of eight elements to binary16.
func narrowHalf(g *gen) {
	g.function("Narrow", "func(dst *uint16, x *float32, n int)",
		"vecNarrow"+g.name+" is for n elements, a multiple of eight above 0.")
	dst, x, n := load64("dst"), load64("x"), load64("n")
	label("eight")
	eight := YMM()
	VMOVUPS(at(x), eight)
	VCVTPS2PH(U8(nearestEven), eight, at(dst))
	ADDQ(U8(32), x)
	ADDQ(U8(16), dst)
	SUBQ(U8(8), n)
	JNE(ref("eight"))
	ret()
}

const nearestEven = 0 // of VCVTPS2PH
