package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func log10(g *gen) {
	g.function("vecLog10", "func(dst, x []float32, floor float32)", "is log10Ref.")
	dst, x, n := g.slice("dst"), g.slice("x"), g.length("x")
	floor, least := g.broadcast("floor"), g.loadConst(leastNormal)
	g.keep(append(logPoly, -0.5, 1, ln2Lo, ln2Hi, log10e)...)
	g.loop("loop", n, []reg.GPVirtual{dst, x}, func(m mask) {
		v := g.load(at(x), m)
		g.each(func(i, at int) {
			c := func(v float32) operand.Op { return g.operand(v, i) }
			bits := func(b uint32) operand.Op { return g.constantBits(b).Offset(at) }
			e, p, w := g.like(v[i]), g.like(v[i]), g.like(v[i])
			g.VMAXPS(v[i], least[i], v[i])
			g.VPSUBD(bits(sqrtHalf), v[i], v[i])
			g.VPSRAD(operand.U8(23), v[i], e)
			g.VCVTDQ2PS(e, e)
			if g.wide {
				g.VPANDD(bits(mantissaBits), v[i], v[i])
			} else {
				g.VPAND(bits(mantissaBits), v[i], v[i])
			}
			g.VPADDD(bits(sqrtHalf), v[i], v[i])
			g.VSUBPS(c(1), v[i], v[i])
			g.VMOVUPS(c(logPoly[0]), p)
			for _, coef := range append(logPoly[1:], -0.5) {
				g.VFMADD213PS(c(coef), v[i], p)
			}
			g.VMULPS(v[i], v[i], w)
			g.VMULPS(p, w, w)
			g.VFMADD231PS(c(ln2Lo), e, w)
			g.VADDPS(v[i], w, w)
			g.VFMADD231PS(c(ln2Hi), e, w)
			g.VMULPS(c(log10e), w, w)
			g.VMAXPS(floor[i], w, v[i])
		})
		g.store(v, at(dst), m)
	})
	g.ret()
}

// squares writes squaresRef for a multiple of sixteen. down is where the sixteen lie that
// belong to the first sixteen of the sums.
func squares(g *gen) {
	g.function("vecSquares", "func(up, down, ce, co, se, so *float32, n int)",
		"is squaresRef for n a multiple of sixteen; down is the last sixteen.")
	up, down := g.pointer("up"), g.pointer("down")
	var sums [4]reg.GPVirtual
	for i, name := range []string{"ce", "co", "se", "so"} {
		sums[i] = g.pointer(name)
	}
	n := g.pointer("n")
	reverse := g.YMM()
	wide := g.ZMM
	if g.wide {
		z := wide()
		g.VMOVDQU32(g.indices(descending(15, 1)), z)
		reverse = z
	} else {
		g.VMOVDQU(g.indices(descending(7, 1)), reverse)
	}
	g.Label("loop")
	g.CMPQ(n, operand.U8(lanes))
	g.JLT(operand.LabelRef("done"))
	ce, co := g.load(at(sums[0]), mask{}), g.load(at(sums[1]), mask{})
	se, so := g.load(at(sums[2]), mask{}), g.load(at(sums[3]), mask{})
	g.each(func(i, off int) {
		re, im := g.like(ce[i]), g.like(ce[i])
		square := func() {
			g.VMULPS(re, re, re)
			g.VMULPS(im, im, im)
			g.VADDPS(im, re, re)
		}
		g.VADDPS(co[i], ce[i], re)
		g.VADDPS(so[i], se[i], im)
		square()
		g.VMOVUPS(re, at(up).Offset(off))
		g.VSUBPS(co[i], ce[i], re)
		g.VSUBPS(so[i], se[i], im)
		square()
		g.VPERMPS(re, reverse, re)
		g.VMOVUPS(re, at(down).Offset(64-g.step()-off))
	})
	for _, p := range append(sums[:], up) {
		g.ADDQ(operand.U8(4*lanes), p)
	}
	g.SUBQ(operand.U8(4*lanes), down)
	g.SUBQ(operand.U8(lanes), n)
	g.JMP(operand.LabelRef("loop"))
	g.Label("done")
	g.ret()
}

// foldFrame writes foldRef for a multiple of sixteen; m is that of foldRef.
func foldFrame(g *gen) {
	g.function("vecFold", "func(dst, x *float32, m, n int)", "is foldRef for the first n, a multiple of sixteen, of m.")
	dst, front, m, n := g.pointer("dst"), g.pointer("x"), g.pointer("m"), g.pointer("n")
	back, row := g.GP64(), g.GP64()
	g.MOVQ(m, back) // bytes of four rows, which is the length of x
	g.SHLQ(operand.U8(4), back)
	g.ADDQ(front, back)
	g.MOVQ(m, row)
	g.SHLQ(operand.U8(2), row)
	odd, mirrored := g.ZMM(), g.ZMM()
	g.VMOVDQU32(g.indices(ascending(1, 2)), odd)
	g.VMOVDQU32(g.indices(descending(31, 2)), mirrored)
	g.Label("loop")
	g.CMPQ(n, operand.U8(lanes))
	g.JLT(operand.LabelRef("done"))
	rows := g.GP64()
	g.MOVQ(dst, rows)
	// Even j first: x[2i+2] and x[n-2-2i], one place further on either side.
	for _, shift := range []int{4, 0} {
		pick := func(p operand.Mem, order reg.VecVirtual) reg.VecVirtual {
			high, v := g.ZMM(), g.ZMM()
			g.VMOVUPS(p.Offset(64), high)
			g.VMOVDQU32(order, v)
			low := g.ZMM()
			g.VMOVUPS(p, low)
			g.VPERMI2PS(high, low, v)
			return v
		}
		p := pick(at(front).Offset(shift), odd)
		q := pick(at(back).Offset(-128-shift), mirrored)
		sum, difference := g.ZMM(), g.ZMM()
		g.VADDPS(q, p, sum)
		g.VSUBPS(q, p, difference)
		g.VMOVUPS(sum, at(rows))
		g.VMOVUPS(difference, operand.Mem{Base: rows, Index: row, Scale: 2})
		g.ADDQ(row, rows)
	}
	g.ADDQ(operand.U8(4*lanes), dst)
	g.ADDQ(operand.U32(8*lanes), front)
	g.SUBQ(operand.U32(8*lanes), back)
	g.SUBQ(operand.U8(lanes), n)
	g.JMP(operand.LabelRef("loop"))
	g.Label("done")
	g.ret()
}

func ascending(first, step uint32) (order []uint32) {
	for i := range uint32(lanes) {
		order = append(order, first+i*step)
	}
	return order
}

func descending(first, step uint32) (order []uint32) {
	for i := range uint32(lanes) {
		if i*step > first {
			break
		}
		order = append(order, first-i*step)
	}
	return order
}
