// Command ceiling writes ../ceiling_amd64.s: loops of only the instructions that kernels
// are made of, to measure the maximum rate of a machine.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"verity/internal/kernel/_asm/vex"
)

func main() {
	ConstraintExpr("!purego")
	chains("fmaPeakAVX512", 24, ZMM, func(acc, a, b reg.VecVirtual) { VFMADD231PS(a, b, acc) })
	chains("fmaPeakAVX2", 12, YMM, func(acc, a, b reg.VecVirtual) { VFMADD231PS(a, b, acc) })
	chains("dotPeakAVX512", 24, ZMM, func(acc, a, b reg.VecVirtual) { VPDPBUSD(a, b, acc) })
	chains("dotPeakAVX2", 8, YMM, func(acc, a, b reg.VecVirtual) {
		t := YMM()
		VPMADDWD(a, b, t)
		VPADDD(t, acc, acc)
	})
	dotVNNI()
	vectors("vectorPeakAVX512", 24, ZMM)
	vectors("vectorPeakAVX2", 12, YMM)
	read("readAVX512", ZMM, 64)
	read("readAVX2", YMM, 32)
	Generate()
}

// chains generates n rounds of one step on each of several independent sums.
func chains(name string, count int, vector func() reg.VecVirtual, step func(acc, a, b reg.VecVirtual)) {
	TEXT(name, NOSPLIT, "func(n int)")
	Doc(name + " does n rounds of independent sums: ceiling.go counts them.")
	n := GP64()
	Load(Param("n"), n)
	zero := func(v reg.VecVirtual) {
		if v.Size() == 64 {
			VPXORD(v, v, v)
		} else {
			VPXOR(v, v, v)
		}
	}
	a, b := vector(), vector()
	zero(a)
	zero(b)
	acc := make([]reg.VecVirtual, count)
	for i := range acc {
		acc[i] = vector()
		zero(acc[i])
	}
	Label("loop")
	for _, v := range acc {
		step(v, a, b)
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// dotVNNI generates what chains does, by AVX-VNNI: twelve sums.
func dotVNNI() {
	const count = 12
	TEXT("dotPeakVNNI", NOSPLIT, "func(n int)")
	Doc("dotPeakVNNI does n rounds of independent sums: ceiling.go counts them.")
	n := GP64()
	Load(Param("n"), n)
	for i := range count + 2 {
		VPXOR(vex.Y(i), vex.Y(i), vex.Y(i))
	}
	Label("loop")
	for i := range count {
		vex.Dot(vex.Global, i, count, count+1)
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// vectors generates what softmax and GELU are made of: of four instructions two are
// multiply-adds, one is an addition and one a maximum.
func vectors(name string, count int, vector func() reg.VecVirtual) {
	turn := 0
	chains(name, count, vector, func(acc, a, b reg.VecVirtual) {
		switch turn++; turn % 4 {
		case 0:
			VADDPS(a, acc, acc)
		case 2:
			VMAXPS(a, acc, acc)
		default:
			VFMADD231PS(a, b, acc)
		}
	})
}

// read generates a loop that loads n·512 bytes and drops them.
func read(name string, vector func() reg.VecVirtual, size int) {
	const step, ahead = 512, 4096
	TEXT(name, NOSPLIT, "func(p *byte, n int)")
	Doc(name + " reads n·512 bytes.")
	p, n := GP64(), GP64()
	Load(Param("p"), p)
	Load(Param("n"), n)
	Label("loop")
	for at := 0; at < step; at += 64 {
		PREFETCHT0(Mem{Base: p, Disp: at + ahead})
	}
	for at := 0; at < step; at += size {
		VMOVUPS(Mem{Base: p, Disp: at}, vector())
	}
	ADDQ(U32(step), p)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
