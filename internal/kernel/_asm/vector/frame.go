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

// chain keeps all lanes of its sums in registers.
func chain(g *gen) {
	g.function("vecChain", "func(dst, w, x []float32)", "is chainRef.")
	dst, w, n, x := g.slice("dst"), g.slice("w"), g.length("w"), g.slice("x")
	var sums [panelKeys / lanes]vec
	for i := range sums {
		sums[i] = g.zero()
	}
	g.Label("loop")
	g.TESTQ(n, n)
	g.JE(operand.LabelRef("done"))
	factor := g.vec()[:1]
	g.VBROADCASTSS(at(w), factor[0])
	for i, sum := range sums {
		g.each(func(j, off int) { g.VFMADD231PS(at(x).Offset(4*lanes*i+off), factor[0], sum[j]) })
	}
	g.ADDQ(operand.U8(4), w)
	g.ADDQ(operand.U32(4*panelKeys), x)
	g.DECQ(n)
	g.JMP(operand.LabelRef("loop"))
	g.Label("done")
	for i, sum := range sums {
		g.store(sum, at(dst).Offset(4*lanes*i), mask{})
	}
	g.ret()
}

func fold(g *gen) {
	g.function("vecFold", "func(sum, difference, x, y []float32)", "is foldRef.")
	sum, difference := g.slice("sum"), g.slice("difference")
	x, y, n := g.slice("x"), g.slice("y"), g.length("x")
	g.loop("loop", n, []reg.GPVirtual{sum, difference, x, y}, func(m mask) {
		a, b := g.load(at(x), m), g.load(at(y), m)
		p, q := g.vec(), g.vec()
		for i := range a {
			g.VADDPS(b[i], a[i], p[i])
			g.VSUBPS(b[i], a[i], q[i])
		}
		g.store(p, at(sum), m)
		g.store(q, at(difference), m)
	})
	g.ret()
}

func squares(g *gen) {
	g.function("vecSquares", "func(up, down, c0, c1, s0, s1 []float32)", "is squaresRef.")
	up, down := g.slice("up"), g.slice("down")
	pointers := []reg.GPVirtual{g.slice("c0"), g.slice("c1"), g.slice("s0"), g.slice("s1"), up, down}
	n := g.length("c0")
	g.loop("loop", n, pointers, func(m mask) {
		var sums [4]vec
		for i := range sums {
			sums[i] = g.load(at(pointers[i]), m)
		}
		power := func(op func(...operand.Op)) vec {
			re, im := g.vec(), g.vec()
			for i := range re {
				op(sums[1][i], sums[0][i], re[i])
				op(sums[3][i], sums[2][i], im[i])
				g.VMULPS(re[i], re[i], re[i])
				g.VMULPS(im[i], im[i], im[i])
				g.VADDPS(im[i], re[i], re[i])
			}
			return re
		}
		g.store(power(g.VADDPS), at(up), m)
		g.store(power(g.VSUBPS), at(down), m)
	})
	g.ret()
}

// raise takes x only where it is larger, which leaves NaN in dst as it is.
func raise(g *gen) {
	g.function("vecRaise", "func(dst, x []float32)", "is raiseRef.")
	dst, x, n := g.slice("dst"), g.slice("x"), g.length("x")
	g.loop("loop", n, []reg.GPVirtual{dst, x}, func(m mask) {
		old, v := g.load(at(dst), m), g.load(at(x), m)
		for i := range v {
			g.VMAXPS(old[i], v[i], v[i])
		}
		g.store(v, at(dst), m)
	})
	g.ret()
}

func cells(g *gen) {
	g.function("vecCells", "func(dst, x []float32, least float32)", "is cellsRef.")
	dst, x, n, least := g.slice("dst"), g.slice("x"), g.length("x"), g.broadcast("least")
	four, quarter := g.loadConst(4), g.loadConst(0.25)
	g.loop("loop", n, []reg.GPVirtual{dst, x}, func(m mask) {
		v := g.load(at(x), m)
		for i := range v {
			g.VMAXPS(v[i], least[i], v[i])
			g.VADDPS(four[i], v[i], v[i])
			g.VMULPS(quarter[i], v[i], v[i])
		}
		g.store(v, at(dst), m)
	})
	g.ret()
}

// dots keeps the four partial sums of a product in a register, and has four products under
// way: one alone would wait for its own additions.
func dots(g *gen) {
	g.function("vecDots", "func(dst *[4]float32, a, b *[4][]float32)", "is dotsRef.")
	const slice = 24
	var a, b [4]reg.GPVirtual
	var sums [4]reg.VecVirtual
	load := func(p []reg.GPVirtual, header reg.GPVirtual) {
		for i := range p {
			p[i] = g.GP64()
			g.MOVQ(at(header).Offset(slice*i), p[i])
		}
	}
	n, header := g.GP64(), g.pointer("a")
	g.MOVQ(at(header).Offset(8), n)
	load(a[:], header)
	load(b[:], g.pointer("b"))
	for i := range sums {
		sums[i] = g.XMM()
		g.VXORPS(sums[i], sums[i], sums[i])
	}
	j, fours := g.GP64(), g.GP64()
	g.XORQ(j, j)
	g.MOVQ(n, fours)
	g.ANDQ(operand.I8(-4), fours)
	step := func(name string, size uint64, end reg.GPVirtual, load, mul, add func(...operand.Op)) {
		g.Label(name)
		g.CMPQ(j, end)
		g.JGE(operand.LabelRef(name + "Done"))
		for i, sum := range sums {
			v := g.XMM()
			load(operand.Mem{Base: a[i], Index: j, Scale: 4}, v)
			mul(operand.Mem{Base: b[i], Index: j, Scale: 4}, v, v)
			add(v, sum, sum)
		}
		g.ADDQ(operand.U8(size), j)
		g.JMP(operand.LabelRef(name))
		g.Label(name + "Done")
	}
	step("four", 4, fours, g.VMOVUPS, g.VMULPS, g.VADDPS)
	step("one", 1, n, g.VMOVSS, g.VMULSS, g.VADDSS)
	g.VHADDPS(sums[1], sums[0], sums[0])
	g.VHADDPS(sums[3], sums[2], sums[2])
	g.VHADDPS(sums[2], sums[0], sums[0])
	g.VMOVUPS(sums[0], at(g.pointer("dst")))
	g.ret()
}
