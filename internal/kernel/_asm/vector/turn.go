package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// scatterHalf writes eight elements at a time, and then one by one.
func scatterHalf(g *gen) {
	g.function("vecScatterHalf", "func(dst []uint16, step int, x []float32)", "is scatterHalfRef.")
	dst, x, n := g.slice("dst"), g.slice("x"), g.length("x")
	step, step3 := g.Load(g.Param("step"), g.GP64()).(reg.GPVirtual), g.GP64()
	g.ADDQ(step, step) // in bytes
	g.LEAQ(operand.Mem{Base: step, Index: step, Scale: 2}, step3)
	half := g.XMM()
	put := func(lane int, index reg.GPVirtual, scale uint8) {
		m := operand.Mem{Base: dst}
		if scale > 0 {
			m.Index, m.Scale = index, scale
		}
		g.VPEXTRW(operand.U8(lane), half, m)
	}
	g.SUBQ(operand.U8(8), n)
	g.JLT(operand.LabelRef("few"))
	g.Label("eight")
	eight := g.YMM()
	g.VMOVUPS(at(x), eight)
	g.VCVTPS2PH(operand.U8(nearestEven), eight, half)
	for i := 0; i < 8; i += 4 {
		put(i, step, 0)
		put(i+1, step, 1)
		put(i+2, step, 2)
		put(i+3, step3, 1)
		g.LEAQ(operand.Mem{Base: dst, Index: step, Scale: 4}, dst)
	}
	g.ADDQ(operand.U8(32), x)
	g.SUBQ(operand.U8(8), n)
	g.JGE(operand.LabelRef("eight"))
	g.Label("few")
	g.ADDQ(operand.U8(8), n)
	g.JE(operand.LabelRef("done"))
	g.Label("one")
	one := g.XMM()
	g.VMOVSS(at(x), one)
	g.VCVTPS2PH(operand.U8(nearestEven), one, half)
	put(0, step, 0)
	g.ADDQ(step, dst)
	g.ADDQ(operand.U8(4), x)
	g.DECQ(n)
	g.JNE(operand.LabelRef("one"))
	g.Label("done")
	g.ret()
}

// narrow rounds a multiple of eight elements to binary16.
func narrow(g *gen) {
	g.function("vecNarrow", "func(dst *uint16, x *float32, n int)",
		"is narrowRef for n elements, a multiple of eight above 0.")
	dst, x, n := g.pointer("dst"), g.pointer("x"), g.pointer("n")
	g.Label("eight")
	eight := g.YMM()
	g.VMOVUPS(at(x), eight)
	g.VCVTPS2PH(operand.U8(nearestEven), eight, at(dst))
	g.ADDQ(operand.U8(32), x)
	g.ADDQ(operand.U8(16), dst)
	g.SUBQ(operand.U8(8), n)
	g.JNE(operand.LabelRef("eight"))
	g.ret()
}

const nearestEven = 0 // of VCVTPS2PH

// turn transposes squares of 8×8, rows first, and rounds them to binary16 if half.
func turn(g *gen, half bool) {
	name, elem, size := "Turn", "float32", 4
	if half {
		name, elem, size = "TurnHalf", "uint16", 2
	}
	g.function("vec"+name, "func(dst *"+elem+", x *float32, stride, rows, cols int)",
		"is turn"+name[4:]+"Ref for multiples of eight above 0; stride is in bytes.")
	dst, x, rows := g.pointer("dst"), g.pointer("x"), g.pointer("rows")
	stride, stride3, stride5 := g.pointer("stride"), g.GP64(), g.GP64()
	g.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	g.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 4}, stride5)
	to, from, cols := g.GP64(), g.GP64(), g.GP64()
	g.Label("rows")
	g.MOVQ(dst, to)
	g.MOVQ(x, from)
	g.Load(g.Param("cols"), cols)
	g.Label("square")
	g.square(from, stride, stride3, stride5, func(c int, v reg.VecVirtual) {
		if m := (operand.Mem{Base: to, Disp: c * panelKeys * size}); half {
			g.VCVTPS2PH(operand.U8(nearestEven), v, m)
		} else {
			g.VMOVUPS(v, m)
		}
	})
	g.ADDQ(operand.U8(32), from)
	g.ADDQ(operand.U32(8*panelKeys*size), to)
	g.SUBQ(operand.U8(8), cols)
	g.JNE(operand.LabelRef("square"))
	g.LEAQ(operand.Mem{Base: x, Index: stride, Scale: 8}, x)
	g.ADDQ(operand.U8(8*size), dst)
	g.SUBQ(operand.U8(8), rows)
	g.JNE(operand.LabelRef("rows"))
	g.ret()
}

const panelKeys = 64 // keys in a panel of the cache

// square transposes 8×8 float32, rows stride apart, and hands over the columns.
func (g *gen) square(from, stride, stride3, stride5 reg.GPVirtual, put func(c int, v reg.VecVirtual)) {
	seventh := g.GP64()
	g.LEAQ(operand.Mem{Base: from, Index: stride3, Scale: 2}, seventh) // row 6
	rows := [8]operand.Mem{
		at(from), {Base: from, Index: stride, Scale: 1},
		{Base: from, Index: stride, Scale: 2}, {Base: from, Index: stride3, Scale: 1},
		{Base: from, Index: stride, Scale: 4}, {Base: from, Index: stride5, Scale: 1},
		at(seventh), {Base: seventh, Index: stride, Scale: 1},
	}
	// Rows r and r+4 share a register by halves, so that what is left is transposing
	// 4×4 in each half.
	var halves [2][4]reg.VecVirtual // [columns 0 … 3, columns 4 … 7][row]
	for side := range halves {
		for r := range 4 {
			v := g.YMM()
			g.VMOVUPS(rows[r].Offset(16*side), v.AsX())
			g.VINSERTF128(operand.U8(1), rows[r+4].Offset(16*side), v, v)
			halves[side][r] = v
		}
	}
	for side, h := range halves {
		low01, high01, low23, high23 := g.YMM(), g.YMM(), g.YMM(), g.YMM()
		g.VUNPCKLPS(h[1], h[0], low01)
		g.VUNPCKHPS(h[1], h[0], high01)
		g.VUNPCKLPS(h[3], h[2], low23)
		g.VUNPCKHPS(h[3], h[2], high23)
		for i, pair := range [2][2]reg.VecVirtual{{low01, low23}, {high01, high23}} {
			even, odd := g.YMM(), g.YMM()
			g.VUNPCKLPD(pair[1], pair[0], even)
			g.VUNPCKHPD(pair[1], pair[0], odd)
			put(4*side+2*i, even)
			put(4*side+2*i+1, odd)
		}
	}
}
