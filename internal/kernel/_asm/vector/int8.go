package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// int8s writes the functions of attendInt8Ops.
func int8s(g *gen) {
	sets := []string{g.suffix()}
	if !g.wide {
		sets = append(sets, "VNNI")
	}
	for _, isa := range sets {
		for rows := 1; rows <= 6; rows++ {
			s := &score{gen: g, rows: rows, isa: isa}
			s.write()
		}
	}
	weights(g)
	quads(g)
}

// scoreAhead is how far ahead keys are prefetched, as for an int8 matrix of few rows.
// Hardware prefetchers do not cross pages, and a panel is one page.
const scoreAhead = 8 << 10

// A score is one function: scores of so many rows with panels of 64 keys.
type score struct {
	*gen
	rows int
	isa  string

	q, q3, qStride     reg.GPVirtual
	k, ahead           reg.GPVirtual
	dst, dst3, dStride reg.GPVirtual
	start, scale       reg.GPVirtual
	kScale             reg.GPVirtual
}

func (s *score) write() {
	query := "byte"
	if s.isa == "AVX2" {
		query = "uint16"
	}
	s.functionFor(s.isa, fmt.Sprintf("scoreInt8R%d", s.rows),
		"func(dst *float32, dstStride int, q *"+query+", qStride int, start *int32, qScale *float32, k *byte, kScale *float32, quads, panels int)", "")
	s.dst, s.dStride, s.qStride = s.pointer("dst"), s.pointer("dstStride"), s.pointer("qStride")
	s.start, s.scale = s.pointer("start"), s.pointer("qScale")
	s.k, s.kScale = s.pointer("k"), s.pointer("kScale")
	panels := s.pointer("panels")
	if s.wide {
		s.Label("panel")
		s.panel512()
		s.ADDQ(operand.U32(4*panelKeys), s.dst)
		s.ADDQ(operand.U32(4*panelKeys), s.kScale)
	} else {
		s.ahead = s.GP64()
		s.LEAQ(operand.Mem{Base: s.k, Disp: scoreAhead}, s.ahead)
		s.Label("panel")
		if s.isa == "VNNI" {
			s.slices(32, []int{8, 4, 4, 2, 2, 2}[s.rows-1], s.sliceVNNI)
		} else {
			s.slices(16, []int{8, 4, 2, 2, 2, 2}[s.rows-1], s.slice256)
		}
	}
	s.DECQ(panels)
	s.JNE(operand.LabelRef("panel"))
	s.ret()
}

// slices does a panel in slices of n vectors of keys, each over all quads. A vector takes
// size bytes of a quad, and so do its scores. It leaves k, dst and kScale at the next panel.
// Each slice prefetches its share of keys, one after the other as they lie.
func (s *score) slices(size, n int, slice func(n int)) {
	count, from, left := 4*panelKeys/(size*n), s.GP64(), s.GP64()
	s.MOVQ(operand.U32(count), left)
	s.MOVQ(s.k, from)
	s.Label("slice")
	s.MOVQ(from, s.k)
	slice(n)
	for _, p := range []reg.GPVirtual{from, s.dst, s.kScale} {
		s.ADDQ(operand.U32(size*n), p)
	}
	s.DECQ(left)
	s.JNE(operand.LabelRef("slice"))
	if back := size * n * (count - 1); back > 0 {
		s.SUBQ(operand.U32(back), s.k)
	}
}

// fetch prefetches the keys that one quad of a slice has to.
func (s *score) fetch(bytes int) {
	for at := 0; at < bytes; at += 64 {
		s.PREFETCHT0(operand.Mem{Base: s.ahead, Disp: at})
	}
	s.ADDQ(operand.U32(bytes), s.ahead)
}

// third sets to = from + 3·stride, where rows 3 … 5 start.
func (s *score) third(from, stride, to reg.GPVirtual) {
	if s.rows > 3 {
		s.LEAQ(operand.Mem{Base: from, Index: stride, Scale: 2}, to)
		s.ADDQ(stride, to)
	}
}

