package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"verity/internal/kernel/_asm/constants"
)

// vectors writes the functions of vectorOps and of attention.
func vectors(s isa) {
	g := &gen{isa: s}
	g.pairs("Add", VADDPS)
	g.byNumber("Div", VDIVPS)
	g.byNumber("Scale", VMULPS)
	gelu(g)
	norm(g)
	maximum(g)
	expSum(g)
	log10(g)
	attendTiles(g)
	scores(g)
	weights(g)
	if !g.isWide() { // AVX-512 has nothing to add, or little
		g.pairs("MaxInto", func(o ...Op) { VMAXPS(o[1], o[0], o[2]) }) // which leaves NaN in dst as it is
		dots(g)
		standardize(g)
		median(g)
		narrowHalf(g)
		interleaveBy4(g)
	}
	g.tables()
}

// pairs generates a function of two slices, which op combines into the first.
func (g *gen) pairs(name string, op func(...Op)) {
	g.function(name, "(dst, x []float32)")
	dst, x, n := g.slice("dst"), g.slice("x"), g.length("x")
	g.loop("loop", n, []reg.GPVirtual{dst, x}, func(m mask) {
		a, b := g.load(at(dst), m), g.load(at(x), m)
		for i := range a {
			op(b[i], a[i], a[i])
		}
		g.store(a, at(dst), m)
	})
	ret()
}

// byNumber generates a function that sets dst to what op makes of x and a number.
func (g *gen) byNumber(name string, op func(...Op)) {
	g.function(name, "(dst, x []float32, by float32)")
	dst, x, n, by := g.slice("dst"), g.slice("x"), g.length("x"), g.broadcast("by")
	g.loop("loop", n, []reg.GPVirtual{dst, x}, func(m mask) {
		a := g.load(at(x), m)
		for i := range a {
			op(by[i], a[i], a[i])
		}
		g.store(a, at(dst), m)
	})
	ret()
}

// exp replaces x by e^(x+low), the exp of vector_exp.go without its clamps: x must
// be between -106 and 89, or NaN. low may be nil. All of x go in step: one after the
// other, most of what the processor looks ahead at waits for the step before. If many results may
// be 0, flush computes those apart: a product that is too small to be represented takes 500 times as long.
func (g *gen) exp(x, low vec, flush bool) {
	t := vec(g.registers(len(x)))
	x.each(func(i int) {
		g.set(constants.RoundShift, t[i])
		g.by(VFMADD231PS, VFMADD231PS_BCST, constants.Log2e, x[i], t[i])
	})
	n := t
	if !g.isWide() {
		n = g.registers(len(x))
	}
	x.each(func(i int) { g.by(VSUBPS, VSUBPS_BCST, constants.RoundShift, t[i], n[i]) })
	for _, part := range []float32{-constants.Ln2Hi, -constants.Ln2Lo} {
		x.each(func(i int) { g.by(VFMADD231PS, VFMADD231PS_BCST, part, n[i], x[i]) })
	}
	if low != nil {
		x.each(func(i int) { VADDPS(low[i], x[i], x[i]) })
	}
	p := g.polynomial(x, append(constants.Exp, 1, 1))
	g.timesPower(x, p, t, n, flush)
}

// polynomial returns a polynomial in x, the coefficient of the highest power first.
func (g *gen) polynomial(x vec, coefficients []float32) vec {
	p := vec(g.registers(len(x)))
	x.each(func(i int) { g.set(coefficients[0], p[i]) })
	for _, c := range coefficients[1:] {
		x.each(func(i int) { g.by(VFMADD213PS, VFMADD213PS_BCST, c, x[i], p[i]) })
	}
	return p
}

// timesPower sets x to p·2ⁿ. t is n + RoundShift.
func (g *gen) timesPower(x, p, t, n vec, flush bool) {
	const notLess, least = 0x15, -151 // also NaN; e^x rounds to 0 for all smaller n
	if g.isWide() {
		for i := range x {
			if flush {
				VCMPPS_BCST(U8(notLess), g.constant(least), n[i], reg.K2)
				VSCALEFPS_Z(n[i], p[i], reg.K2, x[i])
			} else {
				VSCALEFPS(n[i], p[i], x[i])
			}
		}
		return
	}
	// 2ⁿ in two factors: n = h + (n-h), h = n>>1. The first product is exact.
	for i := range x {
		h := g.vector()
		if flush {
			VCMPPS(U8(notLess), g.constant(constants.RoundShift+least), t[i], h)
			VANDPS(h, p[i], p[i])
		}
		VPSUBD(g.constant(constants.RoundShift), t[i], t[i])
		VPSRAD(U8(1), t[i], h)
		VPSUBD(h, t[i], t[i])
		for _, e := range []reg.VecVirtual{h, t[i]} {
			VPADDD(g.constantBits(127), e, e)
			VPSLLD(U8(23), e, e)
			VMULPS(e, p[i], p[i])
		}
		VMOVAPS(p[i], x[i])
	}
}

