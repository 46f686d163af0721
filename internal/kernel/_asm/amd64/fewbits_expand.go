package main

import (
	"math/bits"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// An expansion holds the arguments of a function that expands groups of codes.
type expansion struct {
	isa
	dst, src, more, n, ahead reg.GPVirtual
	low                      reg.VecVirtual
}

// expand begins such a function, which prefetches what lies ahead bytes on.
func expand(s isa, name string) expansion {
	p := s.begin(name, "(dst, codes, more *byte, groups, ahead int)", "dst", "codes", "more", "groups", "ahead")
	return expansion{s, p[0], p[1], p[2], p[3], p[4], s.bytes(0x0f)}
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

// loop generates the function's loops over groups of size bytes, and over parts of each:
// body does one vector of so many parts, from src to dst.
func (e expansion) loop(size, parts int, body func()) {
	SHLQ(U8(bits.TrailingZeros(uint(parts))), e.n)
	label("loop")
	body()
	ADDQ(U8(e.isa.size), e.src)
	ADDQ(U8(e.isa.size), e.dst)
	DECQ(e.n)
	TESTQ(U32(uint32(parts-1)), e.n)
	JNZ(ref("loop"))
	ADDQ(U32(uint32(size-parts*e.isa.size)), e.src)
	ADDQ(U32(uint32(groupBytes-parts*e.isa.size)), e.dst)
	prefetch(PREFETCHT0, Mem{Base: e.src, Index: e.ahead, Scale: 1, Disp: -size}, size)
	TESTQ(e.n, e.n)
	JNZ(ref("loop"))
	ret()
}

// nibbles generates the expansion of four bits, to which a byte of each column is added.
func nibbles(s isa, spread Mem) {
	e := expand(s, "nibbles")
	lowest := s.table(spread)
	add := make([]reg.VecVirtual, quadBytes/s.size)
	label("loop")
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
	prefetch(PREFETCHT0, Mem{Base: e.src, Index: e.ahead, Scale: 1}, groupBytes/2)
	ADDQ(U32(groupBytes/2), e.src)
	ADDQ(U32(groupBytes), e.dst)
	repeat(1, e.n)
}

// mxfp6 generates the expansion of E2M3. A table has the values of four bits with a large
// exponent; two more bits lie in a plane of their own.
func mxfp6(s isa) {
	e := expand(s, "mxfp6")
	large := s.table(Mem{Base: e.more})
	zero := s.bytes(60)
	const quarter = groupBytes / 4
	if s.isWide() {
		var bits [8]reg.VecVirtual
		for i := range bits {
			bits[i] = s.bytes(1 << i)
		}
		e.sixes(func(i int, plane, v reg.VecVirtual) {
			exponent, sign, u := K(), K(), s.vector()
			VPTESTMB(bits[2*i], plane, exponent)
			VPTESTMB(bits[2*i+1], plane, sign)
			VPSHUFB(v, large, exponent, v)
			VPADDB(zero, v, u)
			VPSUBB(v, zero, sign, u)
			s.store(u, Mem{Base: e.dst, Disp: i * quarter})
		})
		return
	}
	one, two := s.bytes(1), s.bytes(2)
	e.sixes(func(i int, plane, v reg.VecVirtual) {
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
		s.store(v, Mem{Base: e.dst, Disp: i * quarter})
	})
}

// sixes generates the loop: do is called for each of the four vectors of four-bit codes
// that share a vector of the plane.
func (e expansion) sixes(do func(i int, plane, v reg.VecVirtual)) {
	const quarter = groupBytes / 4
	e.loop(groupBytes*3/4, quarter/e.isa.size, func() {
		plane := e.vector()
		e.load(Mem{Base: e.src, Disp: groupBytes / 2}, plane)
		lo0, hi0 := e.halves(0)
		lo1, hi1 := e.halves(quarter)
		for i, v := range []reg.VecVirtual{lo0, lo1, hi0, hi1} {
			do(i, plane, v)
		}
	})
}

// powers generates the conversion of n exponents with a bias of 127 to float32, a positive
// multiple of 64.
func powers(s isa) {
	p := s.begin("powers", "(dst *float32, e *byte, n int)", "dst", "e", "n")
	dst, src, n := p[0], p[1], p[2]
	label("loop")
	for at := 0; at < panel; at += s.size / 4 {
		v := s.vector()
		VPMOVZXBD(Mem{Base: src, Disp: at}, v)
		VPSLLD(U8(23), v, v)
		s.store(v, Mem{Base: dst, Disp: 4 * at})
	}
	ADDQ(U8(panel), src)
	ADDQ(U32(4*panel), dst)
	repeat(panel, n)
}