// factors runs step along the depth, unroll quads at a time while so many are left. A quad
// of a query has size bytes.
func (s *score) factors(unroll, size int, step func(u int)) {
	n := s.pointer("quads")
	s.q, s.q3 = s.GP64(), s.GP64()
	s.Load(s.Param("q"), s.q)
	s.third(s.q, s.qStride, s.q3)
	turn := func(steps int) {
		for u := range steps {
			step(u)
		}
		s.ADDQ(operand.U32(256*steps), s.k)
		s.ADDQ(operand.U8(size*steps), s.q)
		if s.rows > 3 {
			s.ADDQ(operand.U8(size*steps), s.q3)
		}
		s.SUBQ(operand.U8(steps), n)
	}
	s.SUBQ(operand.U8(unroll), n)
	s.JLT(operand.LabelRef("few"))
	s.Label("many")
	turn(unroll)
	s.JGE(operand.LabelRef("many"))
	s.Label("few")
	s.ADDQ(operand.U8(unroll), n)
	s.JE(operand.LabelRef("done"))
	s.Label("one")
	turn(1)
	s.JNE(operand.LabelRef("one"))
	s.Label("done")
}

func (s *score) panel512() {
	sums := make([][4]reg.VecVirtual, s.rows)
	for r := range sums {
		for v := range sums[r] {
			sums[r][v] = s.ZMM()
			s.VPBROADCASTD(operand.Mem{Base: s.start, Disp: 4 * r}, sums[r][v])
		}
	}
	s.factors(4, 4, func(u int) {
		var keys [4]reg.VecVirtual
		for v := range keys {
			keys[v] = s.ZMM()
			s.VMOVDQU32(operand.Mem{Base: s.k, Disp: 256*u + 64*v}, keys[v])
			s.PREFETCHT0(operand.Mem{Base: s.k, Disp: 256*u + 64*v + scoreAhead})
		}
		for r := range sums {
			q := s.ZMM()
			s.VPBROADCASTD(row(r, s.q, s.q3, s.qStride).Offset(4*u), q)
			for v := range keys {
				s.VPDPBUSD(q, keys[v], sums[r][v])
			}
		}
	})
	var scales [4]reg.VecVirtual
	for v := range scales {
		scales[v] = s.ZMM()
		s.VMOVUPS(operand.Mem{Base: s.kScale, Disp: 64 * v}, scales[v])
	}
	s.dst3 = s.GP64()
	s.third(s.dst, s.dStride, s.dst3)
	for r := range sums {
		q := s.ZMM()
		s.VBROADCASTSS(operand.Mem{Base: s.scale, Disp: 4 * r}, q)
		for v, sum := range sums[r] {
			by := s.ZMM()
			s.VMULPS(scales[v], q, by)
			s.VCVTDQ2PS(sum, sum)
			s.VMULPS(by, sum, sum)
			s.VMOVUPS(sum, row(r, s.dst, s.dst3, s.dStride).Offset(64*v))
		}
	}
}

// slice256 multiplies words: keys are widened here, queries were before. A vector of sums
// has two for each of four keys.
func (s *score) slice256(n int) {
	sums := make([]reg.VecVirtual, s.rows*n)
	for i := range sums {
		sums[i] = s.YMM()
		s.VPXOR(sums[i], sums[i], sums[i])
	}
	s.factors(2, 8, func(u int) {
		s.fetch(16 * n)
		for v := 0; v < n; v += 2 {
			var keys [2]reg.VecVirtual
			for i := range keys {
				keys[i] = s.YMM()
				s.VPMOVZXBW(operand.Mem{Base: s.k, Disp: 256*u + 16*(v+i)}, keys[i])
			}
			for r := range s.rows {
				q, product := s.YMM(), s.YMM()
				s.VPBROADCASTQ(row(r, s.q, s.q3, s.qStride).Offset(8*u), q)
				s.VPMADDWD(keys[0], q, product)
				s.VPADDD(product, sums[r*n+v], sums[r*n+v])
				s.VPMADDWD(keys[1], q, q)
				s.VPADDD(q, sums[r*n+v+1], sums[r*n+v+1])
			}
		}
	})
	s.dst3 = s.GP64()
	s.third(s.dst, s.dStride, s.dst3)
	for r := range s.rows {
		for v := 0; v < n; v += 2 {
			sum, by, start := sums[r*n+v], s.YMM(), s.YMM()
			s.VPHADDD(sums[r*n+v+1], sum, sum)
			s.VPERMQ(operand.U8(0xd8), sum, sum)
			s.VPBROADCASTD(operand.Mem{Base: s.start, Disp: 4 * r}, start)
			s.VPADDD(start, sum, sum)
			s.VBROADCASTSS(operand.Mem{Base: s.scale, Disp: 4 * r}, by)
			s.VMULPS(operand.Mem{Base: s.kScale, Disp: 16 * v}, by, by)
			s.VCVTDQ2PS(sum, sum)
			s.VMULPS(by, sum, sum)
			s.VMOVUPS(sum, row(r, s.dst, s.dst3, s.dStride).Offset(16*v))
		}
	}
}

