// Command fewbits writes the kernels of products with weights in groups of 32 that
// share a scale: those that expand weights of few bits to bytes, and those that sum.
package main

import (
	"flag"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	panel      = 64
	group      = 32
	groupBytes = panel * group // of a panel, expanded
	quadBytes  = 4 * panel     // four k of all columns
)

// An isa is a set of instructions, and the vectors it has.
type isa struct {
	name   string
	vector func() reg.VecVirtual
	size   int // of a vector, in bytes
}

var (
	wide   = isa{"AVX512", ZMM, 64}
	narrow = isa{"AVX2", YMM, 32}
)

func main() {
	flag.Parse()
	ConstraintExpr("!purego")
	// The lowest byte of every 32 bits, four times.
	spread := GLOBL("spreadLowest", RODATA|NOPTR)
	for i := range 4 {
		DATA(4*i, U32(uint32(4*i)*0x01010101))
	}
	nibbles(wide)
	nibblesZero(wide, spread)
	for _, s := range []isa{wide, narrow} {
		sixes(s)
		powers(s)
		quantise(s)
	}
	four := []directForm{
		{"Nibbles", groupBytes / 2, false, false, directNibbles},
		{"NibblesZero", groupBytes / 2, false, true, directNibbles},
	}
	six := directForm{"Sixes", groupBytes * 3 / 4, true, false, directSixes}
	for rows := 1; rows <= 6; rows++ {
		tile512(rows)
		for _, f := range append(four, six) {
			direct512(rows, f)
		}
		for _, f := range four {
			directVNNI(rows, f)
		}
	}
	for rows := 1; rows <= 4; rows++ {
		tile256(rows)
		for _, f := range four {
			direct256(rows, f)
		}
	}
	Generate()
}

// bytes returns a vector of bytes b.
func (s isa) bytes(b byte) reg.VecVirtual { return s.words(uint32(b) * 0x01010101) }

// words returns a vector of 32-bit elements bits.
func (s isa) words(bits uint32) reg.VecVirtual {
	r, x, v := GP32(), XMM(), s.vector()
	MOVL(U32(bits), r)
	VMOVD(r, x)
	VPBROADCASTD(x, v)
	return v
}

// word returns a vector whose elements are a parameter, which must fit in 15 bits. By
// VPMADDWD it multiplies numbers of 16 bits.
func (s isa) word(name string) reg.VecVirtual {
	x, v := XMM(), s.vector()
	VMOVD(load64(name).As32(), x)
	VPBROADCASTD(x, v)
	return v
}

func (s isa) and(a Op, b, to reg.VecVirtual) {
	if s.size == 64 {
		VPANDD(a, b, to)
	} else {
		VPAND(a, b, to)
	}
}

func (s isa) load(m Mem, to reg.VecVirtual) {
	if s.size == 64 {
		VMOVDQU32(m, to)
	} else {
		VMOVDQU(m, to)
	}
}

func (s isa) store(v reg.VecVirtual, m Mem) {
	if s.size == 64 {
		VMOVDQU32(v, m)
	} else {
		VMOVDQU(v, m)
	}
}

// table loads 16 bytes into every 128 bits of a vector.
func (s isa) table(m Mem) reg.VecVirtual {
	v := s.vector()
	if s.size == 64 {
		VBROADCASTI32X4(m, v)
	} else {
		VBROADCASTI128(m, v)
	}
	return v
}

// load64 returns a parameter in a register.
func load64(name string) reg.GPVirtual {
	r := GP64()
	Load(Param(name), r)
	return r
}
