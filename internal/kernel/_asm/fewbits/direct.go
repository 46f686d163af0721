package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// directAhead is how many groups ahead codes and scales are prefetched.
const directAhead = 8

// A directForm is how codes and scales lie in memory.
type directForm struct {
	name   string
	codes  int  // bytes of a group
	powers bool // scales are powers of two in a byte, and not binary16
	zeros  bool // codes are weights themselves but for a zero of each column
	expand func(d direct)
}

// A direct holds the arguments of a function that expands codes in registers and
// multiplies them at once. Its u is the codes.
type direct struct {
	tile
	rows  int
	table reg.VecVirtual // nil: codes are what is multiplied
	low   reg.VecVirtual
	ints  []reg.VecVirtual
}

// direct512 generates products of a few rows with weights whose codes are read once and
// never stored expanded. Sums of floats stay in registers where they have room.
func direct512(rows int, f directForm) {
	d := beginDirect(rows, f, wide)
	more, zero := load64("more"), wide.word("zero")
	switch {
	case f.zeros:
	case f.codes == groupBytes/2:
		d.table = wide.table(Mem{Base: more})
	default:
		d.table = ZMM()
		VMOVDQU32(Mem{Base: more}, d.table)
	}
	d.low = wide.bytes(0x0f)
	const vectors = panel / 16
	kept := rows <= 3
	acc := make([]reg.VecVirtual, rows*vectors)
	d.ints = make([]reg.VecVirtual, rows*vectors)
	for i := range acc {
		d.ints[i] = ZMM()
		if kept {
			acc[i] = ZMM()
			VMOVUPS(d.sum(0, 16*i), acc[i])
		}
	}
	Label("loop")
	d.begin(f, more, zero)
	f.expand(d)
	for v := range vectors {
		scale := ZMM()
		if f.powers {
			VPMOVZXBD(Mem{Base: d.wScale, Disp: 16 * v}, scale)
			VPSLLD(U8(23), scale, scale)
		} else {
			VCVTPH2PS(Mem{Base: d.wScale, Disp: 32 * v}, scale)
		}
		for r := range rows {
			i := r*vectors + v
			by := ZMM()
			VMULPS_BCST(d.rowScale(r), scale, by)
			VCVTDQ2PS(d.ints[i], d.ints[i])
			if kept {
				VFMADD231PS(by, d.ints[i], acc[i])
				continue
			}
			VFMADD213PS(d.sum(0, 16*i), by, d.ints[i])
			VMOVUPS(d.ints[i], d.sum(0, 16*i))
		}
	}
	d.next(f, more)
	ADDQ(U32(uint32(f.codes)), d.u)
	ADDQ(U32(uint32(f.scales())), d.wScale)
	if f.zeros {
		ADDQ(U8(panel), more)
	}
	DECQ(d.n)
	JNZ(LabelRef("loop"))
	for i := range acc {
		if kept {
			VMOVUPS(acc[i], d.sum(0, 16*i))
		}
	}
	VZEROUPPER()
	RET()
}

// begin sets the sums of a group to what cancels the offset of the weights. In zeros lies
// the difference between the offset and that of a column.
func (d direct) begin(f directForm, zeros reg.GPVirtual, zero reg.VecVirtual) {
	const vectors = panel / 16
	for r := range d.rows {
		start := ZMM()
		VPBROADCASTD(d.rowStart(r), start)
		if !f.zeros {
			VPMADDWD(zero, start, start)
		}
		for v := range vectors {
			VMOVDQA32(start, d.ints[r*vectors+v])
		}
	}
	if !f.zeros {
		return
	}
	for v := range vectors {
		own := ZMM()
		VPMOVZXBD(Mem{Base: zeros, Disp: 16 * v}, own)
		VPSUBD(own, zero, own)
		for r := range d.rows {
			VPMADDWD(own, d.ints[r*vectors+v], d.ints[r*vectors+v])
		}
	}
}

// dot adds the products of a vector of weights, by its place in an expanded group.
func (d direct) dot(u reg.VecVirtual, at int) {
	for r := range d.rows {
		VPDPBUSD_BCST(d.rowQ(r, at/quadBytes*4), u, d.ints[r*panel/16+at%quadBytes/64])
	}
}

// codes loads 64 bytes of codes, and prefetches those of a later group.
func (d direct) codes(at, size int) reg.VecVirtual {
	v := ZMM()
	VMOVDQU32(Mem{Base: d.u, Disp: at}, v)
	PREFETCHT0(Mem{Base: d.u, Disp: directAhead*size + at})
	return v
}

// directNibbles expands four bits.
func directNibbles(d direct) {
	for at := 0; at < groupBytes/2; at += 64 {
		lo, hi := d.codes(at, groupBytes/2), ZMM()
		VPSRLW(U8(4), lo, hi)
		VPANDD(d.low, lo, lo)
		VPANDD(d.low, hi, hi)
		if d.table != nil {
			VPSHUFB(lo, d.table, lo)
			VPSHUFB(hi, d.table, hi)
		}
		d.dot(lo, at)
		d.dot(hi, at+groupBytes/2)
	}
}

// directSixes expands six bits by a table of 64 bytes: four bits of a code from one
// plane, the others moved above them from the other plane. VPERMB ignores the two bits
// above those.
func directSixes(d direct) {
	const quarter, size = groupBytes / 4, groupBytes * 3 / 4
	for at := 0; at < quarter; at += 64 {
		plane := d.codes(groupBytes/2+at, size)
		for i := range 2 {
			code := d.codes(i*quarter+at, size)
			for half := range 2 {
				index := ZMM()
				switch shift := 4*half + 2*i; {
				case shift < 4:
					VPSLLW(U8(uint8(4-shift)), plane, index)
				case shift > 4:
					VPSRLW(U8(uint8(shift-4)), plane, index)
				default:
					VMOVDQA32(plane, index)
				}
				if half == 1 {
					VPSRLW(U8(4), code, code)
				}
				const select3 = 0xd8 // of the second where the third is set, else of the first
				VPTERNLOGD(U8(select3), d.low, code, index)
				VPERMB(d.table, index, index)
				d.dot(index, (i+2*half)*quarter+at)
			}
		}
	}
}
