package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Attention over heads of 64 with a tile of 17 to 32 queries. While the tile unit does
// the products of one panel or block, the vector unit finishes the sums of the one before:
// there are two buffers of sums.
const (
	headSize    = 64
	sumsBytes   = 2 * tileRows * panelBytes // a buffer of sums, and one of outputs
	rowBytes    = 128                       // a queryRow
	rowStart    = 64                        // in a queryRow, behind the largest scores
	rowScale    = 68
	weightPitch = 320 // from row to row of weights
	weightStep  = 32 * weightPitch
	unitBytes   = 4 * 32 // the units of a block of weights
)

// What both kernels have in registers besides those of products.
var (
	sums   = reg.RAX // those that the tile unit is writing
	done   = reg.RBX // those before
	row    = reg.R8  // the offset of the row that is being finished
	outRow = reg.RDI
)

// scoreTall generates scoreInt8Ref for n = 17 to 32 rows of 64, as config says, whose start and
// scale are in rows. It keeps the largest score of each lane in rows[…].most. dstStride is in bytes.
func scoreTall() {
	panels, dst, to, rows, limit, scales := reg.R11, reg.R9, reg.R10, reg.R12, reg.R13, reg.R15
	stride, keys := reg.RCX, reg.RSI
	function("scoreTallAMX", "(dst *float32, dstStride int, q *byte, k *byte, kScale *float32, rows *byte, n, panels int, sums *int32, config *byte)")
	configure()
	Load(Param("q"), to)
	MOVQ(to, reg.RDI)
	MOVQ(U32(headSize), stride)
	tileLoad(4, reg.RDI, stride, 0)
	tileLoad(5, reg.RDI, stride, tileRows*headSize)
	Load(Param("sums"), sums)
	LEAQ(Mem{Base: sums, Disp: sumsBytes}, done)
	MOVQ(U32(panelBytes), rowStep)
	params("k kScale dst rows n", keys, scales, dst, rows, limit)
	SHLQ(U8(7), limit)
	Load(Param("panels"), panels)
	scoreProducts(keys)
	label("panel")
	XCHGQ(sums, done)
	DECQ(panels)
	JZ(ref("finish"))
	scoreProducts(keys)
	label("finish")
	for v := range 4 {
		VMOVUPS(Mem{Base: scales, Disp: 64 * v}, z(v))
	}
	Load(Param("dstStride"), to)
	finishScores(dst, to, rows, limit)
	ADDQ(U32(4*64), dst)
	ADDQ(U32(4*64), scales)
	TESTQ(panels, panels)
	JNZ(ref("panel"))
	VZEROUPPER()
	release()
}

// finishScores generates the scores of a panel from its sums. The scales of its keys are in the first four registers.
func finishScores(dst, stride, rows, limit reg.GPPhysical) {
	MOVQ(dst, outRow)
	XORQ(row, row)
	label("row")
	VPBROADCASTD(Mem{Base: rows, Index: row, Scale: 1, Disp: rowStart}, z(4))
	VBROADCASTSS(Mem{Base: rows, Index: row, Scale: 1, Disp: rowScale}, z(5))
	VMOVUPS(Mem{Base: rows, Index: row, Scale: 1}, z(6))
	for v := range 4 {
		VPADDD(Mem{Base: done, Index: row, Scale: 2, Disp: 64 * v}, z(4), z(8+v))
		VMULPS(z(v), z(5), z(12+v))
		VCVTDQ2PS(z(8+v), z(8+v))
		VMULPS(z(12+v), z(8+v), z(8+v))
		VMOVUPS(z(8+v), Mem{Base: outRow, Disp: 64 * v})
	}
	VMAXPS(z(8), z(9), z(8))
	VMAXPS(z(10), z(11), z(10))
	VMAXPS(z(8), z(6), z(6))
	VMAXPS(z(10), z(6), z(6))
	VMOVUPS(z(6), Mem{Base: rows, Index: row, Scale: 1})
	ADDQ(stride, outRow)
	ADDQ(U32(rowBytes), row)
	CMPQ(row, limit)
	JLT(ref("row"))
}

// scoreProducts generates the products of a panel, and goes on to the next.
func scoreProducts(keys reg.GPPhysical) {
	for half := range 2 {
		zeroSums()
		columns := half * panelBytes / 2
		tileLoad(6, keys, rowStep, columns)
		tileSigned(0, 4, 6)
		tileLoad(7, keys, rowStep, columns+64)
		tileSigned(1, 4, 7)
		tileSigned(2, 5, 6)
		tileSigned(3, 5, 7)
		halfSums(tileStore, sums, columns)
	}
	ADDQ(U32(headSize*panelBytes/4), keys)
}

