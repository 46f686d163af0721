package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ceilings generates loops of only the instructions that kernels are made of, to measure
// the maximum rate of a machine: ceiling.go counts their rounds.
func ceilings() {
	for _, s := range []isa{wide, narrow} {
		count := 3 * s.size / 8 // 24 or 12
		chains("fmaPeak", s, count, func(acc, a, b reg.VecVirtual) { VFMADD231PS(a, b, acc) })
		i := 0
		chains("vectorPeak", s, count, func(acc, a, b reg.VecVirtual) { // what softmax and GELU are made of
			switch i++; i % 4 {
			case 0:
				VADDPS(a, acc, acc)
			case 2:
				VMAXPS(a, acc, acc)
			default:
				VFMADD231PS(a, b, acc)
			}
		})
		read(s)
	}
	chains("dotPeak", wide, 24, func(acc, a, b reg.VecVirtual) { VPDPBUSD(a, b, acc) })
	chains("dotPeak", narrow, 8, func(acc, a, b reg.VecVirtual) {
		t := YMM()
		VPMADDWD(a, b, t)
		VPADDD(t, acc, acc)
	})
	dotPeakVNNI()
}

// chains generates n rounds of one step on each of several independent sums.
func chains(name string, s isa, count int, step func(acc, a, b reg.VecVirtual)) {
	function(name+s.name, "(n int)")
	n, a, b := load64("n"), s.vector(), s.vector()
	acc := s.registers(count)
	for _, v := range append(acc, a, b) {
		s.xor(v)
	}
	label("loop")
	for _, v := range acc {
		step(v, a, b)
	}
	repeat(1, n)
}

// dotPeakVNNI generates what chains does, by AVX-VNNI: twelve sums.
func dotPeakVNNI() {
	const count = 12
	function("dotPeakVNNI", "(n int)")
	n := load64("n")
	for i := range count + 2 {
		VPXOR(y(i), y(i), y(i))
	}
	label("loop")
	for i := range count {
		dotVNNI(i, count, count+1)
	}
	repeat(1, n)
}

// read generates a loop that loads n·512 bytes and drops them.
func read(s isa) {
	const step, ahead = 512, 4096
	function("read"+s.name, "(p *byte, n int)")
	p, n := load64("p"), load64("n")
	label("loop")
	prefetch(PREFETCHT0, Mem{Base: p, Disp: ahead}, step)
	for at := 0; at < step; at += s.size {
		VMOVUPS(Mem{Base: p, Disp: at}, s.vector())
	}
	ADDQ(U32(step), p)
	repeat(1, n)
}