// expSum is for m ≥ x.
func expSum(g *gen) {
	g.function("ExpSum", "(dst, x []float32, m float32) float32")
	dst, x, n, max := g.slice("dst"), g.slice("x"), g.length("x"), g.broadcast("m")
	sum, low := g.zero(), g.loadConst(constants.ExpMin-2)
	g.keep(constants.Log2e, constants.RoundShift, 1)
	g.many("loop", n, []reg.GPVirtual{x, dst}, 8, func(v []vec, m mask) {
		g.expBelow(v, x, max, low, m, true)
		for i := range v {
			g.store(v[i], at(dst).Offset(64*i), m)
			g.add(v[i], sum, m)
		}
	})
	g.retFloat(g.fold(sum, VADDPS))
}

// expBelow sets each of v to e^(x-max), from x on.
func (g *gen) expBelow(v []vec, x reg.GPVirtual, max, low vec, m mask, flush bool) {
	all := g.loadAll(v, x, m)
	for i, r := range all {
		VSUBPS(max[i%len(max)], r, r)
		VMAXPS(r, low[i%len(low)], r) // low > r ? low : r, so NaN stays
	}
	g.exp(all, nil, flush)
}

// loadAll loads all of v, from p on, and returns their registers.
func (g *gen) loadAll(v []vec, p reg.GPVirtual, m mask) (all vec) {
	for i := range v {
		v[i] = g.load(at(p).Offset(64*i), m)
		all = append(all, v[i]...)
	}
	return all
}

// atLeast returns masks of the lanes of v that are at least limit (NaN is not): with
// AVX-512 in K3 and the registers after it.
func (g *gen) atLeast(limit reg.VecVirtual, v vec) (masks []Op) {
	const orderedGE = 0x1d
	for i := range v {
		var mask Op
		if g.isWide() {
			mask = []reg.Register{reg.K3, reg.K4, reg.K5, reg.K6}[i]
		} else {
			mask = YMM()
		}
		VCMPPS(U8(orderedGE), limit, v[i], mask)
		masks = append(masks, mask)
	}
	return masks
}

// blank sets the lanes of v that atLeast selected to zero.
func (g *gen) blank(v vec, masks []Op) {
	for i := range v {
		if g.isWide() {
			VPXORD(v[i], v[i], masks[i], v[i])
		} else {
			VANDNPS(v[i], masks[i], v[i])
		}
	}
}

func gelu(g *gen) {
	g.function("Gelu", "(x []float32)")
	p, n := g.slice("x"), g.length("x")
	limit := g.loadConst(constants.GeluMax)[0]
	g.keep(3, -0.5, constants.Log2e, constants.RoundShift, 1)
	g.many("loop", n, []reg.GPVirtual{p}, 4, func(v []vec, m mask) {
		all := g.loadAll(v, p, m)
		y := g.tail(all, limit)
		for i, x := range all {
			one := g.vector()
			g.set(1, one)
			VSUBPS(y[i], one, one)
			// By the sign bit: at -0 both are ½.
			if g.isWide() {
				VPMOVD2M(x, reg.K2)
				VMOVAPS(y[i], reg.K2, one)
			} else {
				VBLENDVPS(x, y[i], one, one)
			}
			VMULPS(one, x, x)
		}
		for i := range v {
			g.store(v[i], at(p).Offset(64*i), m)
		}
	})
	ret()
}