// weights does a block of 256 keys twice: once for the weights and their largest, and
// once to round them.
func weights(g *gen) {
	g.function("vecWeights", "func(dst *byte, step int, unit *float32, unitStep int, x, scale *float32, n int, m float32, spare *float32) float32",
		"is weightsRef for m ≥ x and n above 0. Steps are in bytes.")
	dst, unit, x, scale, left := g.pointer("dst"), g.pointer("unit"), g.pointer("x"), g.pointer("scale"), g.pointer("n")
	max, low, sum := g.broadcast("m"), g.loadConst(expMin), g.zero()
	g.keep(log2e, roundShift, 1)
	n, again, from, to, put := g.GP64(), g.GP64(), g.GP64(), g.GP64(), g.GP64()
	g.Label("block")
	g.MOVQ(operand.U32(256), n)
	g.CMPQ(left, n)
	g.CMOVQLT(left, n)
	g.SUBQ(n, left)
	g.LEAQ(operand.Mem{Base: n, Disp: 15}, again)
	g.Load(g.Param("spare"), from)
	g.MOVQ(from, put)
	g.MOVQ(dst, to)
	most := g.zero()
	g.many("loop", n, []reg.GPVirtual{x, scale, put}, 8, func(v []vec, m mask) {
		var all vec
		for i := range v {
			v[i] = g.load(at(x).Offset(64*i), m)
			all = append(all, v[i]...)
		}
		for i, r := range all {
			g.VSUBPS(max[i%len(max)], r, r)
			g.VMAXPS(r, low[i%len(low)], r) // low > r ? low : r, so NaN stays
		}
		g.exp(all, nil)
		for i := range v {
			g.add(v[i], sum, m)
		}
		for i := range v {
			g.scaled(v[i], at(scale).Offset(64*i), m)
			for j, r := range v[i] {
				g.VPMAXUD(r, most[j], most[j]) // not negative, so they order as integers
			}
			g.store(v[i], at(put).Offset(64*i), mask{})
		}
	})
	largest, bits := g.fold(most, func(ops ...operand.Op) { g.VPMAXUD(ops[0], ops[1], ops[2]) }), g.GP32()
	g.VMOVD(largest.AsX(), bits)
	inverse, worth := g.XMM(), g.XMM()
	g.VXORPS(inverse, inverse, inverse)
	g.VMOVSS(g.constantBits(0x7fc00000), worth) // NaN
	g.CMPL(bits, operand.U32(0x7f800000))
	g.JGE(operand.LabelRef("scaled"))
	g.VXORPS(worth, worth, worth)
	g.CMPL(bits, operand.U32(math.Float32bits(0x1p-100)))
	g.JLT(operand.LabelRef("scaled"))
	full := g.XMM()
	g.VMOVSS(g.constant(255), full)
	g.VDIVSS(largest.AsX(), full, inverse)
	g.VDIVSS(full, largest.AsX(), worth)
	g.Label("scaled")
	g.VMOVSS(worth, at(unit))
	by, round := g.spread(inverse), g.vec()
	g.each(func(i, at int) { g.set(roundShift, round[i]) })
	g.SHRQ(operand.U8(4), again)
	if g.wide {
		g.round4(again, from, to, by[0])
	}
	g.Label("round")
	v := g.load(at(from), mask{})
	for i := range v {
		g.VMULPS(by[i], v[i], v[i])
		g.VADDPS(round[i], v[i], v[i])
	}
	if g.wide {
		g.VPMOVDB(v[0], at(to))
	} else {
		g.each(func(i, at int) { g.VPAND(g.constantBits(0xff).Offset(at), v[i], v[i]) })
		g.bytes(v, at(to))
	}
	g.ADDQ(operand.U8(64), from)
	g.ADDQ(operand.U8(16), to)
	g.DECQ(again)
	g.JNE(operand.LabelRef("round"))
	g.Label("rounded")
	g.addArg("step", dst)
	g.addArg("unitStep", unit)
	g.TESTQ(left, left)
	g.JNE(operand.LabelRef("block"))
	g.retFloat(g.fold(sum, g.VADDPS))
}

// scaled multiplies v by what lies at p, and sets the lanes that m leaves out to zero.
func (g *gen) scaled(v vec, p operand.Mem, m mask) {
	if !m.some {
		for i, r := range v {
			g.VMULPS(p.Offset(i*g.step()), r, r)
		}
		return
	}
	by := g.load(p, m)
	for i, r := range v {
		g.VMULPS(by[i], r, r)
		if g.wide {
			g.VMOVAPS_Z(r, m.k, r)
		} else {
			g.VANDPS(m.m[i], r, r)
		}
	}
}

