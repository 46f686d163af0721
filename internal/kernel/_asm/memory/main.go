// Command memory writes functions that move bytes and compute nothing: with -kernels
// fetch prefetching, with pack the widening of half precision and
// transpositions; and with cpuid what the
// processor says about itself.
package main

import (
	"flag"
	"log"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	kernels := flag.String("kernels", "", "which to write")
	flag.Parse()
	ConstraintExpr("!purego")
	switch *kernels {
	case "fetch":
		fetchRows()
	case "pack":
		widenHalf()
		turnWords()
		turnHalves()
		widenHalves()
	case "cpuid":
		cpuid()
	default:
		log.Fatalf("memory: no kernels %q", *kernels)
	}
	Generate()
}

// cpuid generates the instruction of that name.
func cpuid() {
	TEXT("cpuid", NOSPLIT, "func(leaf, part uint32) (eax, ebx, ecx, edx uint32)")
	Doc("cpuid returns what the processor says of part of a leaf.")
	Load(Param("leaf"), reg.EAX)
	Load(Param("part"), reg.ECX)
	CPUID()
	for i, r := range []reg.Register{reg.EAX, reg.EBX, reg.ECX, reg.EDX} {
		Store(r, ReturnIndex(i))
	}
	RET()
}

// fetchRows generates a loop over rows that asks for 256 bytes of each.
func fetchRows() {
	TEXT("fetchRows", NOSPLIT, "func(dst *byte, stride, rows int)")
	Pragma("noescape")
	Doc("fetchRows prefetches 256 bytes from each of dst, dst+stride, … on, for writing.",
		"It never faults. Processors without PREFETCHW take it for a NOP.")
	stride, rows := GP64(), GP64()
	Load(Param("dst"), reg.RAX)
	Load(Param("stride"), stride)
	Load(Param("rows"), rows)
	SUBQ(I8(-128), reg.RAX) // so that all four displacements fit in eight bits
	Label("loop")
	for at := -128; at < 128; at += 64 {
		prefetchW(int8(at))
	}
	ADDQ(stride, reg.RAX)
	DECQ(rows)
	JNZ(LabelRef("loop"))
	RET()
}

// prefetchW emits PREFETCHW at(AX), which neither avo nor Go's assembler knows:
// 0F 0D /1, a ModRM byte of RAX with eight bits of displacement, the displacement.
func prefetchW(at int8) {
	Commentf("PREFETCHW %d(AX)", at)
	Instruction(&ir.Instruction{
		Opcode:   "LONG",
		Operands: []Op{U32(0x0f | 0x0d<<8 | 0x48<<16 | uint32(uint8(at))<<24)},
		Inputs:   []Op{reg.RAX},
	})
}

// widenHalf generates widenHalfRef, sixteen elements a turn.
func widenHalf() {
	TEXT("widenHalfAVX2", NOSPLIT, "func(dst *float32, src *byte, n int)")
	Pragma("noescape")
	Doc("widenHalfAVX2 is widenHalfRef for n elements, a multiple of sixteen and not 0.")
	dst, src, n := GP64(), GP64(), GP64()
	Load(Param("dst"), dst)
	Load(Param("src"), src)
	Load(Param("n"), n)
	Label("sixteen")
	low, high := YMM(), YMM()
	VCVTPH2PS(Mem{Base: src}, low) // exact
	VCVTPH2PS(Mem{Base: src, Disp: 16}, high)
	VMOVUPS(low, Mem{Base: dst})
	VMOVUPS(high, Mem{Base: dst, Disp: 32})
	ADDQ(U8(32), src)
	ADDQ(U8(64), dst)
	SUBQ(U8(16), n)
	JNZ(LabelRef("sixteen"))
	VZEROUPPER()
	RET()
}
