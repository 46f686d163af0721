package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A square is rows of bytes that are transposed in registers: 32 bytes of each of eight
// rows of words, or 16 bytes of each of sixteen rows of halves.
type square struct {
	from, lower           reg.GPVirtual // rows 0 and 8
	strides               strides
	seventh, lowerSeventh reg.GPVirtual // rows 6 and 14
	to, columns           reg.GPVirtual
}

func (s square) row(r, disp int) Mem {
	from, seventh := s.from, s.seventh
	if r >= 8 {
		from, seventh = s.lower, s.lowerSeventh
	}
	if r %= 8; r >= 6 {
		return s.strides.row(seventh, r-6, disp)
	}
	return s.strides.row(from, r, disp)
}

// pair loads bytes of one row, and those of another into the upper half.
func (s square) pair(r, upper, disp int) reg.VecVirtual {
	v := YMM()
	VBROADCASTI128(s.row(r, disp), v) // defines all of v, unlike a load of the lower half
	VINSERTI128(U8(1), s.row(upper, disp), v, v)
	return v
}

// transpose generates a function that transposes squares of rows by eight elements of size
// bytes, which take wide bytes at their destination; it asks for whole squares, one at least.
// stride is in bytes.
func transpose(name, arguments string, rows, size, wide int, transposeSquare func(s square)) {
	function(name, "("+arguments+" int)")
	stride := load64("stride")
	s := square{from: GP64(), lower: GP64(), seventh: GP64(), lowerSeventh: GP64(), columns: GP64()}
	s.strides = strides{stride, triple(stride, 2), triple(stride, 4)}
	to, from, left := load64("to"), load64("from"), load64("rows")
	s.to = GP64()
	label("rows")
	MOVQ(from, s.from)
	MOVQ(to, s.to)
	Load(Param("cols"), s.columns)
	label("square")
	LEAQ(Mem{Base: s.from, Index: s.strides.three, Scale: 2}, s.seventh)
	if rows > 8 {
		LEAQ(Mem{Base: s.from, Index: stride, Scale: 8}, s.lower)
		LEAQ(Mem{Base: s.lower, Index: s.strides.three, Scale: 2}, s.lowerSeventh)
	}
	transposeSquare(s)
	ADDQ(U8(8*size), s.from)
	ADDQ(U32(8*panel*wide), s.to)
	SUBQ(U8(8), s.columns)
	JNZ(ref("square"))
	for range rows / 8 {
		LEAQ(Mem{Base: from, Index: stride, Scale: 8}, from)
	}
	ADDQ(U8(rows*wide), to)
	SUBQ(U8(rows), left)
	JNZ(ref("rows"))
	ret()
}

// transposeWords generates the transposition of words of four bytes.
func transposeWords() {
	transpose("transposeWordsAVX2", "to, from *byte, stride, rows, cols", 8, 4, 4, func(s square) {
		transposeEight(s, func(column int, v reg.VecVirtual) { VMOVDQU(v, Mem{Base: s.to, Disp: column * 4 * panel}) })
	})
}

// transposeNarrow generates the transposition of float32 to binary16.
func transposeNarrow() {
	transpose("transposeNarrowAVX2", "to *uint16, from *float32, stride, rows, cols", 8, 4, 2, func(s square) {
		transposeEight(s, func(column int, v reg.VecVirtual) {
			VCVTPS2PH(U8(nearestEven), v, Mem{Base: s.to, Disp: column * 2 * panel})
		})
	})
}

// transposeEight transposes eight rows of eight words, and calls store for each column.
func transposeEight(s square, store func(column int, v reg.VecVirtual)) {
	for side := range 2 { // columns 0 … 3, and 4 … 7
		var rows [4]reg.VecVirtual
		for r := range rows {
			rows[r] = s.pair(r, r+4, 16*side)
		}
		for i, v := range transpose4x4(rows) {
			store(4*side+i, v)
		}
	}
}

// transpose4x4 transposes 4×4 words in each half of four registers.
func transpose4x4(v [4]reg.VecVirtual) (columns [4]reg.VecVirtual) {
	var low, high [2]reg.VecVirtual
	for i := range 2 {
		low[i], high[i] = YMM(), YMM()
		VPUNPCKLDQ(v[2*i+1], v[2*i], low[i])
		VPUNPCKHDQ(v[2*i+1], v[2*i], high[i])
	}
	for i, from := range [2][2]reg.VecVirtual{low, high} {
		columns[2*i], columns[2*i+1] = YMM(), YMM()
		VPUNPCKLQDQ(from[1], from[0], columns[2*i])
		VPUNPCKHQDQ(from[1], from[0], columns[2*i+1])
	}
	return columns
}

// transposeHalves generates the transposition of elements of two bytes, sixteen rows of eight at
// a time: words of two elements are transposed.
func transposeHalves() {
	transpose("transposeHalvesAVX2", "to, from *byte, stride, rows, cols", 16, 2, 2, func(s square) {
		for side := range 2 { // columns 0 … 3, and 4 … 7
			var rows [4]reg.VecVirtual // columns of two rows each
			for i := range rows {
				a, b := s.pair(2*i, 2*i+8, 0), s.pair(2*i+1, 2*i+9, 0)
				rows[i] = YMM()
				if side == 0 {
					VPUNPCKLWD(b, a, rows[i])
				} else {
					VPUNPCKHWD(b, a, rows[i])
				}
			}
			for i, v := range transpose4x4(rows) {
				VMOVDQU(v, Mem{Base: s.to, Disp: (4*side + i) * 2 * panel})
			}
		}
	})
}

// prefetchRows generates a loop over rows, stride bytes apart, that asks for 256 bytes of each, to
// be written. It never faults. Processors without PREFETCHW take it for a NOP.
func prefetchRows() {
	function("prefetchRows", "(dst *byte, stride, rows int)")
	Load(Param("dst"), reg.RAX)
	stride, rows := load64("stride"), load64("rows")
	SUBQ(I8(-128), reg.RAX) // so that all four displacements fit in eight bits
	label("loop")
	for at := -128; at < 128; at += 64 {
		emit(fmt.Sprintf("PREFETCHW %d(AX)", at), 0x0f, 0x0d, 0x48, byte(at)) // 0F 0D /1, and eight bits of displacement
	}
	ADDQ(stride, reg.RAX)
	DECQ(rows)
	JNZ(ref("loop"))
	RET()
}

// narrowHalf rounds n elements, a positive multiple of eight, to binary16.
func narrowHalf(g *gen) {
	g.function("Narrow", "(dst *uint16, x *float32, n int)")
	dst, x, n := load64("dst"), load64("x"), load64("n")
	label("eight")
	eight := YMM()
	VMOVUPS(at(x), eight)
	VCVTPS2PH(U8(nearestEven), eight, at(dst))
	ADDQ(U8(32), x)
	ADDQ(U8(16), dst)
	SUBQ(U8(8), n)
	JNE(ref("eight"))
	ret()
}

const nearestEven = 0 // of VCVTPS2PH