// tail returns the upper tail of the normal distribution from |x| on, 0 from limit on.
func (g *gen) tail(x vec, limit reg.VecVirtual) vec {
	size := vec(g.registers(len(x)))
	x.each(func(i int) { g.by(VANDPS, VANDPS_BCST, math.Float32frombits(1<<31-1), x[i], size[i]) })
	far := g.atLeast(limit, size)
	g.blank(size, far)
	v := vec(g.registers(len(x)))
	x.each(func(i int) {
		g.by(VADDPS, VADDPS_BCST, 3, size[i], v[i])
		VDIVPS(v[i], size[i], v[i])
	})
	y, low := make(vec, len(x)), make(vec, len(x))
	x.each(func(i int) {
		y[i], low[i] = g.vector(), g.vector()
		VMULPS(size[i], size[i], y[i])
		VFMSUB213PS(y[i], size[i], size[i])
		g.by(VMULPS, VMULPS_BCST, -0.5, y[i], y[i])
		g.by(VMULPS, VMULPS_BCST, -0.5, size[i], low[i])
	})
	poly := g.polynomial(v, constants.Gelu)
	g.exp(y, low, false)
	x.each(func(i int) { VMULPS(poly[i], y[i], y[i]) })
	g.blank(y, far)
	return y
}

func norm(g *gen) {
	g.function("Norm", "(dst, x, gamma, beta []float32, eps float32)")
	dst, x, n := g.slice("dst"), g.slice("x"), g.length("x")
	gamma, beta := g.slice("gamma"), g.slice("beta")
	p, left := GP64(), GP64()
	size, value := XMM(), XMM()
	VXORPS(size, size, size)
	VCVTSI2SSQ(n, size, size)

	restart := func() { MOVQ(x, p); MOVQ(n, left) }
	restart()
	acc := g.zero()
	g.loop("sum", left, []reg.GPVirtual{p}, func(m mask) { g.add(g.load(at(p), m), acc, m) })
	VDIVSS(size, g.fold(acc, VADDPS), value)
	mean := g.spread(value.AsX())

	restart()
	g.clear(acc)
	centred := func(m mask) vec {
		v := g.load(at(p), m)
		for i := range v {
			VSUBPS(mean[i], v[i], v[i])
		}
		return v
	}
	g.loop("squares", left, []reg.GPVirtual{p}, func(m mask) { g.addSquare(centred(m), acc, m) })
	VDIVSS(size, g.fold(acc, VADDPS), value)
	VADDSS(address("eps"), value, value)
	VSQRTSS(value, value, value)
	one := XMM()
	VMOVSS(g.constant(1), one)
	VDIVSS(value, one, value)
	scale := g.spread(value.AsX())

	restart()
	g.loop("scale", left, []reg.GPVirtual{p, dst, gamma, beta}, func(m mask) {
		v, a, b := centred(m), g.load(at(gamma), m), g.load(at(beta), m)
		for i := range v {
			VMULPS(scale[i], v[i], v[i])
			VFMADD213PS(b[i], a[i], v[i])
		}
		g.store(v, at(dst), m)
	})
	ret()
}

func maximum(g *gen) {
	g.function("Max", "(x []float32) float32")
	x, n := g.slice("x"), g.length("x")
	best, odd := g.loadConst(float32(math.Inf(-1))), g.zero()
	g.loop("loop", n, []reg.GPVirtual{x}, func(m mask) {
		v := g.load(at(x), m)
		for i := range v {
			g.unordered(v[i], odd[i])
			g.into(VMAXPS, best[i], v[i], best[i], m, i, false)
		}
	})
	// A NaN anywhere has set bits of odd; or-ing them to the result keeps NaN.
	result := g.fold(best, VMAXPS)
	flag := g.fold(odd, VORPS)
	VORPS(flag, result, result)
	g.retFloat(result)
}

// unordered sets the lanes of odd to ones where v is NaN.
func (g *gen) unordered(v, odd reg.VecVirtual) {
	if g.isWide() {
		VCMPPS(U8(3), v, v, reg.K2)
		VPTERNLOGD(U8(0xff), odd, odd, reg.K2, odd)
		return
	}
	t := YMM()
	VCMPPS(U8(3), v, v, t)
	VORPS(t, odd, odd)
}