// mixTall generates the values of n = 17 to 32 rows, as config says, weighted in quarters·64
// positions by blocks of 256 and divided by total in the end. Behind sums lie two buffers of them
// and one of outputs. dstStride is in bytes.
func mixTall() {
	weights, values, blocks, count := reg.RSI, reg.RDI, reg.R11, reg.R10
	units, unit, out, limit := reg.R13, reg.R12, reg.R9, reg.R15
	saved, savedValues := reg.R8, reg.R12 // while products are made
	function("mixTallAMX", "(dst *float32, dstStride int, weights *byte, units *float32, v *byte, total *float32, n, quarters int, sums *int32, config *byte)")
	configure()
	Load(Param("sums"), sums)
	LEAQ(Mem{Base: sums, Disp: sumsBytes}, done)
	LEAQ(Mem{Base: sums, Disp: 2 * sumsBytes}, out)
	MOVQ(U32(weightPitch), reg.RCX)
	MOVQ(U32(panelBytes), rowStep)
	params("weights v units n", weights, values, units, limit)
	SHLQ(U8(5), limit)
	Load(Param("quarters"), blocks)

	minusZero := z(31)
	MOVL(U32(1<<31), reg.R8L)
	VPBROADCASTD(reg.R8L, minusZero)
	for at := 0; at < sumsBytes; at += 64 { // -0 + x is x, whatever x is
		VMOVUPS(minusZero, Mem{Base: out, Disp: at})
	}
	mixProducts("first", weights, values, saved, savedValues, blocks, count)
	label("block")
	XCHGQ(sums, done)
	TESTQ(blocks, blocks)
	JZ(ref("last"))
	mixProducts("next", weights, values, saved, savedValues, blocks, count)
	addBlock("more", out, units, unit, limit)
	JMP(ref("block"))
	label("last")
	addBlock("end", out, units, unit, limit)

	divideOutputs(out, unit, limit)
	VZEROUPPER()
	release()
}

// divideOutputs generates the outputs over the total of each row.
func divideOutputs(out, total, limit reg.GPPhysical) {
	params("dst dstStride total", outRow, reg.RCX, total)
	XORQ(row, row)
	label("divide")
	VBROADCASTSS(Mem{Base: total}, z(0))
	for v := range 4 {
		VMOVUPS(Mem{Base: out, Index: row, Scale: 8, Disp: 64 * v}, z(1+v))
		VDIVPS(z(0), z(1+v), z(1+v))
		VMOVUPS(z(1+v), Mem{Base: outRow, Disp: 64 * v})
	}
	ADDQ(reg.RCX, outRow)
	ADDQ(U32(4), total)
	ADDQ(U32(32), row)
	CMPQ(row, limit)
	JLT(ref("divide"))
}

// mixProducts generates the products of a block, of which so many quarters are left, and
// goes on to the next.
func mixProducts(name string, weights, values, saved, savedValues, left, count reg.GPPhysical) {
	MOVQ(weights, saved)
	MOVQ(values, savedValues)
	for half := range 2 {
		zeroSums()
		columns := half * panelBytes / 2
		MOVQ(saved, weights)
		MOVQ(savedValues, values)
		MOVQ(U32(4), count)
		CMPQ(left, count)
		CMOVQLT(left, count)
		loop := fmt.Sprintf("%s%d", name, half)
		label(loop)
		(*stream)(nil).square(weights, weights, tileRows*weightPitch, values, columns)
		ADDQ(U32(64), weights)
		ADDQ(U32(blockBytes), values)
		DECQ(count)
		JNZ(ref(loop))
		halfSums(tileStore, sums, columns)
	}
	MOVQ(saved, weights)
	ADDQ(U32(weightStep), weights)
	MOVQ(U32(4), count)
	CMPQ(left, count)
	CMOVQLT(left, count)
	SUBQ(count, left)
}

// addBlock generates the outputs of a block, added to those before.
func addBlock(name string, out, units, unit, limit reg.GPPhysical) {
	MOVQ(units, unit)
	XORQ(row, row)
	label(name)
	VBROADCASTSS(Mem{Base: unit}, z(0))
	for v := range 4 {
		VCVTDQ2PS(Mem{Base: done, Index: row, Scale: 8, Disp: 64 * v}, z(1+v))
		VMULPS(z(0), z(1+v), z(1+v))
		VADDPS(Mem{Base: out, Index: row, Scale: 8, Disp: 64 * v}, z(1+v), z(1+v))
		VMOVUPS(z(1+v), Mem{Base: out, Index: row, Scale: 8, Disp: 64 * v})
	}
	ADDQ(U32(4), unit)
	ADDQ(U32(32), row)
	CMPQ(row, limit)
	JLT(ref(name))
	ADDQ(U32(unitBytes), units)
}

// configure generates what a kernel of tiles begins with.
func configure() {
	Load(Param("config"), reg.RAX)
	emit("LDTILECFG (AX)", 0xc4, 0xe2, 0x78, 0x49, 0x00)
}

// zeroSums generates sums of zero in tiles 0 … 3.
func zeroSums() {
	for tile := range 4 {
		tileZero(tile)
	}
}
