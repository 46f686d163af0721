package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Int8 products by the tile unit of Intel's
// processors (AMX-INT8), which neither avo nor Go's assembler knows.
//
// A tile register holds 16 rows of 64 bytes. TDPBUSD adds to a tile of 16×16 int32
// the products of 16×64 unsigned bytes with 64×16 signed ones, exactly, so its sums
// are those of VPDPBUSD. The packed panel of a Matrix, [k/4][64][4], is what it
// reads: sixteen columns and 64 k are a tile with 256 bytes from row to row.
//
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2,
// LDTILECFG, TILELOADD, TDPBUSD, TILESTORED, TILERELEASE.

const (
	panelBytes = 256             // four k of a panel, and a row of its sums
	blockBytes = 16 * panelBytes // 64 k of a panel
	tileRows   = 16
)

func amx() {
	beginTiles("tileInt8TallAMX")
	tall(nil)
	beginTiles("tileInt8TallStreamAMX", "ahead")
	tall(newStream())
	beginTiles("tileInt8FlatAMX")
	flat(nil)
	beginTiles("tileInt8FlatStreamAMX", "ahead")
	flat(newStream())
	scoreTall()
	mixTall()
}

// A stream is how a panel is prefetched that comes from memory: with each block, as many
// bytes that lie ahead. The unit reads a block in pieces of every other cache lines, which
// hardware prefetchers do not foresee. nil means no prefetching.
type stream struct{ at reg.GPPhysical }

func newStream() *stream {
	s := &stream{at: reg.R9}
	params("ahead w", s.at, tileW)
	ADDQ(tileW, s.at)
	return s
}

// fetch prefetches one of four parts of a block.
func (s *stream) fetch(part int) {
	if s == nil {
		return
	}
	prefetch(PREFETCHT0, Mem{Base: s.at, Disp: part * blockBytes / 4}, blockBytes/4)
}

// step goes on to the next block.
func (s *stream) step() {
	if s != nil {
		ADDQ(U32(blockBytes), s.at)
	}
}

// tall generates the product of 17 to 32 rows: four sums of 16×16 at a time, for
// each of which two loads serve two products. The first half of a panel prefetches for both.
func tall(s *stream) {
	for half := range 2 {
		if half == 1 {
			s = nil
		}
		columns := half * panelBytes / 2
		begun(fmt.Sprintf("begun%d", half), func() { halfSums(tileLoad, tileAcc, columns) })
		Load(Param("x"), tileX)
		MOVQ(tileStride, tileLower)
		SHLQ(U8(4), tileLower)
		ADDQ(tileX, tileLower)
		params("w blocks", tileW, tileBlocks)
		loop := fmt.Sprintf("half%d", half)
		label(loop)
		s.square(tileX, tileLower, 0, tileW, columns)
		ADDQ(U8(64), tileX)
		ADDQ(U8(64), tileLower)
		ADDQ(U32(blockBytes), tileW)
		s.step()
		DECQ(tileBlocks)
		JNZ(ref(loop))
		halfSums(tileStore, tileAcc, columns)
	}
	release()
}

// halfSums loads or stores the sums of 32 columns of a panel.
func halfSums(move func(tile int, base, index reg.GPPhysical, at int), sums reg.GPPhysical, columns int) {
	for tile := range 4 {
		move(tile, sums, rowStep, columns+tile%2*64+tile/2*tileRows*panelBytes)
	}
}

// square generates the products of a block of k: of 32 rows, the lower ones from lower+at on, and
// 32 columns of w.
func (s *stream) square(x, lower reg.GPPhysical, at int, w reg.GPPhysical, columns int) {
	tileLoad(4, x, tileStride, 0)
	s.fetch(0)
	tileLoad(6, w, rowStep, columns)
	tileDot(0, 4, 6)
	s.fetch(1)
	tileLoad(7, w, rowStep, columns+64)
	tileDot(1, 4, 7)
	s.fetch(2)
	tileLoad(5, lower, tileStride, at)
	tileDot(2, 5, 6)
	s.fetch(3)
	tileDot(3, 5, 7)
}