// round4 does the second pass of weights while there are four vectors, n counting
// vectors. If none is left it goes to the label rounded.
func (g *gen) round4(n, from, to reg.GPVirtual, by reg.VecVirtual) {
	g.packed = true
	order := g.ZMM()
	g.VMOVDQU32(operand.NewDataAddr(operand.NewStaticSymbol("vectorPacked"), 0), order)
	g.SUBQ(operand.U8(4), n)
	g.JLT(operand.LabelRef("roundFew"))
	g.Label("roundFour")
	var v [4]reg.VecVirtual
	for i := range v {
		v[i] = g.ZMM()
		g.VMULPS(operand.Mem{Base: from, Disp: 64 * i}, by, v[i])
	}
	for _, r := range v {
		g.VCVTPS2DQ(r, r) // to the nearest, ties to even, as adding roundShift does
	}
	g.VPACKUSDW(v[1], v[0], v[0])
	g.VPACKUSDW(v[3], v[2], v[2])
	g.VPACKUSWB(v[2], v[0], v[0])
	g.VPERMD(v[0], order, v[0])
	g.VMOVDQU32(v[0], at(to))
	g.ADDQ(operand.U32(4*64), from)
	g.ADDQ(operand.U8(64), to)
	g.SUBQ(operand.U8(4), n)
	g.JGE(operand.LabelRef("roundFour"))
	g.Label("roundFew")
	g.ADDQ(operand.U8(4), n)
	g.JE(operand.LabelRef("rounded"))
}

// addArg adds an argument to a pointer.
func (g *gen) addArg(name string, p reg.GPVirtual) {
	addr, err := g.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	g.ADDQ(addr.Addr, p)
}

// bytes stores sixteen 32-bit elements below 256 as bytes.
func (g *gen) bytes(v vec, to operand.Mem) {
	words, bytes := g.YMM(), g.XMM()
	g.VPACKUSDW(v[1], v[0], words)
	g.VPERMQ(operand.U8(0xd8), words, words)
	g.VEXTRACTI128(operand.U8(1), words, bytes)
	g.VPACKUSWB(bytes, words.AsX(), bytes)
	g.VMOVDQU(bytes, to)
}

// quads puts four rows of 64 bytes side by side, column by column, less 128 each.
func quads(g *gen) {
	if g.wide { // AVX-512 has nothing to add
		return
	}
	g.function("vecQuads", "func(dst, x *byte)", "is quadsRef.")
	dst, x := g.pointer("dst"), g.pointer("x")
	centre := g.YMM()
	g.VMOVDQU(g.constantBits(0x80808080), centre)
	for half := range 2 {
		var rows [4]reg.VecVirtual
		for r := range rows {
			rows[r] = g.YMM()
			g.VPXOR(operand.Mem{Base: x, Disp: 64*r + 32*half}, centre, rows[r])
		}
		words := func(unpack func(...operand.Op), a, b int) reg.VecVirtual {
			v := g.YMM()
			unpack(rows[b], rows[a], v)
			return v
		}
		low01, high01 := words(func(o ...operand.Op) { g.VPUNPCKLBW(o[0], o[1], o[2]) }, 0, 1), words(func(o ...operand.Op) { g.VPUNPCKHBW(o[0], o[1], o[2]) }, 0, 1)
		low23, high23 := words(func(o ...operand.Op) { g.VPUNPCKLBW(o[0], o[1], o[2]) }, 2, 3), words(func(o ...operand.Op) { g.VPUNPCKHBW(o[0], o[1], o[2]) }, 2, 3)
		// Columns 0 … 3 and 16 … 19, then 4 … 7 and 20 … 23, and so on.
		var fours [4]reg.VecVirtual
		for i := range fours {
			fours[i] = g.YMM()
		}
		g.VPUNPCKLWD(low23, low01, fours[0])
		g.VPUNPCKHWD(low23, low01, fours[1])
		g.VPUNPCKLWD(high23, high01, fours[2])
		g.VPUNPCKHWD(high23, high01, fours[3])
		for i, v := range fours {
			g.VMOVDQU(v.AsX(), operand.Mem{Base: dst, Disp: 128*half + 16*i})
			g.VEXTRACTI128(operand.U8(1), v, operand.Mem{Base: dst, Disp: 128*half + 64 + 16*i})
		}
	}
	g.ret()
}
