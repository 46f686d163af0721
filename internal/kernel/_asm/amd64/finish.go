package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// begin begins a function that is its namesake ending in Ref, and loads parameters.
func (s isa) begin(name, signature string, params ...string) []reg.GPVirtual {
	function(name+s.name, signature)
	regs := make([]reg.GPVirtual, len(params))
	for i, p := range params {
		regs[i] = load64(p)
	}
	return regs
}

// vectors calls f for every vector of a row of the panel, with its place in bytes.
func (s isa) vectors(f func(at int)) {
	for at := 0; at < 4*panel; at += s.size {
		f(at)
	}
}

// held returns what lies at m: in a register if there are enough of them.
func (s isa) held(m Mem) Op {
	if !s.isWide() {
		return m
	}
	v := s.vector()
	VMOVUPS(m, v)
	return v
}

// widenHalf generates widenHalfRef for n elements, a positive multiple of 64.
func (s isa) widenHalf() {
	p := s.begin("widenHalf", "(dst *float32, src *byte, n int)", "dst", "src", "n")
	label("loop")
	s.vectors(func(at int) { VMOVUPS(s.floats(Mem{Base: p[1], Disp: at / 2}, true), Mem{Base: p[0], Disp: at}) })
	ADDQ(U32(2*panel), p[1])
	ADDQ(U32(4*panel), p[0])
	repeat(panel, p[2])
}

// finish generates the epilogue for all 64 columns; stride is in bytes.
func (s isa) finish(name string) {
	p := s.begin(name, "(dst, acc, bias *float32, stride, rows int)", "dst", "acc", "bias", "stride", "rows")
	biases := map[int]reg.VecVirtual{}
	s.vectors(func(at int) {
		biases[at] = s.vector()
		VMOVUPS(Mem{Base: p[2], Disp: at}, biases[at])
	})
	label("loop")
	s.vectors(func(at int) {
		sum, to := s.vector(), Mem{Base: p[0], Disp: at}
		VADDPS(Mem{Base: p[1], Disp: at}, biases[at], sum)
		if name == "addSums" {
			VADDPS(to, sum, sum)
		}
		VMOVUPS(sum, to)
	})
	ADDQ(p[3], p[0])
	ADDQ(U32(4*panel), p[1])
	repeat(1, p[4])
}

// finishInt8 generates that of int8 products.
func (s isa) finishInt8(name string) {
	p := s.begin(name+"Int8", "(dst *float32, acc, offset *int32, xScale, scale, bias *float32, stride, rows int)",
		"dst", "acc", "offset", "xScale", "scale", "bias", "stride", "rows")
	offsets, scales, biases := map[int]Op{}, map[int]Op{}, map[int]Op{}
	s.vectors(func(at int) {
		offsets[at], scales[at], biases[at] = s.held(Mem{Base: p[2], Disp: at}), s.held(Mem{Base: p[4], Disp: at}), s.held(Mem{Base: p[5], Disp: at})
	})
	label("loop")
	row := s.dupFloat(at(p[3]))
	s.vectors(func(at int) {
		by, sum, to := s.vector(), s.vector(), Mem{Base: p[0], Disp: at}
		VMULPS(scales[at], row, by)
		VMOVUPS(Mem{Base: p[1], Disp: at}, sum)
		VPADDD(offsets[at], sum, sum)
		VCVTDQ2PS(sum, sum)
		VMULPS(by, sum, sum)
		VADDPS(biases[at], sum, sum)
		if name == "add" {
			VADDPS(to, sum, sum)
		}
		VMOVUPS(sum, to)
	})
	ADDQ(p[6], p[0])
	ADDQ(U32(4*panel), p[1])
	ADDQ(U8(4), p[3])
	repeat(1, p[7])
}

// maxAbs generates the maximum over n elements, a positive multiple of 16.
func (s isa) maxAbs() {
	p := s.begin("maxAbs", "(x *float32, n int) uint32", "x", "n")
	mask, largest := s.words(0x7fffffff), s.words(0)
	label("loop")
	for at := 0; at < 16; at += s.size / 4 {
		v := s.vector()
		VMOVUPS(Mem{Base: p[0], Disp: 4 * at}, v)
		s.and(mask, v, v)
		VPMAXUD(v, largest, largest)
	}
	ADDQ(U8(64), p[0])
	SUBQ(U8(16), p[1])
	JNZ(ref("loop"))
	low := s.reduce(largest, func(a, b, to Op) { VPMAXUD(a, b, to) })
	result := GP32()
	VMOVD(low, result)
	Store(result, ReturnIndex(0))
	ret()
}

// quantise generates the rounding of n elements to bytes, a positive multiple of 16.
func (s isa) quantise() {
	p := s.begin("quantise", "(dst *uint8, x *float32, n int, inverse float32)", "dst", "x", "n")
	by, round, offset, low := s.vector(), s.words(magic), s.words(128), s.words(0xff)
	VBROADCASTSS(address("inverse"), by)
	label("loop")
	var parts []reg.VecVirtual
	for at := 0; at < 16; at += s.size / 4 {
		v := s.vector()
		VMULPS(Mem{Base: p[1], Disp: 4 * at}, by, v)
		VADDPS(round, v, v)
		VPADDD(offset, v, v)
		parts = append(parts, v)
	}
	if s.isWide() {
		VPMOVDB(parts[0], Mem{Base: p[0]})
	} else {
		VPAND(low, parts[0], parts[0])
		VPAND(low, parts[1], parts[1])
		Comment("Pack to words, then to bytes, and put the quarters in order.")
		storeBytes(parts, at(p[0]))
	}
	ADDQ(U8(64), p[1])
	ADDQ(U8(16), p[0])
	repeat(16, p[2])
}
