package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"verity/internal/kernel/_asm/constants"
)

// scoreAhead is how far ahead keys are prefetched, as for an int8 matrix of few rows.
// Hardware prefetchers do not cross pages, and a panel is one page.
const scoreAhead = 8 << 10

// A score is one body: scores of so many rows with panels of 64 keys.
type score struct {
	rows                      int
	q, k, ahead               reg.GPVirtual
	dst, start, scale, kScale reg.GPVirtual
	qStride                   strides
}

// scores generates the scoreInt8Funcs of a set.
func scores(g *gen) {
	if g.isWide() {
		scoresOf(g.isa, "byte", func(s *score) { s.panel512() })
		return
	}
	lower := quadwords("lowerBytes", 0x00ff00ff00ff00ff) // of words
	scoresOf(narrow, "uint16", func(s *score) { s.slices(vectors256(s.rows), func(n int) { s.slice256(n, lower) }) })
	scoresOf(vnni, "byte", func(s *score) { s.slices([]int{8, 4, 4, 2, 2, 2}[s.rows-1], s.sliceVNNI) })
}

// scoresOf generates a function whose bodies go by the panel that one does, which must leave
// k, dst and kScale at the next.
func scoresOf(set isa, query string, one func(s *score)) {
	function("scoreInt8"+set.name, "(dst *float32, dstStride int, q *"+query+", qStride int, start *int32, "+
		"qScale *float32, k *byte, kScale *float32, quads, panels, rows int)")
	eachRows(1, 6, func(rows int) {
		s := &score{
			rows: rows, dst: load64("dst"), qStride: stridesOf(rows, "qStride"), start: load64("start"), scale: load64("qScale"),
			k: load64("k"), kScale: load64("kScale"), ahead: GP64(),
		}
		panels := load64("panels")
		LEAQ(Mem{Base: s.k, Disp: scoreAhead}, s.ahead)
		label("panel")
		one(s)
		DECQ(panels)
		JNE(ref("panel"))
		ret()
	})
}

// slices does a panel in slices of n vectors of keys, each over all quads. A vector takes
// 32 bytes of a quad, and so do its scores. Each slice prefetches its share of keys, one
// after the other as they lie.
func (s *score) slices(n int, slice func(n int)) {
	const size = 32
	count, from, left := 4*panel/(size*n), GP64(), GP64()
	MOVQ(U32(count), left)
	MOVQ(s.k, from)
	label("slice")
	MOVQ(from, s.k)
	slice(n)
	for _, p := range []reg.GPVirtual{from, s.dst, s.kScale} {
		ADDQ(U32(size*n), p)
	}
	DECQ(left)
	JNE(ref("slice"))
	if back := size * n * (count - 1); back > 0 {
		SUBQ(U32(back), s.k)
	}
}

// fetch prefetches the keys that one quad of a slice has to.
func (s *score) fetch(bytes int) {
	prefetch(PREFETCHT0, at(s.ahead), bytes)
	ADDQ(U32(bytes), s.ahead)
}

// factors runs step along the depth, unroll quads at a time while so many are left. A quad
// of a query has size bytes. There is one, at least.
func (s *score) factors(unroll, size int, step func(u int)) {
	n := load64("quads")
	s.q = load64("q")
	unrolled(n, unroll, func(steps int) {
		for u := range steps {
			step(u)
		}
		ADDQ(U32(256*steps), s.k)
		ADDQ(U8(size*steps), s.q)
	})
}

// finish writes vector v of a row of sums as scores, given the scale of the query. by is
// for the product of scales.
func (s *score) finish(to Mem, v, size int, sum, query, by reg.Register) {
	VMULPS(Mem{Base: s.kScale, Disp: size * v}, query, by)
	VCVTDQ2PS(sum, sum)
	VMULPS(by, sum, sum)
	VMOVUPS(sum, to.Offset(size*v))
}

// tile does n vectors of keys for all queries: products adds those of quad u, of size bytes of
// a query, to sums.
func (s *score) tile(set isa, n, unroll, size int, products func(sums []reg.VecVirtual, u int)) {
	sums := make([]reg.VecVirtual, s.rows*n)
	for i := range sums {
		sums[i] = set.dup(Mem{Base: s.start, Disp: 4 * (i / n)})
	}
	s.factors(unroll, size, func(u int) { products(sums, u) })
	stride := stridesOf(s.rows, "dstStride")
	for r := range s.rows {
		query := set.dupFloat(Mem{Base: s.scale, Disp: 4 * r})
		for v := range n {
			s.finish(stride.row(s.dst, r, 0), v, set.size, sums[r*n+v], query, set.vector())
		}
	}
}

