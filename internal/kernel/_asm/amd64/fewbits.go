package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Kernels of products with weights in groups of 32 that share a scale: those that expand
// weights of few bits to bytes, and those that sum.

const (
	group      = 32
	groupBytes = panel * group // of a panel, expanded
	quadBytes  = 4 * panel     // four k of all columns
)

// directAhead is how many groups ahead codes and scales are prefetched.
const directAhead = 8

// A form is how codes and scales lie in memory.
type form struct {
	name   string
	codes  int               // bytes of a group
	scale  int               // bytes of a scale: float32, binary16, or a power of two
	zeros  bool              // codes are weights themselves but for a zero of each column
	expand func(s groupSums) // for AVX-512: the products of a group
}

var (
	expanded    = form{"tileGroups", groupBytes, 4, false, expandedDots}
	nibbleCodes = form{"directNibbles", groupBytes / 2, 2, true, nibbleDots}
	eightCodes  = form{"directEights", groupBytes / 2, 2, false, nibbleDots}
	sixCodes    = form{"directSixes", groupBytes * 3 / 4, 1, false, sixDots}
)

// fewBits generates all of them.
func fewBits(s isa) {
	mxfp6(s)
	powers(s)
	quantiseGroups(s)
	if !s.isWide() {
		groups(s, expanded, 4, tileGroups256)
		groups(s, nibbleCodes, 4, direct256)
		groups(vnni, nibbleCodes, 6, directVNNI)
		return
	}
	spread := GLOBL("spreadLowest", attr.RODATA|attr.NOPTR) // the lowest byte of every 32 bits, four times
	for i := range 4 {
		DATA(4*i, U32(uint32(4*i)*0x01010101))
	}
	nibbles(s, spread)
	for _, f := range []form{expanded, nibbleCodes, eightCodes, sixCodes} {
		groups(s, f, 6, groups512)
	}
}

// groupSums holds the arguments of a function that sums products of groups.
type groupSums struct {
	form
	rows                                int
	acc, q, start, xScale, u, wScale, n reg.GPVirtual  // u is the codes, or the expanded weights
	more, ahead                         reg.GPVirtual  // where they are used
	stride, groups                      strides        // of q, and of start and xScale, in bytes
	table                               reg.VecVirtual // of six bits
	low                                 reg.VecVirtual
	ints                                []reg.VecVirtual
}

// groups generates a function that adds the products of groups: body for each number of rows.
func groups(s isa, f form, most int, body func(d groupSums)) {
	function(f.name+s.name, "(acc *float32, q *byte, stride int, start *int32, xScale *float32, groupStride int, "+
		"codes, wScale, more *byte, n, zero, ahead, rows int)")
	eachRows(1, most, func(rows int) {
		d := groupSums{
			form: f, rows: rows, acc: load64("acc"), q: load64("q"), start: load64("start"), xScale: load64("xScale"),
			u: load64("codes"), wScale: load64("wScale"), n: load64("n"),
			stride: stridesOf(rows, "stride"), groups: stridesOf(rows, "groupStride"),
		}
		if f.scale == 4 {
			d.ahead = load64("ahead")
		} else {
			d.more = load64("more")
		}
		body(d)
	})
}

func (d groupSums) rowQ(r, disp int) Mem { return d.stride.row(d.q, r, disp) }
func (d groupSums) rowStart(r int) Mem   { return d.groups.row(d.start, r, 0) }
func (d groupSums) rowScale(r int) Mem   { return d.groups.row(d.xScale, r, 0) }
func (d groupSums) sum(r, column int) Mem {
	return Mem{Base: d.acc, Disp: 4 * (r*panel + column)}
}

