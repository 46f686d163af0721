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

// eachVector calls f with the offset of every vector of a row of 64 lanes.
func eachVector(f func(off int)) {
	for off := 0; off < 4*panelKeys; off += 4 * lanes {
		f(off)
	}
}

// fold goes through two rows at a time, forwards in x and backwards in y.
func fold(g *gen) {
	g.function("vecFold", "func(sum0, difference0, sum1, difference1, x, y []float32)", "is foldRef.")
	to := []reg.GPVirtual{g.slice("sum0"), g.slice("difference0"), g.slice("sum1"), g.slice("difference1")}
	x, y, n := g.slice("x"), g.slice("y"), g.length("x")
	const size = 4 * panelKeys // of a row in bytes
	g.LEAQ(operand.Mem{Base: y, Index: n, Scale: 4, Disp: -2 * size}, y)
	g.Label("rows")
	g.SUBQ(operand.U32(2*panelKeys), n)
	g.JLT(operand.LabelRef("done"))
	for odd := range 2 {
		eachVector(func(off int) {
			a, b := g.load(at(x).Offset(odd*size+off), mask{}), g.load(at(y).Offset((1-odd)*size+off), mask{})
			sum, difference := g.vec(), g.vec()
			for i := range a {
				g.VADDPS(b[i], a[i], sum[i])
				g.VSUBPS(b[i], a[i], difference[i])
			}
			g.store(sum, at(to[2*odd]).Offset(off), mask{})
			g.store(difference, at(to[2*odd+1]).Offset(off), mask{})
		})
	}
	for _, p := range to {
		g.ADDQ(operand.U32(size), p)
	}
	g.ADDQ(operand.U32(2*size), x)
	g.SUBQ(operand.U32(2*size), y)
	g.JMP(operand.LabelRef("rows"))
	g.Label("done")
	g.ret()
}

// squares writes the row of up before that of down, which may be the same.
func squares(g *gen) {
	g.function("vecSquares", "func(dst, c0, c1, s0, s1 []float32)", "is squaresRef.")
	up, down, n := g.slice("dst"), g.GP64(), g.length("dst")
	sums := []reg.GPVirtual{g.slice("c0"), g.slice("c1"), g.slice("s0"), g.slice("s1")}
	const size = 4 * panelKeys
	g.LEAQ(operand.Mem{Base: up, Index: n, Scale: 4, Disp: -size}, down)
	g.Label("rows")
	eachVector(func(off int) {
		var v [4]vec
		for i := range v {
			v[i] = g.load(at(sums[i]).Offset(off), mask{})
		}
		power := func(op func(...operand.Op), to reg.GPVirtual) {
			re, im := g.vec(), g.vec()
			for i := range re {
				op(v[1][i], v[0][i], re[i])
				op(v[3][i], v[2][i], im[i])
				g.VMULPS(re[i], re[i], re[i])
				g.VMULPS(im[i], im[i], im[i])
				g.VADDPS(im[i], re[i], re[i])
			}
			g.store(re, at(to).Offset(off), mask{})
		}
		power(g.VADDPS, up)
		power(g.VSUBPS, down)
	})
	for _, p := range append(sums, up) {
		g.ADDQ(operand.U32(size), p)
	}
	g.SUBQ(operand.U32(size), down)
	g.CMPQ(up, down)
	g.JLE(operand.LabelRef("rows"))
	g.ret()
}

// raise takes x only where it is larger, which leaves NaN in dst as it is.
func raise(g *gen) {
	g.pairs("vecRaise", "is raiseRef.", func(a, b reg.VecVirtual) { g.VMAXPS(a, b, a) })
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
