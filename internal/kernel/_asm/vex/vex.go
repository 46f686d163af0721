// Package vex writes instructions that neither avo nor Go's assembler knows, as bytes.
package vex

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A Target takes instructions: a build.Context, or Global.
type Target interface {
	Comment(lines ...string)
	Instruction(i *ir.Instruction)
}

// Global is the target of package build's functions.
var Global Target = global{}

type global struct{}

func (global) Comment(lines ...string)       { build.Comment(lines...) }
func (global) Instruction(i *ir.Instruction) { build.Instruction(i) }

// Emit emits the bytes of an instruction, four and then one at a time.
func Emit(to Target, text string, code ...byte) {
	to.Comment(text)
	for len(code) >= 4 {
		raw(to, "LONG", operand.U32(uint32(code[0])|uint32(code[1])<<8|uint32(code[2])<<16|uint32(code[3])<<24))
		code = code[4:]
	}
	for _, b := range code {
		raw(to, "BYTE", operand.U8(b))
	}
}

func raw(to Target, opcode string, value operand.Op) {
	to.Instruction(&ir.Instruction{Opcode: opcode, Operands: []operand.Op{value}})
}

// Y returns a register of 256 bits.
func Y(n int) reg.VecPhysical {
	return []reg.VecPhysical{reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
		reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15}[n]
}

// Dot emits VPDPBUSD on registers of 256 bits as AVX-VNNI has it, VEX.256.66.0F38.W0 50:
// Go's assembler has that of AVX-512 only. It adds the products of unsigned and signed
// bytes to sum. All are numbers of registers.
func Dot(to Target, sum, unsigned, signed int) {
	Emit(to, fmt.Sprintf("VPDPBUSD Y%d, Y%d, Y%d", signed, unsigned, sum),
		0xc4, 0x42|byte(^sum&8)<<4|byte(^signed&8)<<2, 0x05|byte(^unsigned&15)<<3, 0x50, 0xc0|byte(sum&7)<<3|byte(signed&7))
}
