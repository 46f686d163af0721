// Command fewbits writes the kernels of products with weights in groups of 32 that
// share a scale: those that expand weights of few bits to bytes, and those that sum.
package main

import (
	"flag"
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	panel      = 64
	group      = 32
	groupBytes = panel * group // of a panel, expanded
	quadBytes  = 4 * panel     // four k of all columns
)

// An isa is a set of instructions, and the vectors it has.
type isa struct {
	name   string
	vector func() reg.VecVirtual
	size   int // of a vector, in bytes
}

var (
	wide   = isa{"AVX512", ZMM, 64}
	narrow = isa{"AVX2", YMM, 32}
)

func main() {
	flag.Parse()
	ConstraintExpr("!purego")
	// The lowest byte of every 32 bits, four times.
	spread := GLOBL("spreadLowest", RODATA|NOPTR)
	for i := range 4 {
		DATA(4*i, U32(uint32(4*i)*0x01010101))
	}
	for _, s := range []isa{wide, narrow} {
		nibbles(s)
		nibblesZero(s, spread)
		sixes(s)
		powers(s)
		quantise(s)
	}
	for rows := 1; rows <= 6; rows++ {
		tile512(rows)
	}
	for rows := 1; rows <= 4; rows++ {
		tile256(rows, false)
		tile256(rows, true)
	}
	Generate()
}

// bytes returns a vector of bytes b.
func (s isa) bytes(b byte) reg.VecVirtual { return s.words(uint32(b) * 0x01010101) }

// words returns a vector of 32-bit elements bits.
func (s isa) words(bits uint32) reg.VecVirtual {
	r, x, v := GP32(), XMM(), s.vector()
	MOVL(U32(bits), r)
	VMOVD(r, x)
	VPBROADCASTD(x, v)
	return v
}

func (s isa) and(a Op, b, to reg.VecVirtual) {
	if s.size == 64 {
		VPANDD(a, b, to)
	} else {
		VPAND(a, b, to)
	}
}

func (s isa) load(m Mem, to reg.VecVirtual) {
	if s.size == 64 {
		VMOVDQU32(m, to)
	} else {
		VMOVDQU(m, to)
	}
}

func (s isa) store(v reg.VecVirtual, m Mem) {
	if s.size == 64 {
		VMOVDQU32(v, m)
	} else {
		VMOVDQU(v, m)
	}
}

// table loads 16 bytes into every 128 bits of a vector.
func (s isa) table(m Mem) reg.VecVirtual {
	v := s.vector()
	if s.size == 64 {
		VBROADCASTI32X4(m, v)
	} else {
		VBROADCASTI128(m, v)
	}
	return v
}

// load64 returns a parameter in a register.
func load64(name string) reg.GPVirtual {
	r := GP64()
	Load(Param(name), r)
	return r
}

// expansion are the arguments of what expands groups of codes.
type expansion struct {
	isa
	dst, src, more, n, ahead reg.GPVirtual
	low                      reg.VecVirtual
}

// expand begins such a function. more is its third argument.
func expand(s isa, name, more string) expansion {
	TEXT(name+s.name, NOSPLIT, "func(dst, codes, "+more+" *byte, groups, ahead int)")
	Pragma("noescape")
	Doc(name + s.name + " does " + name + "Ref for groups groups. It prefetches what lies ahead bytes on.")
	return expansion{s, load64("dst"), load64("codes"), load64(more), load64("groups"), load64("ahead"), s.bytes(0x0f)}
}

// halves loads codes at src+at, and returns their lower and their upper four bits.
func (e expansion) halves(at int) (lo, hi reg.VecVirtual) {
	lo, hi = e.vector(), e.vector()
	e.load(Mem{Base: e.src, Disp: at}, lo)
	VPSRLW(U8(4), lo, hi)
	e.and(e.low, lo, lo)
	e.and(e.low, hi, hi)
	return lo, hi
}