// panel512 does a panel as a whole.
func (s *score) panel512() {
	const vectors = panel / 16
	s.tile(wide, vectors, 4, 4, func(sums []reg.VecVirtual, u int) {
		crossed(s.rows, vectors, false, func(r int) reg.VecVirtual { return wide.dup(s.qStride.row(s.q, r, 4*u)) },
			func(v int) reg.VecVirtual {
				keys := ZMM()
				VMOVDQU32(Mem{Base: s.k, Disp: 256*u + 64*v}, keys)
				PREFETCHT0(Mem{Base: s.k, Disp: 256*u + 64*v + scoreAhead})
				return keys
			}, func(r, v int, q, keys reg.VecVirtual) { VPDPBUSD(q, keys, sums[r*vectors+v]) })
	})
	ADDQ(U32(4*panel), s.dst)
	ADDQ(U32(4*panel), s.kScale)
}

// slice256 multiplies words: keys are taken apart here, queries were widened before.
func (s *score) slice256(n int, lower Mem) {
	s.tile(narrow, n, unroll256(s.rows), 8, func(sums []reg.VecVirtual, u int) {
		s.fetch(32 * n)
		products256(s.rows, n, sums, func(v int, even, odd reg.VecVirtual) {
			VMOVDQU(Mem{Base: s.k, Disp: 256*u + 32*v}, odd)
			VPAND(lower, odd, even)
			VPSRLW(U8(8), odd, odd)
		}, func(r, odd int) reg.VecVirtual { return wordFactor(s.q, r, u, odd) })
	})
}

// sliceVNNI needs no 16 bits. Registers are physical ones: see productsVNNI.
func (s *score) sliceVNNI(n int) {
	const query, by = 14, 15
	for r := range s.rows {
		VPBROADCASTD(Mem{Base: s.start, Disp: 4 * r}, y(r*n))
		for v := 1; v < n; v++ {
			VMOVDQA(y(r*n), y(r*n+v))
		}
	}
	s.factors(unroll256(s.rows), 4, func(u int) {
		s.fetch(32 * n)
		productsVNNI(s.rows, n, Mem{Base: s.k, Disp: 256 * u}, func(r int) Mem { return s.qStride.row(s.q, r, 4*u) }, dotVNNI)
	})
	stride := stridesOf(s.rows, "dstStride")
	for r := range s.rows {
		VBROADCASTSS(Mem{Base: s.scale, Disp: 4 * r}, y(query))
		for v := range n {
			s.finish(stride.row(s.dst, r, 0), v, 32, y(r*n+v), y(query), y(by))
		}
	}
}

// weights does a block of 256 keys twice: once for the weights and their largest, and
// once to round them. It is for m ≥ x and n above 0. Steps are in bytes.
func weights(g *gen) {
	g.function("Weights", "(dst *byte, step int, unit *float32, unitStep int, x, scale *float32, n int, m float32, row *float32) float32")
	dst, unit, x, scale, left := load64("dst"), load64("unit"), load64("x"), load64("scale"), load64("n")
	max, low, sum := g.broadcast("m"), g.loadConst(constants.ExpMin), g.zero()
	g.keep(constants.Log2e, constants.RoundShift, 1)
	n, again, from, to, put := GP64(), GP64(), GP64(), GP64(), GP64()
	label("block")
	MOVQ(U32(256), n)
	CMPQ(left, n)
	CMOVQLT(left, n)
	SUBQ(n, left)
	LEAQ(Mem{Base: n, Disp: 15}, again)
	Load(Param("row"), from)
	MOVQ(from, put)
	MOVQ(dst, to)
	most := g.zero()
	g.many("loop", n, []reg.GPVirtual{x, scale, put}, 8, func(v []vec, m mask) {
		g.expBelow(v, x, max, low, m, false)
		for i := range v {
			g.add(v[i], sum, m)
		}
		for i := range v {
			g.scaled(v[i], at(scale).Offset(64*i), m)
			for j, r := range v[i] {
				VPMAXUD(r, most[j], most[j]) // not negative, so they order as integers
			}
			g.store(v[i], at(put).Offset(64*i), mask{})
		}
	})
	inverse := g.byteScale(g.fold(most, func(ops ...Op) { VPMAXUD(ops[0], ops[1], ops[2]) }).AsX(), unit)
	g.roundWeights(again, from, to, inverse)
	ADDQ(address("step"), dst)
	ADDQ(address("unitStep"), unit)
	TESTQ(left, left)
	JNE(ref("block"))
	g.retFloat(g.fold(sum, VADDPS))
}

// byteScale returns 255 over the largest weight, and stores the inverse of that at unit: 0 for weights too small to be
// rounded, and NaN if one is not finite.
func (g *gen) byteScale(largest Op, unit reg.GPVirtual) (inverse Op) {
	bits, by, worth := GP32(), XMM(), XMM()
	VMOVD(largest, bits)
	VXORPS(by, by, by)
	VMOVSS(g.constantBits(0x7fc00000), worth) // NaN
	CMPL(bits, U32(0x7f800000))
	JGE(ref("scaled"))
	VXORPS(worth, worth, worth)
	CMPL(bits, U32(math.Float32bits(0x1p-100)))
	JLT(ref("scaled"))
	full := XMM()
	VMOVSS(g.constant(255), full)
	VDIVSS(largest, full, by)
	VDIVSS(full, largest, worth)
	label("scaled")
	VMOVSS(worth, at(unit))
	return by
}

