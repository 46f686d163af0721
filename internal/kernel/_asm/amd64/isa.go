package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	panel = 64 // columns of a panel, and keys of one
	lanes = 16 // what vectors of floats are counted in: one register of AVX-512, or two of AVX2
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
	vnni   = isa{"VNNI", YMM, 32} // AVX2 with AVX-VNNI
)

func (s isa) isWide() bool { return s.size == 64 }

// declared are the functions, for the file that declares them.
var declared []string

// function begins a function with some parameters and results, as in "(n int)".
func function(name, signature string) {
	TEXT(name, attr.NOSPLIT, "func"+signature)
	declared = append(declared, name+signature)
}

// part ends the labels of a body.
var part string

func label(name string)        { Label(name + part) }
func ref(name string) LabelRef { return LabelRef(name + part) }

// eachRows generates a body for each number of rows, from least to most, and a choice
// among them by the argument rows.
func eachRows(least, most int, body func(rows int)) {
	n := load64("rows")
	for rows := least; rows < most; rows++ {
		CMPQ(n, U8(rows))
		JEQ(LabelRef(fmt.Sprint("rows", rows)))
	}
	for rows := most; rows >= least; rows-- {
		part = fmt.Sprint(rows)
		label("rows")
		body(rows)
	}
	part = ""
}

// load64 returns a parameter in a register.
func load64(name string) reg.GPVirtual {
	r := GP64()
	Load(Param(name), r)
	return r
}

// params loads parameters, whose names have blanks between, into registers.
func params(names string, to ...reg.GPPhysical) {
	for i, name := range strings.Fields(names) {
		Load(Param(name), to[i])
	}
}

// address returns a parameter as a memory operand.
func address(name string) Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// triple returns r·(scale+1).
func triple(r reg.GPVirtual, scale uint8) reg.GPVirtual {
	to := GP64()
	LEAQ(Mem{Base: r, Index: r, Scale: scale}, to)
	return to
}

// at returns what p points to.
func at(p reg.GPVirtual) Mem { return Mem{Base: p} }

// strides are distances of 1, 3 and 5 rows in registers, as far as they are needed.
type strides struct{ one, three, five reg.GPVirtual }

func stridesOf(rows int, name string) (s strides) {
	if rows > 1 {
		s.one = load64(name)
	}
	if rows > 3 {
		s.three = triple(s.one, 2)
	}
	if rows > 5 {
		s.five = triple(s.one, 4)
	}
	return s
}

// row returns the address of row r, below 6, from base on.
func (s strides) row(base reg.GPVirtual, r, disp int) Mem {
	m := Mem{Base: base, Disp: disp}
	switch r {
	case 0:
	case 3:
		m.Index, m.Scale = s.three, 1
	case 5:
		m.Index, m.Scale = s.five, 1
	default:
		m.Index, m.Scale = s.one, uint8(r)
	}
	return m
}

// registers returns n vectors.
func (s isa) registers(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = s.vector()
	}
	return v
}

// prefetch loads bytes from m on into a cache: PREFETCHT0 into the first level, PREFETCHT1 into the
// second.
func prefetch(to func(Op), m Mem, bytes int) {
	for at := 0; at < bytes; at += 64 {
		to(m.Offset(at))
	}
}

