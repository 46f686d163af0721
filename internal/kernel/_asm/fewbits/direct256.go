package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// direct256 generates what direct512 does, for AVX2 and four-bit codes, eight columns at a
// time. Products of two pairs of bytes fit in 16 bits four times over, since no weight is
// above 30, so most sums are of 16 bits.
func direct256(rows int, f directForm) {
	d := beginDirect(rows, f, narrow)
	more, zero := load64("more"), narrow.word("zero")
	if !f.zeros {
		d.table = narrow.table(Mem{Base: more})
	}
	d.low = narrow.bytes(0x0f)
	ones := narrow.words(0x00010001)
	d.columns(f, more, func() {
		sums := make([][2]reg.VecVirtual, rows) // of quads 0 … 3, and 4 … 7
		for quad := range group / 8 {
			at := quad * quadBytes
			lo, hi := YMM(), YMM()
			VMOVDQU(Mem{Base: d.u, Disp: at}, lo)
			PREFETCHT0(Mem{Base: d.u, Disp: directAhead*f.codes + at})
			VPSRLW(U8(4), lo, hi)
			VPAND(d.low, lo, lo)
			VPAND(d.low, hi, hi)
			if d.table != nil {
				VPSHUFB(lo, d.table, lo)
				VPSHUFB(hi, d.table, hi)
			}
			for r := range sums {
				for half, u := range [2]reg.VecVirtual{lo, hi} {
					q := YMM()
					VPBROADCASTD(d.rowQ(r, 4*(quad+half*group/8)), q)
					VPMADDUBSW(q, u, q)
					if quad == 0 {
						sums[r][half] = q
					} else {
						VPADDW(q, sums[r][half], sums[r][half])
					}
				}
			}
		}
		own := zero
		if f.zeros {
			own = YMM()
			VPMOVZXBD(Mem{Base: more}, own)
			VPSUBD(own, zero, own)
		}
		scale := YMM()
		VCVTPH2PS(Mem{Base: d.wScale}, scale)
		for r, s := range sums {
			start, by := YMM(), YMM()
			VPMADDWD(ones, s[0], s[0])
			VPMADDWD(ones, s[1], s[1])
			VPBROADCASTD(d.rowStart(r), start)
			VPMADDWD(own, start, start)
			VPADDD(s[0], s[1], s[1])
			VPADDD(s[1], start, start)
			VBROADCASTSS(d.rowScale(r), by)
			VMULPS(scale, by, by)
			VCVTDQ2PS(start, start)
			VFMADD213PS(d.sum(r, 0), by, start)
			VMOVUPS(start, d.sum(r, 0))
		}
	})
}

// beginDirect begins an asmDirect, a function that expands codes and multiplies at once. more
// is the table of weights, or the zeros of columns.
func beginDirect(rows int, f directForm, s isa) direct {
	name := fmt.Sprintf("direct%sx%d%s", f.name, rows, s.name)
	TEXT(name, NOSPLIT, "func(acc *float32, q *byte, stride int, start *int32, xScale *float32, groupStride int, "+
		"codes, wScale, more *byte, n, zero int)")
	Pragma("noescape")
	d := direct{rows: rows, tile: tile{
		acc: load64("acc"), q: load64("q"), start: load64("start"), xScale: load64("xScale"),
		u: load64("codes"), wScale: load64("wScale"), n: load64("n"),
	}}
	d.tile.strides(rows)
	return d
}

// columns generates the function's loops over groups, and over eight columns at a time of
// each: body does those that the pointers are at.
func (d direct) columns(f directForm, zeros reg.GPVirtual, body func()) {
	SHLQ(U8(3), d.n)
	Label("loop")
	body()
	ADDQ(U8(32), d.u)
	ADDQ(U8(16), d.wScale)
	ADDQ(U8(32), d.acc)
	if f.zeros {
		ADDQ(U8(8), zeros)
	}
	DECQ(d.n)
	TESTQ(U32(7), d.n)
	JNZ(LabelRef("loop"))
	SUBQ(U32(4*panel), d.acc)
	ADDQ(U32(uint32(f.codes-quadBytes)), d.u)
	d.next(f, zeros)
	TESTQ(d.n, d.n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// next goes on to the next group, and asks for scales and zeros of a later one.
func (d direct) next(f directForm, zeros reg.GPVirtual) {
	scales := f.scales()
	for at := 0; at < scales; at += 64 {
		PREFETCHT0(Mem{Base: d.wScale, Disp: directAhead*scales + at})
	}
	if f.zeros {
		PREFETCHT0(Mem{Base: zeros, Disp: directAhead * panel})
	}
	ADDQ(U8(group), d.q)
	ADDQ(U8(4), d.start)
	ADDQ(U8(4), d.xScale)
}

// scales returns the bytes of the scales of a group.
func (f directForm) scales() int {
	if f.powers {
		return panel
	}
	return 2 * panel
}