// roundWeights rounds n weights, less one and rounded up to a vector of sixteen, times by to bytes.
func (g *gen) roundWeights(n, from, to reg.GPVirtual, inverse Op) {
	by, round := g.spread(inverse), g.vec()
	g.each(func(i, at int) { g.set(constants.RoundShift, round[i]) })
	SHRQ(U8(4), n)
	if g.isWide() {
		g.round4(n, from, to, by[0])
	}
	label("round")
	v := g.load(at(from), mask{})
	for i := range v {
		VMULPS(by[i], v[i], v[i])
		VADDPS(round[i], v[i], v[i])
	}
	if g.isWide() {
		VPMOVDB(v[0], at(to))
	} else {
		g.each(func(i, at int) { VPAND(g.constantBits(0xff).Offset(at), v[i], v[i]) })
		storeBytes(v, at(to))
	}
	ADDQ(U8(64), from)
	ADDQ(U8(16), to)
	DECQ(n)
	JNE(ref("round"))
	label("rounded")
}

// scaled multiplies v by what lies at p, and sets the lanes that m leaves out to zero.
func (g *gen) scaled(v vec, p Mem, m mask) {
	if !m.some {
		for i, r := range v {
			VMULPS(p.Offset(i*g.size), r, r)
		}
		return
	}
	by := g.load(p, m)
	for i, r := range v {
		VMULPS(by[i], r, r)
		if g.isWide() {
			VMOVAPS_Z(r, m.k, r)
		} else {
			VANDPS(m.m[i], r, r)
		}
	}
}

// round4 does the second pass of weights while there are four vectors, n counting
// vectors. If none is left it goes to the label rounded.
func (g *gen) round4(n, from, to reg.GPVirtual, by reg.VecVirtual) {
	order := ZMM()
	VMOVDQU32(NewDataAddr(NewStaticSymbol("vectorPacked"), 0), order)
	SUBQ(U8(4), n)
	JLT(ref("roundFew"))
	label("roundFour")
	var v [4]reg.VecVirtual
	for i := range v {
		v[i] = ZMM()
		VMULPS(Mem{Base: from, Disp: 64 * i}, by, v[i])
	}
	for _, r := range v {
		VCVTPS2DQ(r, r) // to the nearest, ties to even, as adding roundShift does
	}
	VPACKUSDW(v[1], v[0], v[0])
	VPACKUSDW(v[3], v[2], v[2])
	VPACKUSWB(v[2], v[0], v[0])
	VPERMD(v[0], order, v[0])
	VMOVDQU32(v[0], at(to))
	ADDQ(U32(4*64), from)
	ADDQ(U8(64), to)
	SUBQ(U8(4), n)
	JGE(ref("roundFour"))
	label("roundFew")
	ADDQ(U8(4), n)
	JE(ref("rounded"))
}

// storeBytes stores sixteen 32-bit elements below 256 as bytes.
func storeBytes(v []reg.VecVirtual, to Mem) {
	words, bytes := YMM(), XMM()
	VPACKUSDW(v[1], v[0], words)
	VPERMQ(U8(0xd8), words, words)
	VEXTRACTI128(U8(1), words, bytes)
	VPACKUSWB(bytes, words.AsX(), bytes)
	VMOVDQU(bytes, to)
}

// interleaveBy4 puts four rows of 64 bytes side by side, column by column, less 128 each.
func interleaveBy4(g *gen) {
	g.function("InterleaveBy4", "(dst, x *byte)")
	dst, x := load64("dst"), load64("x")
	centre := YMM()
	VMOVDQU(g.constantBits(0x80808080), centre)
	for half := range 2 {
		var rows [4]reg.VecVirtual
		for r := range rows {
			rows[r] = YMM()
			VPXOR(Mem{Base: x, Disp: 64*r + 32*half}, centre, rows[r])
		}
		words := func(a, b int) (low, high reg.VecVirtual) {
			low, high = YMM(), YMM()
			VPUNPCKLBW(rows[b], rows[a], low)
			VPUNPCKHBW(rows[b], rows[a], high)
			return low, high
		}
		low01, high01 := words(0, 1)
		low23, high23 := words(2, 3)
		// Columns 0 … 3 and 16 … 19, then 4 … 7 and 20 … 23, and so on.
		var columns [4]reg.VecVirtual
		for i := range columns {
			columns[i] = YMM()
		}
		VPUNPCKLWD(low23, low01, columns[0])
		VPUNPCKHWD(low23, low01, columns[1])
		VPUNPCKLWD(high23, high01, columns[2])
		VPUNPCKHWD(high23, high01, columns[3])
		for i, v := range columns {
			VMOVDQU(v.AsX(), Mem{Base: dst, Disp: 128*half + 16*i})
			VEXTRACTI128(U8(1), v, Mem{Base: dst, Disp: 128*half + 64 + 16*i})
		}
	}
	ret()
}