// quadwords makes constant data: 32 bytes of the same eight.
func quadwords(name string, bits uint64) Mem {
	m := GLOBL(name, attr.RODATA|attr.NOPTR)
	for i := range 4 {
		DATA(8*i, U64(bits))
	}
	return m
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

// dup returns a vector whose 32-bit elements are all what lies at m.
func (s isa) dup(m Mem) reg.VecVirtual {
	v := s.vector()
	VPBROADCASTD(m, v)
	return v
}

// dupFloat returns a vector whose float32 are all what x begins with.
func (s isa) dupFloat(x Op) reg.VecVirtual {
	v := s.vector()
	VBROADCASTSS(x, v)
	return v
}

// floats returns a vector of numbers at m, which are binary16 if half.
func (s isa) floats(m Mem, half bool) reg.VecVirtual {
	v := s.vector()
	if half {
		VCVTPH2PS(m, v)
	} else {
		VMOVUPS(m, v)
	}
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
	if s.isWide() {
		VPANDD(a, b, to)
	} else {
		VPAND(a, b, to)
	}
}

func (s isa) xor(v reg.VecVirtual) {
	if s.isWide() {
		VPXORD(v, v, v)
	} else {
		VPXOR(v, v, v)
	}
}

func (s isa) load(m Mem, to reg.VecVirtual) {
	if s.isWide() {
		VMOVDQU32(m, to)
	} else {
		VMOVDQU(m, to)
	}
}

func (s isa) store(v reg.VecVirtual, m Mem) {
	if s.isWide() {
		VMOVDQU32(v, m)
	} else {
		VMOVDQU(v, m)
	}
}

// table loads 16 bytes into every 128 bits of a vector.
func (s isa) table(m Mem) reg.VecVirtual {
	v := s.vector()
	if s.isWide() {
		VBROADCASTI32X4(m, v)
	} else {
		VBROADCASTI128(m, v)
	}
	return v
}

// reduce combines the elements of v by do. The result is the first element of the vector
// that it returns.
func (s isa) reduce(v reg.VecVirtual, do func(a, b, to Op)) reg.VecVirtual {
	if s.isWide() {
		half := YMM()
		VEXTRACTI64X4(U8(1), v, half)
		do(half, v.AsY(), half)
		v = half
	}
	low := XMM()
	VEXTRACTI128(U8(1), v.AsY(), low)
	do(low, v.AsX(), low)
	for _, order := range []uint8{0x4e, 0xb1} {
		other := XMM()
		VPSHUFD(U8(order), low, other)
		do(other, low, low)
	}
	return low
}

// crossed does op for every row with every part. What is fewer is loaded first and kept: the
// rows, or the parts.
func crossed[R, P any](rows, parts int, keepRows bool, row func(i int) R, part func(i int) P, op func(r, p int, x R, w P)) {
	if !keepRows {
		crossed(parts, rows, true, part, row, func(p, r int, w P, x R) { op(r, p, x, w) })
		return
	}
	kept := make([]R, rows)
	for r := range kept {
		kept[r] = row(r)
	}
	for p := range parts {
		w := part(p)
		for r, x := range kept {
			op(r, p, x, w)
		}
	}
}

// unrolled generates a loop over n steps: steps does so many, unroll while as many are left, and
// then one. With an unroll of 1, n must not be 0.
func unrolled(n reg.GPVirtual, unroll int, steps func(n int)) {
	if unroll > 1 {
		SUBQ(U8(unroll), n)
		JLT(ref("few"))
		label("many")
		steps(unroll)
		SUBQ(U8(unroll), n)
		JGE(ref("many"))
		label("few")
		ADDQ(U8(unroll), n)
		JE(ref("done"))
	}
	label("one")
	steps(1)
	DECQ(n)
	JNE(ref("one"))
	label("done")
}

// repeat ends a loop, n being less by less each time, and the function.
func repeat(less int, n reg.GPVirtual) {
	SUBQ(U8(less), n)
	JNZ(ref("loop"))
	ret()
}

// ret ends a function, or a body of one.
func ret() {
	VZEROUPPER()
	RET()
}

// emit emits the bytes of an instruction that neither avo nor Go's assembler knows.
func emit(text string, code ...byte) {
	Comment(text)
	raw := func(opcode string, value Op) {
		Instruction(&ir.Instruction{Opcode: opcode, Operands: []Op{value}})
	}
	for ; len(code) >= 4; code = code[4:] {
		raw("LONG", U32(uint32(code[0])|uint32(code[1])<<8|uint32(code[2])<<16|uint32(code[3])<<24))
	}
	for _, b := range code {
		raw("BYTE", U8(b))
	}
}

// x, y and z return registers by number, of 128, 256 and 512 bits.
func x(n int) reg.Register { return reg.Vector.Lookup(reg.Index(n), reg.S128) }
func y(n int) reg.Register { return reg.Vector.Lookup(reg.Index(n), reg.S256) }
func z(n int) reg.Register { return reg.Vector.Lookup(reg.Index(n), reg.S512) }

// dotVNNI emits VPDPBUSD on registers of 256 bits as AVX-VNNI has it, VEX.256.66.0F38.W0 50:
// Go's assembler has that of AVX-512 only. It adds the products of unsigned and signed
// bytes to sum. All are numbers of registers.
func dotVNNI(sum, unsigned, signed int) {
	emit(fmt.Sprintf("VPDPBUSD Y%d, Y%d, Y%d", signed, unsigned, sum),
		0xc4, 0x42|byte(^sum&8)<<4|byte(^signed&8)<<2, 0x05|byte(^unsigned&15)<<3, 0x50, 0xc0|byte(sum&7)<<3|byte(signed&7))
}