// flat generates the product of up to 16 rows with a whole panel.
func flat(s *stream) {
	begun("begun", func() {
		for tile := range 4 {
			tileLoad(tile, tileAcc, rowStep, 64*tile)
		}
	})
	params("x w blocks", tileX, tileW, tileBlocks)
	label("flat")
	tileLoad(4, tileX, tileStride, 0)
	for tile := range 4 {
		b := 5 + tile%3
		s.fetch(tile)
		tileLoad(b, tileW, rowStep, 64*tile)
		tileDot(tile, 4, b)
	}
	ADDQ(U8(64), tileX)
	ADDQ(U32(blockBytes), tileW)
	s.step()
	DECQ(tileBlocks)
	JNZ(ref("flat"))
	for tile := range 4 {
		tileStore(tile, tileAcc, rowStep, 64*tile)
	}
	release()
}

// The registers that tiles are addressed by need no extension bits.
var (
	tileAcc    = reg.RAX
	tileStride = reg.RCX
	rowStep    = reg.RDX
	tileLower  = reg.RBX // the second sixteen rows of x
	tileX      = reg.RSI
	tileW      = reg.RDI
	tileBlocks = reg.R8
)

// beginTiles begins a function that does tileInt8Ref for rows as config says and 64·blocks of k. If
// begun is 0, the sums start at 0, whatever acc holds.
func beginTiles(name string, more ...string) {
	ints := strings.Join(append([]string{"blocks", "begun"}, more...), ", ")
	function(name, "(acc *int32, x *uint8, stride int, w *byte, "+ints+" int, config *byte)")
	configure()
	params("acc stride", tileAcc, tileStride)
	MOVQ(U32(panelBytes), rowStep)
}

// begun generates sums that load has, or of zero where none were begun.
func begun(name string, load func()) {
	Load(Param("begun"), tileBlocks)
	zeroSums()
	TESTQ(tileBlocks, tileBlocks)
	JZ(ref(name))
	load()
	label(name)
}

func release() {
	emit("TILERELEASE", 0xc4, 0xe2, 0x78, 0x49, 0xc0)
	RET()
}

// tileLoad emits TILELOADD: VEX.128.F2.0F38.W0 4B.
func tileLoad(tile int, base, index reg.GPPhysical, at int) {
	memory(fmt.Sprintf("TILELOADD %d(%s)(%s*1), tmm%d", at, base.Asm(), index.Asm(), tile), 0x7b, tile, base, index, at)
}

// tileStore emits TILESTORED: VEX.128.F3.0F38.W0 4B.
func tileStore(tile int, base, index reg.GPPhysical, at int) {
	memory(fmt.Sprintf("TILESTORED tmm%d, %d(%s)(%s*1)", tile, at, base.Asm(), index.Asm()), 0x7a, tile, base, index, at)
}

// memory emits an instruction on a tile and base + index, with 32 bits of displacement.
func memory(text string, prefix byte, tile int, base, index reg.GPPhysical, at int) {
	emit(text, 0xc4, 0xe2, prefix, 0x4b,
		0x84|byte(tile)<<3, byte(number(index))<<3|byte(number(base)),
		byte(at), byte(at>>8), byte(at>>16), byte(at>>24))
}

// number returns the number of a register in an instruction.
func number(r reg.GPPhysical) int {
	n := int(r.PhysicalIndex())
	if n > 7 {
		panic("amx: a register that needs an extension bit")
	}
	return n
}

// tileZero emits TILEZERO: VEX.128.F2.0F38.W0 49.
func tileZero(tile int) {
	emit(fmt.Sprintf("TILEZERO tmm%d", tile), 0xc4, 0xe2, 0x7b, 0x49, 0xc0|byte(tile)<<3)
}

// tileDot emits TDPBUSD sum, a, b: VEX.128.66.0F38.W0 5E. a is unsigned, b signed.
func tileDot(sum, a, b int) { product("TDPBUSD", 1, sum, a, b) }

// tileSigned emits TDPBSUD sum, a, b: VEX.128.F3.0F38.W0 5E. a is signed, b unsigned.
func tileSigned(sum, a, b int) { product("TDPBSUD", 2, sum, a, b) }

func product(name string, prefix byte, sum, a, b int) {
	emit(fmt.Sprintf("%s tmm%d, tmm%d, tmm%d", name, b, a, sum),
		0xc4, 0xe2, byte(^b&15)<<3|prefix, 0x5e, 0xc0|byte(sum)<<3|byte(a))
}
