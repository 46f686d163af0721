package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A tile holds the arguments of a function that sums, in registers.
type tile struct {
	acc, q, start, xScale, u, wScale, n, ahead reg.GPVirtual

	stride, stride3, stride5 reg.GPVirtual // of q, in bytes
	groups, groups3, groups5 reg.GPVirtual // of start and xScale, in bytes
}

// loadTile begins an asmGroups.
func loadTile(name string, rows int, isa string) tile {
	TEXT(fmt.Sprintf("%sx%d%s", name, rows, isa), NOSPLIT,
		"func(acc *float32, q *byte, stride int, start *int32, xScale *float32, groupStride int, "+
			"u *byte, wScale *float32, n, zero, ahead int)")
	Pragma("noescape")
	t := tile{
		acc: load64("acc"), q: load64("q"), start: load64("start"), xScale: load64("xScale"),
		u: load64("u"), wScale: load64("wScale"), n: load64("n"), ahead: load64("ahead"),
	}
	t.strides(rows)
	return t
}

// strides loads the strides of so many rows.
func (t *tile) strides(rows int) {
	if rows > 1 {
		t.stride, t.groups = load64("stride"), load64("groupStride")
	}
	if rows > 3 {
		t.stride3, t.groups3 = triple(t.stride, 2), triple(t.groups, 2)
	}
	if rows > 5 {
		t.stride5, t.groups5 = triple(t.stride, 4), triple(t.groups, 4)
	}
}

// triple returns r·(scale+1).
func triple(r reg.GPVirtual, scale uint8) reg.GPVirtual {
	to := GP64()
	LEAQ(Mem{Base: r, Index: r, Scale: scale}, to)
	return to
}

// at returns the address of row r from base on, given strides of 1, 3 and 5 rows.
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

// tile512 generates a tile. With few rows, sums of floats stay in registers. With more,
// they lie in the first-level cache, since the registers hold integers.
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
	zero := wide.word("zero")
	Label("loop")
	for r := range rows {
		VPBROADCASTD(t.rowStart(r), ints[r*vectors])
		VPMADDWD(zero, ints[r*vectors], ints[r*vectors])
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

// tile256 generates a tile for AVX2. Its product of bytes would saturate where weights are
// above 128, which no format has.
func tile256(rows int) {
	t := loadTile("tileGroups", rows, "AVX2")
	ones, zero := narrow.words(0x00010001), narrow.word("zero")
	ADDQ(t.u, t.ahead)
	SHLQ(U8(3), t.n)
	Label("loop")
	ints := make([]reg.VecVirtual, rows)
	for r := range ints {
		ints[r] = YMM()
		VPBROADCASTD(t.rowStart(r), ints[r])
		VPMADDWD(zero, ints[r], ints[r])
	}
	for quad := range group / 4 {
		w := YMM()
		VMOVDQU(t.bytes(quad, 0), w)
		for r := range ints {
			q := YMM()
			VPBROADCASTD(t.rowQ(r, 4*quad), q)
			VPMADDUBSW(q, w, q)
			VPMADDWD(ones, q, q)
			VPADDD(q, ints[r], ints[r])
		}
	}
	for r := range ints {
		by, sum := YMM(), YMM()
		VBROADCASTSS(t.rowScale(r), by)
		VMULPS(t.scale(0), by, by)
		VCVTDQ2PS(ints[r], ints[r])
		VMOVUPS(t.sum(r, 0), sum)
		VFMADD231PS(by, ints[r], sum)
		VMOVUPS(sum, t.sum(r, 0))
	}
	for at := 0; at < quadBytes; at += 64 {
		PREFETCHT0(Mem{Base: t.ahead, Disp: at})
	}
	ADDQ(U32(quadBytes), t.ahead)
	ADDQ(U8(32), t.u)
	ADDQ(U8(32), t.wScale)
	ADDQ(U8(32), t.acc)
	DECQ(t.n)
	TESTQ(U32(7), t.n)
	JNZ(LabelRef("loop"))
	SUBQ(U32(4*panel), t.acc)
	ADDQ(U32(groupBytes-quadBytes), t.u)
	ADDQ(U8(group), t.q)
	ADDQ(U8(4), t.start)
	ADDQ(U8(4), t.xScale)
	TESTQ(t.n, t.n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