// standardize does sixteen columns at a time, so that all their rows stay in the nearest cache.
func standardize(g *gen) {
	g.function("Standardize", "(x []float32, rows, cols int)")
	x, rows, cols := g.slice("x"), load64("rows"), load64("cols")
	stride, p, left, number := GP64(), GP64(), GP64(), YMM()
	MOVQ(cols, stride)
	SHLQ(U8(2), stride)
	VXORPS(number, number, number)
	VCVTSI2SDQ(rows, number.AsX(), number.AsX())
	VBROADCASTSD(number.AsX(), number)
	g.loop("loop", cols, []reg.GPVirtual{x}, func(m mask) {
		eachRow := func(name string, body func(v vec)) {
			if m.some {
				name += "Tail"
			}
			MOVQ(x, p)
			MOVQ(rows, left)
			label(name)
			body(g.load(at(p), m))
			ADDQ(stride, p)
			DECQ(left)
			JNE(ref(name))
		}
		mean, deviation := g.zeros(4), g.zeros(4)
		eachRow("sum", func(v vec) {
			g.eachWide(v, func(i int, d reg.VecVirtual) { VADDPD(d, mean[i], mean[i]) })
		})
		mean.each(func(i int) { VDIVPD(number, mean[i], mean[i]) })
		eachRow("squares", func(v vec) {
			g.eachWide(v, func(i int, d reg.VecVirtual) {
				VSUBPD(mean[i], d, d)
				VMULPD(d, d, d)
				VADDPD(d, deviation[i], deviation[i])
			})
		})
		deviation.each(func(i int) {
			VDIVPD(number, deviation[i], deviation[i])
			VSQRTPD(deviation[i], deviation[i])
		})
		by, off := g.narrowed(deviation), g.narrowed(mean)
		eachRow("scale", func(v vec) {
			for i := range v {
				VSUBPS(off[i], v[i], v[i])
				VDIVPS(by[i], v[i], v[i])
			}
			g.store(v, at(p), m)
		})
	})
	ret()
}

func (g *gen) zeros(n int) vec {
	v := vec(g.registers(n))
	g.clear(v)
	return v
}

// eachWide calls f with each half of each register of v as float64.
func (g *gen) eachWide(v vec, f func(i int, d reg.VecVirtual)) {
	for i, r := range v {
		high, d := XMM(), YMM()
		VEXTRACTF128(U8(1), r, high)
		VCVTPS2PD(r.AsX(), d)
		f(2*i, d)
		VCVTPS2PD(high, d)
		f(2*i+1, d)
	}
}

// narrowed rounds four registers of float64 to float32.
func (g *gen) narrowed(d vec) vec {
	v := g.zero() // or all of a register would count as used from the start, since only a half is set first
	for i := range v {
		high := XMM()
		VCVTPD2PSY(d[2*i], v[i].AsX())
		VCVTPD2PSY(d[2*i+1], high)
		VINSERTF128(U8(1), high, v[i], v[i])
	}
	return v
}

// median takes the medians one by one, by the formula of medianRef.
func median(g *gen) {
	g.function("Median", "(dst, x []float32)")
	dst, x, n := g.slice("dst"), g.slice("x"), g.length("dst")
	either := func(op func(...Op)) func(a, b Op) reg.VecVirtual {
		return func(a, b Op) reg.VecVirtual { v := YMM(); op(a, b, v); return v }
	}
	least, most := either(VPMINSD), either(VPMAXSD)
	sorted := func(a, b, c Op) (x, y, z reg.VecVirtual) {
		a, b = least(a, b), most(a, b)
		return least(a, c), most(a, least(b, c)), most(b, c)
	}
	g.loop("loop", n, []reg.GPVirtual{dst, x}, func(m mask) {
		g.each(func(i, offset int) {
			var w [7]reg.VecVirtual
			for k := range w {
				w[k] = YMM()
				if from := at(x).Offset(offset + 4*k); m.some {
					VMASKMOVPS(from, m.m[i], w[k])
				} else {
					VMOVUPS(from, w[k])
				}
				const unordered = 3
				sign := YMM() // of NaN: it is dropped
				VCMPPS(U8(unordered), w[k], w[k], sign)
				VPSLLD(U8(31), sign, sign)
				VPANDN(w[k], sign, w[k])
				ordered(w[k])
			}
			a, b, c := sorted(w[1], w[2], w[3])
			d, e, f := sorted(w[4], w[5], w[6])
			third := least(least(c, f), least(most(a, e), most(b, d)))
			fourth := most(most(a, d), most(least(c, e), least(b, f)))
			v := most(third, least(fourth, w[0]))
			ordered(v)
			if to := at(dst).Offset(offset); m.some {
				VMASKMOVPS(v, m.m[i], to)
			} else {
				VMOVUPS(v, to)
			}
		})
	})
	ret()
}

// ordered makes integers that compare as the float32 in v do, or these of those.
func ordered(v reg.VecVirtual) {
	sign := YMM()
	VPSRAD(U8(31), v, sign)
	VPSRLD(U8(1), sign, sign)
	VPXOR(sign, v, v)
}