// next ends the loop over groups, of size bytes each, and the function.
func (e expansion) next(size int) {
	for at := 0; at < size; at += 64 {
		PREFETCHT0(Mem{Base: e.src, Index: e.ahead, Scale: 1, Disp: at})
	}
	ADDQ(U32(size), e.src)
	ADDQ(U32(groupBytes), e.dst)
	DECQ(e.n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// nibbles generates the expansion of four bits by a table.
func nibbles(s isa) {
	e := expand(s, "nibbles", "table")
	values := s.table(Mem{Base: e.more})
	Label("loop")
	for at := 0; at < groupBytes/2; at += s.size {
		lo, hi := e.halves(at)
		VPSHUFB(lo, values, lo)
		VPSHUFB(hi, values, hi)
		s.store(lo, Mem{Base: e.dst, Disp: at})
		s.store(hi, Mem{Base: e.dst, Disp: at + groupBytes/2})
	}
	e.next(groupBytes / 2)
}

// nibblesZero generates the expansion of four bits, to which a byte of each column is
// added.
func nibblesZero(s isa, spread Mem) {
	e := expand(s, "nibblesZero", "zeros")
	lowest := s.table(spread)
	add := make([]reg.VecVirtual, quadBytes/s.size)
	Label("loop")
	for i := range add {
		add[i] = s.vector()
		VPMOVZXBD(Mem{Base: e.more, Disp: i * s.size / 4}, add[i])
		VPSHUFB(lowest, add[i], add[i])
	}
	for at := 0; at < groupBytes/2; at += s.size {
		lo, hi := e.halves(at)
		column := add[at%quadBytes/s.size]
		VPADDB(column, lo, lo)
		VPADDB(column, hi, hi)
		s.store(lo, Mem{Base: e.dst, Disp: at})
		s.store(hi, Mem{Base: e.dst, Disp: at + groupBytes/2})
	}
	ADDQ(U8(panel), e.more)
	e.next(groupBytes / 2)
}

// sixes generates the expansion of E2M3: four bits of which a table has what they are
// with a large exponent, and two more in a plane of their own.
func sixes(s isa) {
	e := expand(s, "sixes", "table")
	large := s.table(Mem{Base: e.more})
	zero := s.bytes(60)
	const quarter = groupBytes / 4
	if s.size == 64 {
		var bits [8]reg.VecVirtual
		for i := range bits {
			bits[i] = s.bytes(1 << i)
		}
		Label("loop")
		for at := 0; at < quarter; at += s.size {
			plane := s.vector()
			s.load(Mem{Base: e.src, Disp: groupBytes/2 + at}, plane)
			e.sixes(at, func(i int, v reg.VecVirtual) {
				exponent, sign := K(), K()
				VPTESTMB(bits[2*i], plane, exponent)
				VPTESTMB(bits[2*i+1], plane, sign)
				VPSHUFB(v, large, exponent, v)
				u := s.vector()
				VPADDB(zero, v, u)
				VPSUBB(v, zero, sign, u)
				s.store(u, Mem{Base: e.dst, Disp: i*quarter + at})
			})
		}
		e.next(groupBytes * 3 / 4)
		return
	}
	one, two := s.bytes(1), s.bytes(2)
	Label("loop")
	for at := 0; at < quarter; at += s.size {
		plane := s.vector()
		s.load(Mem{Base: e.src, Disp: groupBytes/2 + at}, plane)
		e.sixes(at, func(i int, v reg.VecVirtual) {
			exponent, sign, w := s.vector(), s.vector(), s.vector()
			VPAND(one, plane, exponent)
			VPCMPEQB(one, exponent, exponent)
			VPAND(two, plane, sign)
			VPCMPEQB(two, sign, sign)
			if i < 3 {
				VPSRLW(U8(2), plane, plane)
			}
			VPSHUFB(v, large, w)
			VPBLENDVB(exponent, w, v, v)
			Comment("Two's complement where there is a sign.")
			VPXOR(sign, v, v)
			VPSUBB(sign, v, v)
			VPADDB(zero, v, v)
			s.store(v, Mem{Base: e.dst, Disp: i*quarter + at})
		})
	}
	e.next(groupBytes * 3 / 4)
}

// sixes calls do for the four vectors of four bits that a vector of the plane belongs to.
func (e expansion) sixes(at int, do func(i int, v reg.VecVirtual)) {
	lo0, hi0 := e.halves(at)
	lo1, hi1 := e.halves(at + groupBytes/4)
	for i, v := range []reg.VecVirtual{lo0, lo1, hi0, hi1} {
		do(i, v)
	}
}

// powers generates the conversion of exponents with a bias of 127 to float32.
func powers(s isa) {
	TEXT("powers"+s.name, NOSPLIT, "func(dst *float32, e *byte, n int)")
	Pragma("noescape")
	Doc("powers" + s.name + " does powersRef for n numbers, a positive multiple of 64.")
	dst, src, n := load64("dst"), load64("e"), load64("n")
	Label("loop")
	for at := 0; at < panel; at += s.size / 4 {
		v := s.vector()
		VPMOVZXBD(Mem{Base: src, Disp: at}, v)
		VPSLLD(U8(23), v, v)
		s.store(v, Mem{Base: dst, Disp: 4 * at})
	}
	ADDQ(U8(panel), src)
	ADDQ(U32(4*panel), dst)
	SUBQ(U8(panel), n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

const (
	magic = 0x4b400000 // 1.5·2²³, as in roundInt8
	tiny  = 27 << 23   // 2⁻¹⁰⁰, as in int8Scale
	inf   = 0x7f800000
)

// quantise generates the rounding of groups to int8, each with a scale of its own.
func quantise(s isa) {
	TEXT("quantiseGroups"+s.name, NOSPLIT, "func(q *byte, scale *float32, start *int32, x *float32, groups, zero int)")
	Pragma("noescape")
	Doc("quantiseGroups" + s.name + " does quantiseGroupsRef for groups whole groups.")
	q, scale, start, x, n, zero := load64("q"), load64("scale"), load64("start"), load64("x"), load64("groups"), load64("zero")
	mask, round := s.words(0x7fffffff), s.words(magic)
	most := XMM()
	full := GP32()
	MOVL(U32(0x42fe0000), full) // 127
	VMOVD(full, most)
	v := make([]reg.VecVirtual, 4*group/s.size)
	Label("loop")
	peak := largest(s, x, v, mask)
	bits := GP32()
	VMOVD(peak, bits)
	inverse, unit := XMM(), XMM()
	CMPL(bits, U32(tiny))
	JB(LabelRef("zero"))
	CMPL(bits, U32(inf))
	JAE(LabelRef("infinite"))
	VDIVSS(peak, most, inverse)
	VDIVSS(most, peak, unit)
	Label("round")
	VMOVSS(unit, Mem{Base: scale})
	by := s.vector()
	VBROADCASTSS(inverse, by)
	for i := range v {
		VMULPS(by, v[i], v[i])
		VADDPS(round, v[i], v[i])
		VPSUBD(round, v[i], v[i])
	}
	pack(s, q, v)
	sum := fold(s, v)
	IMULL(zero.As32(), sum)
	NEGL(sum)
	MOVL(sum, Mem{Base: start})
	ADDQ(U8(group), q)
	ADDQ(U8(4), scale)
	ADDQ(U8(4), start)
	ADDQ(U32(4*group), x)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
	Label("zero")
	VXORPS(inverse, inverse, inverse)
	VXORPS(unit, unit, unit)
	JMP(LabelRef("round"))
	Label("infinite")
	nan := GP32()
	VXORPS(inverse, inverse, inverse)
	MOVL(U32(0x7fc00000), nan)
	VMOVD(nan, unit)
	Comment("Infinity times zero is not a number, and no int8: round zeros.")
	for i := range v {
		xor(s, v[i])
	}
	JMP(LabelRef("round"))
}

func xor(s isa, v reg.VecVirtual) {
	if s.size == 64 {
		VPXORD(v, v, v)
	} else {
		VPXOR(v, v, v)
	}
}

// largest loads a group to v and returns the bits of its largest magnitude.
func largest(s isa, x reg.GPVirtual, v []reg.VecVirtual, mask reg.VecVirtual) reg.VecVirtual {
	top := s.vector()
	for i := range v {
		v[i] = s.vector()
		s.load(Mem{Base: x, Disp: i * s.size}, v[i])
		if i == 0 {
			s.and(mask, v[i], top)
			continue
		}
		m := s.vector()
		s.and(mask, v[i], m)
		VPMAXUD(m, top, top)
	}
	return reduce(s, top, func(a, b, to Op) { VPMAXUD(a, b, to) })
}

// fold returns the sum of all 32-bit elements of v, which it uses up.
func fold(s isa, v []reg.VecVirtual) reg.GPVirtual {
	for _, w := range v[1:] {
		VPADDD(w, v[0], v[0])
	}
	r := GP32()
	VMOVD(reduce(s, v[0], func(a, b, to Op) { VPADDD(a, b, to) }), r)
	return r
}

// reduce folds the elements of v by do, and returns a vector that begins with the result.
func reduce(s isa, v reg.VecVirtual, do func(a, b, to Op)) reg.VecVirtual {
	if s.size == 64 {
		half := YMM()
		VEXTRACTI64X4(U8(1), v, half)
		do(half, v.AsY(), half)
		v = half
	}
	low := XMM()
	VEXTRACTI128(U8(1), v.AsY(), low)
	do(low, v.AsX(), low)
	for _, order := range []uint8{0x4e, 0xb1} {
		other := XMM()
		VPSHUFD(U8(order), low, other)
		do(other, low, low)
	}
	return low
}

// pack stores 32 integers as bytes at q.
func pack(s isa, q reg.GPVirtual, v []reg.VecVirtual) {
	if s.size == 64 {
		for i := range v {
			VPMOVDB(v[i], Mem{Base: q, Disp: 16 * i})
		}
		return
	}
	a, b := YMM(), YMM()
	VPACKSSDW(v[1], v[0], a)
	VPACKSSDW(v[3], v[2], b)
	VPACKSSWB(b, a, a)
	Comment("Halves are packed apart: put the fours in order.")
	lo, hi := XMM(), XMM()
	VEXTRACTI128(U8(1), a, hi)
	VPUNPCKLDQ(hi, a.AsX(), lo)
	VPUNPCKHDQ(hi, a.AsX(), hi)
	VMOVDQU(lo, Mem{Base: q})
	VMOVDQU(hi, Mem{Base: q, Disp: 16})
}

// A tile is the arguments of a function that sums, in registers.
type tile struct {
	acc, q, start, xScale, u, wScale, n, ahead reg.GPVirtual

	stride, stride3, stride5 reg.GPVirtual // of q, in bytes
	groups, groups3, groups5 reg.GPVirtual // of start and xScale, in bytes
}

func loadTile(name string, rows int, isa string) tile {
	TEXT(fmt.Sprintf("%sx%d%s", name, rows, isa), NOSPLIT,
		"func(acc *float32, q *byte, stride int, start *int32, xScale *float32, groupStride int, u *byte, wScale *float32, n, ahead int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%sx%d%s does %d rows of tileGroupsRef, n groups. Strides are in bytes.", name, rows, isa, rows))
	t := tile{
		acc: load64("acc"), q: load64("q"), start: load64("start"), xScale: load64("xScale"), u: load64("u"), wScale: load64("wScale"),
		n: load64("n"), ahead: load64("ahead"),
	}
	if rows > 1 {
		t.stride, t.groups = load64("stride"), load64("groupStride")
	}
	if rows > 3 {
		t.stride3, t.groups3 = triple(t.stride, 2), triple(t.groups, 2)
	}
	if rows > 5 {
		t.stride5, t.groups5 = triple(t.stride, 4), triple(t.groups, 4)
	}
	return t
}

// triple returns r·(scale+1).
func triple(r reg.GPVirtual, scale uint8) reg.GPVirtual {
	to := GP64()
	LEAQ(Mem{Base: r, Index: r, Scale: scale}, to)
	return to
}

// at returns the address of row r behind base, for strides of 1, 3 and 5 rows.
func at(base reg.GPVirtual, r, disp int, one, three, five reg.GPVirtual) Mem {
	m := Mem{Base: base, Disp: disp}
	switch r {
	case 0:
	case 1:
		m.Index, m.Scale = one, 1
	case 3:
		m.Index, m.Scale = three, 1
	case 5:
		m.Index, m.Scale = five, 1
	default:
		m.Index, m.Scale = one, uint8(r)
	}
	return m
}

func (t tile) rowQ(r, disp int) Mem   { return at(t.q, r, disp, t.stride, t.stride3, t.stride5) }
func (t tile) rowStart(r int) Mem     { return at(t.start, r, 0, t.groups, t.groups3, t.groups5) }
func (t tile) rowScale(r int) Mem     { return at(t.xScale, r, 0, t.groups, t.groups3, t.groups5) }
func (t tile) sum(r, column int) Mem  { return Mem{Base: t.acc, Disp: 4 * (r*panel + column)} }
func (t tile) scale(column int) Mem   { return Mem{Base: t.wScale, Disp: 4 * column} }
func (t tile) bytes(quad, at int) Mem { return Mem{Base: t.u, Disp: quad*quadBytes + at} }

// prefetch asks for a quad of weights further on.
func (t tile) prefetch(quad int) {
	for at := 0; at < quadBytes; at += 64 {
		m := t.bytes(quad, at)
		m.Index, m.Scale = t.ahead, 1
		PREFETCHT0(m)
	}
}

// next ends the loop over groups.
func (t tile) next() {
	ADDQ(U8(group), t.q)
	ADDQ(U8(4), t.start)
	ADDQ(U8(4), t.xScale)
	ADDQ(U32(groupBytes), t.u)
	ADDQ(U32(4*panel), t.wScale)
	DECQ(t.n)
	JNZ(LabelRef("loop"))
}

// tile512 generates a tile. Sums of floats of few rows stay in registers. Those of more
// rows lie in the first-level cache, as the registers are for integers.
func tile512(rows int) {
	t := loadTile("tileGroups", rows, "AVX512")
	const vectors = panel / 16
	kept := rows <= 3
	acc, ints := make([]reg.VecVirtual, rows*vectors), make([]reg.VecVirtual, rows*vectors)
	for i := range acc {
		ints[i] = ZMM()
		if kept {
			acc[i] = ZMM()
			VMOVUPS(t.sum(0, 16*i), acc[i])
		}
	}
	Label("loop")
	for r := range rows {
		VPBROADCASTD(t.rowStart(r), ints[r*vectors])
		for v := 1; v < vectors; v++ {
			VMOVDQA32(ints[r*vectors], ints[r*vectors+v])
		}
	}
	for quad := range group / 4 {
		var w [vectors]reg.VecVirtual
		for v := range w {
			w[v] = ZMM()
			VMOVDQU32(t.bytes(quad, 64*v), w[v])
		}
		for r := range rows {
			q := ZMM()
			VPBROADCASTD(t.rowQ(r, 4*quad), q)
			for v := range w {
				VPDPBUSD(q, w[v], ints[r*vectors+v])
			}
		}
		t.prefetch(quad)
	}
	for v := range vectors {
		scale := ZMM()
		VMOVUPS(t.scale(16*v), scale)
		for r := range rows {
			i := r*vectors + v
			by := ZMM()
			VMULPS_BCST(t.rowScale(r), scale, by)
			VCVTDQ2PS(ints[i], ints[i])
			if kept {
				VFMADD231PS(by, ints[i], acc[i])
				continue
			}
			VFMADD213PS(t.sum(0, 16*i), by, ints[i])
			VMOVUPS(ints[i], t.sum(0, 16*i))
		}
	}
	t.next()
	for i := range acc {
		if kept {
			VMOVUPS(acc[i], t.sum(0, 16*i))
		}
	}
	VZEROUPPER()
	RET()
}

// tile256 generates a tile for AVX2. Its product of bytes saturates where weights are
// above 128. If large is set they may be, and their lowest bits are multiplied apart.
func tile256(rows int, large bool) {
	name := "tileGroups"
	if large {
		name = "tileGroupsLarge"
	}
	t := loadTile(name, rows, "AVX2")
	ones := narrow.words(0x00010001)
	var low, rest reg.VecVirtual
	if large {
		low, rest = narrow.bytes(1), narrow.bytes(0x7f)
	}
	Label("loop")
	for column := 0; column < panel; column += 8 {
		ints := make([]reg.VecVirtual, rows)
		for r := range ints {
			ints[r] = YMM()
			VPBROADCASTD(t.rowStart(r), ints[r])
		}
		for quad := range group / 4 {
			w := YMM()
			VMOVDQU(t.bytes(quad, 4*column), w)
			var odd reg.VecVirtual
			if large {
				odd = YMM()
				VPAND(low, w, odd)
				VPSRLW(U8(1), w, w)
				VPAND(rest, w, w)
			}
			for r := range ints {
				q, p := YMM(), YMM()
				VPBROADCASTD(t.rowQ(r, 4*quad), q)
				VPMADDUBSW(q, w, p)
				VPMADDWD(ones, p, p)
				VPADDD(p, ints[r], ints[r])
				if large {
					VPADDD(p, ints[r], ints[r])
					VPMADDUBSW(q, odd, p)
					VPMADDWD(ones, p, p)
					VPADDD(p, ints[r], ints[r])
				}
			}
			if column == 0 {
				t.prefetch(quad)
			}
		}
		for r := range ints {
			by, sum := YMM(), YMM()
			VBROADCASTSS(t.rowScale(r), by)
			VMULPS(t.scale(column), by, by)
			VCVTDQ2PS(ints[r], ints[r])
			VMOVUPS(t.sum(r, column), sum)
			VFMADD231PS(by, ints[r], sum)
			VMOVUPS(sum, t.sum(r, column))
		}
	}
	t.next()
	VZEROUPPER()
	RET()
}