// groups512 generates products of a few rows. Codes are read once and never stored
// expanded. With few rows, sums of floats stay in registers. With more, they lie in the
// first-level cache, since the registers hold integers.
func groups512(d groupSums) {
	zero := wide.word("zero")
	if d.scale == 1 {
		d.table = ZMM()
		VMOVDQU32(at(d.more), d.table)
	}
	if d.scale < 4 {
		d.low = wide.bytes(0x0f)
	}
	const vectors = panel / 16
	kept := d.rows <= 3
	acc := make([]reg.VecVirtual, d.rows*vectors)
	d.ints = make([]reg.VecVirtual, d.rows*vectors)
	for i := range acc {
		d.ints[i] = ZMM()
		if kept {
			acc[i] = ZMM()
			VMOVUPS(d.sum(0, 16*i), acc[i])
		}
	}
	label("loop")
	d.begin(zero)
	d.expand(d)
	d.addScaled(acc, kept)
	d.next()
	ADDQ(U32(uint32(d.codes)), d.u)
	ADDQ(U32(uint32(d.scale*panel)), d.wScale)
	if d.zeros {
		ADDQ(U8(panel), d.more)
	}
	DECQ(d.n)
	JNZ(ref("loop"))
	for i := range acc {
		if kept {
			VMOVUPS(acc[i], d.sum(0, 16*i))
		}
	}
	ret()
}

