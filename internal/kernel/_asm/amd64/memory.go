package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packs generates what moves bytes and computes nothing: the widening of half precision,
// and transpositions.
func packs() {
	widenHalf()
	turnWords()
	turnNarrow()
	turnHalves()
	widenHalves()
}

// cpuid generates the instruction of that name.
func cpuid() {
	function("cpuid", "func(leaf, part uint32) (eax, ebx, ecx, edx uint32)", "cpuid returns what the processor says of part of a leaf.")
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
	function("fetchRows", "func(dst *byte, stride, rows int)",
		"fetchRows prefetches 256 bytes from each of dst, dst+stride, … on, for writing.",
		"It never faults. Processors without PREFETCHW take it for a NOP.")
	Pragma("noescape")
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

// widenHalf generates widenHalfRef, sixteen elements a turn.
func widenHalf() {
	p := narrow.begin("widenHalf", "func(dst *float32, src *byte, n int)", "n elements, a multiple of sixteen and not 0.", "dst", "src", "n")
	dst, src, n := p[0], p[1], p[2]
	label("loop")
	low, high := YMM(), YMM()
	VCVTPH2PS(Mem{Base: src}, low) // exact
	VCVTPH2PS(Mem{Base: src, Disp: 16}, high)
	VMOVUPS(low, Mem{Base: dst})
	VMOVUPS(high, Mem{Base: dst, Disp: 32})
	ADDQ(U8(32), src)
	ADDQ(U8(64), dst)
	repeat(16, n)
}
