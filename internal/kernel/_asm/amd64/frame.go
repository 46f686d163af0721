package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"verity/internal/kernel/_asm/constants"
)

func log10(g *gen) {
	g.function("Log10", "(dst, x []float32, floor float32)")
	dst, x, n := g.slice("dst"), g.slice("x"), g.length("x")
	floor, least := g.broadcast("floor"), g.loadConst(constants.LeastNormal)
	g.keep(append(constants.Log, -0.5, 1, constants.Ln2Lo, constants.Ln2Hi, constants.Log10e)...)
	g.loop("loop", n, []reg.GPVirtual{dst, x}, func(m mask) {
		v := g.load(at(x), m)
		g.each(func(i, at int) {
			c := func(v float32) Op { return g.operand(v, i) }
			bits := func(b uint32) Op { return g.constantBits(b).Offset(at) }
			e, p, w := g.vector(), g.vector(), g.vector()
			VMAXPS(v[i], least[i], v[i])
			VPSUBD(bits(constants.SqrtHalf), v[i], v[i])
			VPSRAD(U8(23), v[i], e)
			VCVTDQ2PS(e, e)
			g.and(bits(constants.MantissaBits), v[i], v[i])
			VPADDD(bits(constants.SqrtHalf), v[i], v[i])
			VSUBPS(c(1), v[i], v[i])
			VMOVUPS(c(constants.Log[0]), p)
			for _, coef := range append(constants.Log[1:], -0.5) {
				VFMADD213PS(c(coef), v[i], p)
			}
			VMULPS(v[i], v[i], w)
			VMULPS(p, w, w)
			VFMADD231PS(c(constants.Ln2Lo), e, w)
			VADDPS(v[i], w, w)
			VFMADD231PS(c(constants.Ln2Hi), e, w)
			VMULPS(c(constants.Log10e), w, w)
			VMAXPS(floor[i], w, v[i])
		})
		g.store(v, at(dst), m)
	})
	ret()
}

// eachVector calls f with the offset of every vector of a row of 64 lanes.
func eachVector(f func(off int)) {
	for off := 0; off < 4*panel; off += 4 * lanes {
		f(off)
	}
}

// fold goes through two rows at a time, forwards in x and backwards in y.
func fold(g *gen) {
	g.function("Fold", "(sum0, difference0, sum1, difference1, x, y []float32)")
	to := []reg.GPVirtual{g.slice("sum0"), g.slice("difference0"), g.slice("sum1"), g.slice("difference1")}
	x, y, n := g.slice("x"), g.slice("y"), g.length("x")
	const size = 4 * panel // of a row in bytes
	LEAQ(Mem{Base: y, Index: n, Scale: 4, Disp: -2 * size}, y)
	label("rows")
	SUBQ(U32(2*panel), n)
	JLT(ref("done"))
	for odd := range 2 {
		eachVector(func(off int) {
			a, b := g.load(at(x).Offset(odd*size+off), mask{}), g.load(at(y).Offset((1-odd)*size+off), mask{})
			sum, difference := g.vec(), g.vec()
			for i := range a {
				VADDPS(b[i], a[i], sum[i])
				VSUBPS(b[i], a[i], difference[i])
			}
			g.store(sum, at(to[2*odd]).Offset(off), mask{})
			g.store(difference, at(to[2*odd+1]).Offset(off), mask{})
		})
	}
	for _, p := range to {
		ADDQ(U32(size), p)
	}
	ADDQ(U32(2*size), x)
	SUBQ(U32(2*size), y)
	JMP(ref("rows"))
	label("done")
	ret()
}

// squares writes the row of up before that of down, which may be the same.
func squares(g *gen) {
	g.function("Squares", "(dst, c0, c1, s0, s1 []float32)")
	up, down, n := g.slice("dst"), GP64(), g.length("dst")
	sums := []reg.GPVirtual{g.slice("c0"), g.slice("c1"), g.slice("s0"), g.slice("s1")}
	const size = 4 * panel
	LEAQ(Mem{Base: up, Index: n, Scale: 4, Disp: -size}, down)
	label("rows")
	eachVector(func(off int) {
		var v [4]vec
		for i := range v {
			v[i] = g.load(at(sums[i]).Offset(off), mask{})
		}
		power := func(op func(...Op), to reg.GPVirtual) {
			re, im := g.vec(), g.vec()
			for i := range re {
				op(v[1][i], v[0][i], re[i])
				op(v[3][i], v[2][i], im[i])
				VMULPS(re[i], re[i], re[i])
				VMULPS(im[i], im[i], im[i])
				VADDPS(im[i], re[i], re[i])
			}
			g.store(re, at(to).Offset(off), mask{})
		}
		power(VADDPS, up)
		power(VSUBPS, down)
	})
	for _, p := range append(sums, up) {
		ADDQ(U32(size), p)
	}
	SUBQ(U32(size), down)
	CMPQ(up, down)
	JLE(ref("rows"))
	ret()
}

func scaleLogMel(g *gen) {
	g.function("ScaleLogMel", "(dst, x []float32, least float32)")
	dst, x, n, least := g.slice("dst"), g.slice("x"), g.length("x"), g.broadcast("least")
	four, quarter := g.loadConst(4), g.loadConst(0.25)
	g.loop("loop", n, []reg.GPVirtual{dst, x}, func(m mask) {
		v := g.load(at(x), m)
		for i := range v {
			VMAXPS(v[i], least[i], v[i])
			VADDPS(four[i], v[i], v[i])
			VMULPS(quarter[i], v[i], v[i])
		}
		g.store(v, at(dst), m)
	})
	ret()
}

// dots keeps the four partial sums of a product in a register, and has four products under
// way: one alone would wait for its own additions.
func dots(g *gen) {
	g.function("Dots", "(dst *[4]float32, a, b *[4][]float32)")
	const slice = 24
	var a, b [4]reg.GPVirtual
	var sums [4]reg.VecVirtual
	load := func(p []reg.GPVirtual, header reg.GPVirtual) {
		for i := range p {
			p[i] = GP64()
			MOVQ(at(header).Offset(slice*i), p[i])
		}
	}
	n, header := GP64(), load64("a")
	MOVQ(at(header).Offset(8), n)
	load(a[:], header)
	load(b[:], load64("b"))
	for i := range sums {
		sums[i] = XMM()
		VXORPS(sums[i], sums[i], sums[i])
	}
	j, whole := GP64(), GP64()
	XORQ(j, j)
	MOVQ(n, whole)
	ANDQ(I8(-4), whole)
	step := func(name string, size uint64, end reg.GPVirtual, load, mul, add func(...Op)) {
		label(name)
		CMPQ(j, end)
		JGE(ref(name + "Done"))
		for i, sum := range sums {
			v := XMM()
			load(Mem{Base: a[i], Index: j, Scale: 4}, v)
			mul(Mem{Base: b[i], Index: j, Scale: 4}, v, v)
			add(v, sum, sum)
		}
		ADDQ(U8(size), j)
		JMP(ref(name))
		label(name + "Done")
	}
	step("four", 4, whole, VMOVUPS, VMULPS, VADDPS)
	step("one", 1, n, VMOVSS, VMULSS, VADDSS)
	VHADDPS(sums[1], sums[0], sums[0])
	VHADDPS(sums[3], sums[2], sums[2])
	VHADDPS(sums[2], sums[0], sums[0])
	VMOVUPS(sums[0], at(load64("dst")))
	ret()
}
