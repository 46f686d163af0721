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