// addScaled generates the sums of a group times its scales, added to those before: in acc if they are kept in registers.
func (d groupSums) addScaled(acc []reg.VecVirtual, kept bool) {
	for v := range panel / 16 {
		scale, m := ZMM(), Mem{Base: d.wScale, Disp: 16 * d.scale * v}
		switch d.scale {
		case 1:
			VPMOVZXBD(m, scale)
			VPSLLD(U8(23), scale, scale)
		case 2:
			VCVTPH2PS(m, scale)
		default:
			VMOVUPS(m, scale)
		}
		for r := range d.rows {
			i := r*(panel/16) + v
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
}

// begin sets the sums of a group to what cancels the offset of the weights. In more lies
// the difference between the offset and that of a column, if there are zeros.
func (d groupSums) begin(zero reg.VecVirtual) {
	const vectors = panel / 16
	for r := range d.rows {
		start := wide.dup(d.rowStart(r))
		if !d.zeros {
			VPMADDWD(zero, start, start)
		}
		for v := range vectors {
			VMOVDQA32(start, d.ints[r*vectors+v])
		}
	}
	if !d.zeros {
		return
	}
	for v := range vectors {
		own := ZMM()
		VPMOVZXBD(Mem{Base: d.more, Disp: 16 * v}, own)
		VPSUBD(own, zero, own)
		for r := range d.rows {
			VPMADDWD(own, d.ints[r*vectors+v], d.ints[r*vectors+v])
		}
	}
}

// dot adds the products of a vector of weights, by its place in an expanded group.
func (d groupSums) dot(u reg.VecVirtual, at int) {
	for r := range d.rows {
		VPDPBUSD_BCST(d.rowQ(r, at/quadBytes*4), u, d.ints[r*panel/16+at%quadBytes/64])
	}
}

// load loads 64 bytes of codes, and prefetches those of a later group.
func (d groupSums) load(at int) reg.VecVirtual {
	v := ZMM()
	VMOVDQU32(Mem{Base: d.u, Disp: at}, v)
	PREFETCHT0(Mem{Base: d.u, Disp: directAhead*d.codes + at})
	return v
}

// expandedDots multiplies by weights that are bytes.
func expandedDots(d groupSums) {
	for quad := range group / 4 {
		crossed(d.rows, panel/16, false, func(r int) reg.VecVirtual { return wide.dup(d.rowQ(r, 4*quad)) },
			func(v int) reg.VecVirtual {
				w := ZMM()
				VMOVDQU32(Mem{Base: d.u, Disp: quad*quadBytes + 64*v}, w)
				return w
			}, func(r, v int, q, w reg.VecVirtual) { VPDPBUSD(q, w, d.ints[r*panel/16+v]) })
		prefetch(PREFETCHT0, Mem{Base: d.u, Index: d.ahead, Scale: 1, Disp: quad * quadBytes}, quadBytes)
	}
}

// nibbleDots takes codes of four bits as they are.
func nibbleDots(d groupSums) {
	for at := 0; at < groupBytes/2; at += 64 {
		lo, hi := d.load(at), ZMM()
		VPSRLW(U8(4), lo, hi)
		VPANDD(d.low, lo, lo)
		VPANDD(d.low, hi, hi)
		d.dot(lo, at)
		d.dot(hi, at+groupBytes/2)
	}
}

// sixDots expands six bits by a table of 64 bytes: four bits of a code from one
// plane, the others moved above them from the other plane. VPERMB ignores the two bits
// above those.
func sixDots(d groupSums) {
	const quarter = groupBytes / 4
	for at := 0; at < quarter; at += 64 {
		plane := d.load(groupBytes/2 + at)
		for i := range 2 {
			code := d.load(i*quarter + at)
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

// columns generates the loops over groups, and over eight columns at a time of
// each: body does those that the pointers are at.
func (d groupSums) columns(body func()) {
	SHLQ(U8(3), d.n)
	label("loop")
	body()
	ADDQ(U8(32), d.u)
	ADDQ(U8(uint8(8*d.scale)), d.wScale)
	ADDQ(U8(32), d.acc)
	if d.zeros {
		ADDQ(U8(8), d.more)
	}
	DECQ(d.n)
	TESTQ(U32(7), d.n)
	JNZ(ref("loop"))
	SUBQ(U32(4*panel), d.acc)
	ADDQ(U32(uint32(d.codes-quadBytes)), d.u)
	d.next()
	TESTQ(d.n, d.n)
	JNZ(ref("loop"))
	ret()
}

// next goes on to the next group, and asks for scales and zeros of a later one if they
// come from memory.
func (d groupSums) next() {
	if d.scale < 4 {
		prefetch(PREFETCHT0, Mem{Base: d.wScale, Disp: directAhead * d.scale * panel}, d.scale*panel)
	}
	if d.zeros {
		PREFETCHT0(Mem{Base: d.more, Disp: directAhead * panel})
	}
	ADDQ(U8(group), d.q)
	ADDQ(U8(4), d.start)
	ADDQ(U8(4), d.xScale)
}

// tileGroups256 generates products for AVX2, whose product of bytes would saturate where
// weights are above 128, which no format has.
func tileGroups256(d groupSums) {
	ones, zero := narrow.words(0x00010001), narrow.word("zero")
	ADDQ(d.u, d.ahead)
	ints := make([]reg.VecVirtual, d.rows)
	d.columns(func() {
		for r := range ints {
			ints[r] = narrow.dup(d.rowStart(r))
			VPMADDWD(zero, ints[r], ints[r])
		}
		for quad := range group / 4 {
			w := YMM()
			VMOVDQU(Mem{Base: d.u, Disp: quad * quadBytes}, w)
			for r := range ints {
				q := narrow.dup(d.rowQ(r, 4*quad))
				VPMADDUBSW(q, w, q)
				VPMADDWD(ones, q, q)
				VPADDD(q, ints[r], ints[r])
			}
		}
		for r := range ints {
			by, sum := narrow.dupFloat(d.rowScale(r)), YMM()
			VMULPS(at(d.wScale), by, by)
			VCVTDQ2PS(ints[r], ints[r])
			VMOVUPS(d.sum(r, 0), sum)
			VFMADD231PS(by, ints[r], sum)
			VMOVUPS(sum, d.sum(r, 0))
		}
		prefetch(PREFETCHT0, at(d.ahead), quadBytes)
		ADDQ(U32(quadBytes), d.ahead)
	})
}

// direct256 generates what groups512 does, for AVX2 and four-bit codes. Products of two
// pairs of bytes fit in 16 bits four times over, since no weight is
// above 30, so most sums are of 16 bits.
func direct256(d groupSums) {
	zero := narrow.word("zero")
	d.low = narrow.bytes(0x0f)
	ones := narrow.words(0x00010001)
	d.columns(func() {
		sums := make([][2]reg.VecVirtual, d.rows) // of quads 0 … 3, and 4 … 7
		for quad := range group / 8 {
			at := quad * quadBytes
			lo, hi := YMM(), YMM()
			VMOVDQU(Mem{Base: d.u, Disp: at}, lo)
			PREFETCHT0(Mem{Base: d.u, Disp: directAhead*d.codes + at})
			VPSRLW(U8(4), lo, hi)
			VPAND(d.low, lo, lo)
			VPAND(d.low, hi, hi)
			for r := range sums {
				for half, u := range [2]reg.VecVirtual{lo, hi} {
					q := narrow.dup(d.rowQ(r, 4*(quad+half*group/8)))
					VPMADDUBSW(q, u, q)
					if quad == 0 {
						sums[r][half] = q
					} else {
						VPADDW(q, sums[r][half], sums[r][half])
					}
				}
			}
		}
		own, scale := YMM(), YMM()
		VPMOVZXBD(at(d.more), own)
		VPSUBD(own, zero, own)
		VCVTPH2PS(at(d.wScale), scale)
		for r, s := range sums {
			VPMADDWD(ones, s[0], s[0])
			VPMADDWD(ones, s[1], s[1])
			start := narrow.dup(d.rowStart(r))
			VPMADDWD(own, start, start)
			VPADDD(s[0], s[1], s[1])
			VPADDD(s[1], start, start)
			by := narrow.dupFloat(d.rowScale(r))
			VMULPS(scale, by, by)
			VCVTDQ2PS(start, start)
			VFMADD213PS(d.sum(r, 0), by, start)
			VMOVUPS(start, d.sum(r, 0))
		}
	})
}

// Registers of directVNNI by number, since dotVNNI needs them: sums of up to six rows
// come first.
const (
	loVNNI = 6 + iota
	hiVNNI
	lowVNNI // a mask of four bits
	zeroVNNI
	ownVNNI // zero less that of a column
	scaleVNNI
	qVNNI // and the next
	_
	byVNNI
)

// directVNNI generates what direct256 does, for AVX-VNNI.
func directVNNI(d groupSums) {
	bits := GP32()
	MOVL(U32(0x0f0f0f0f), bits)
	spread := func(from Op, register int) {
		VMOVD(from, x(register))
		VPBROADCASTD(x(register), y(register))
	}
	spread(bits, lowVNNI)
	spread(load64("zero").As32(), zeroVNNI)
	lo, hi, own, scale, by := y(loVNNI), y(hiVNNI), y(ownVNNI), y(scaleVNNI), y(byVNNI)
	d.columns(func() {
		VPMOVZXBD(at(d.more), own)
		VPSUBD(own, y(zeroVNNI), own)
		for r := range d.rows {
			VPBROADCASTD(d.rowStart(r), y(r))
			VPMADDWD(own, y(r), y(r))
		}
		for quad := range group / 8 {
			at := quad * quadBytes
			VMOVDQU(Mem{Base: d.u, Disp: at}, lo)
			PREFETCHT0(Mem{Base: d.u, Disp: directAhead*d.codes + at})
			VPSRLW(U8(4), lo, hi)
			VPAND(y(lowVNNI), lo, lo)
			VPAND(y(lowVNNI), hi, hi)
			for half, u := range []int{loVNNI, hiVNNI} {
				for r := range d.rows {
					q := qVNNI + r%2
					VPBROADCASTD(d.rowQ(r, 4*(quad+half*group/8)), y(q))
					dotVNNI(r, u, q)
				}
			}
		}
		VCVTPH2PS(at(d.wScale), scale)
		for r := range d.rows {
			sum := y(r)
			VBROADCASTSS(d.rowScale(r), by)
			VMULPS(scale, by, by)
			VCVTDQ2PS(sum, sum)
			VFMADD213PS(d.sum(r, 0), by, sum)
			VMOVUPS(sum, d.sum(r, 0))
		}
	})
}
