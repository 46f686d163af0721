package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A gen writes functions for one instruction set.
type gen struct {
	isa
	consts []uint32       // the constants used, each stored sixteen times
	kept   map[uint32]vec // constants that the present function has in registers
}

// A vec is sixteen float32, or several times as many.
type vec []reg.VecVirtual

func (g *gen) vec() vec { return g.registers(64 / g.size) }

// each calls f with the index of every register.
func (v vec) each(f func(i int)) {
	for i := range v {
		f(i)
	}
}

// each calls f with the index of every register of a vec and its offset in
// memory.
func (g *gen) each(f func(i, offset int)) {
	for i := range 64 / g.size {
		f(i, i*g.size)
	}
}

// constant returns memory that holds v sixteen times.
func (g *gen) constant(v float32) Mem { return g.constantBits(math.Float32bits(v)) }

func (g *gen) constantBits(bits uint32) Mem {
	at := slices.Index(g.consts, bits)
	if at < 0 {
		at = len(g.consts)
		g.consts = append(g.consts, bits)
	}
	return NewDataAddr(NewStaticSymbol("vectorConsts"+g.name), 64*at)
}

// keep loads constants into registers for the whole function, if there are enough
// registers. A loop full of memory operands is bound by loads.
func (g *gen) keep(constants ...float32) {
	if !g.isWide() {
		return
	}
	for _, c := range constants {
		g.kept[math.Float32bits(c)] = g.loadConst(c)
	}
}

// operand returns the i-th part of a constant, in a register or in memory.
func (g *gen) operand(c float32, i int) Op {
	if v, ok := g.kept[math.Float32bits(c)]; ok {
		return v[i]
	}
	return g.constant(c).Offset(i * g.size)
}

// set sets a register to a constant.
func (g *gen) set(c float32, r reg.VecVirtual) {
	switch v, ok := g.kept[math.Float32bits(c)]; {
	case ok:
		VMOVAPS(v[0], r)
	case g.isWide():
		VBROADCASTSS(g.constant(c), r)
	default:
		VMOVUPS(g.constant(c), r)
	}
}

// by does an operation whose first operand is a constant: in a register, or in memory.
// AVX-512 spreads it as it loads it, which no line of the cache can come between.
func (g *gen) by(op, spread func(...Op), c float32, rest ...Op) {
	first := Op(g.constant(c))
	if v, ok := g.kept[math.Float32bits(c)]; ok {
		first = v[0]
	} else if g.isWide() {
		op = spread
	}
	op(append([]Op{first}, rest...)...)
}

// tables writes the data the functions refer to.
func (g *gen) tables() {
	table := func(name string, n int, value func(i int) uint32) {
		GLOBL(name, attr.RODATA|attr.NOPTR)
		for i := 0; i < n; i += 2 {
			DATA(4*i, U64(uint64(value(i+1))<<32|uint64(value(i))))
		}
	}
	table("vectorConsts"+g.name, lanes*len(g.consts), func(i int) uint32 { return g.consts[i/lanes] })
	if g.isWide() { // packing four registers to bytes leaves in lane l four bytes of each
		table("vectorPacked", lanes, func(i int) uint32 { return uint32(i%4*4 + i/4) })
	} else {
		table("vectorMasks", 2*lanes, func(i int) uint32 { return uint32(i/lanes) - 1 })
	}
}

// loadConst returns the constant c in a register.
func (g *gen) loadConst(c float32) vec {
	v := g.vec()
	g.each(func(i, at int) { VMOVUPS(g.constant(c).Offset(at), v[i]) })
	return v
}

// broadcast returns a float32 argument in all lanes.
func (g *gen) broadcast(param string) vec { return g.spread(address(param)) }

// spread returns the lowest lane of x in all lanes.
func (g *gen) spread(x Op) vec {
	v := g.vec()
	VBROADCASTSS(x, v[0])
	for _, w := range v[1:] {
		VMOVAPS(v[0], w)
	}
	return v
}

func (g *gen) zero() vec {
	v := g.vec()
	g.clear(v)
	return v
}

func (g *gen) clear(v vec) { v.each(func(i int) { g.xor(v[i]) }) }

// A mask selects the first lanes of a tail, or all if it is the zero mask.
type mask struct {
	k    reg.Register // AVX-512
	m    vec          // AVX2
	some bool
}

// mask returns the mask of the first n lanes, 0 < n < 16.
func (g *gen) mask(n reg.GPVirtual) mask {
	if g.isWide() {
		bits := GP32()
		MOVQ(n, reg.RCX)
		MOVL(U32(1), bits)
		SHLL(reg.CL, bits)
		DECL(bits)
		KMOVW(bits, reg.K1)
		return mask{k: reg.K1, some: true}
	}
	table, back := GP64(), GP64()
	LEAQ(NewDataAddr(NewStaticSymbol("vectorMasks"), 4*lanes), table)
	MOVQ(n, back)
	NEGQ(back)
	v := g.vec()
	g.each(func(i, at int) { VMOVUPS(Mem{Base: table, Index: back, Scale: 4, Disp: at}, v[i]) })
	return mask{m: v, some: true}
}

// load reads a vec, with zeros in the lanes that m leaves out.
func (g *gen) load(p Mem, m mask) vec {
	v := g.vec()
	g.each(func(i, at int) {
		switch {
		case !m.some:
			VMOVUPS(p.Offset(at), v[i])
		case g.isWide():
			VMOVUPS_Z(p.Offset(at), m.k, v[i])
		default:
			VMASKMOVPS(p.Offset(at), m.m[i], v[i])
		}
	})
	return v
}

// store writes the lanes of v that m has.
func (g *gen) store(v vec, p Mem, m mask) {
	g.each(func(i, at int) {
		switch {
		case !m.some:
			VMOVUPS(v[i], p.Offset(at))
		case g.isWide():
			VMOVUPS(v[i], m.k, p.Offset(at))
		default:
			VMASKMOVPS(v[i], m.m[i], p.Offset(at))
		}
	})
}

// into sets part i of a vec, to, to what op makes of a and b, in the lanes of m only. copied
// says that op adds to its result.
func (g *gen) into(op func(...Op), a, b, to reg.VecVirtual, m mask, i int, copied bool) {
	switch {
	case !m.some:
		op(a, b, to)
	case g.isWide():
		op(a, b, m.k, to)
	default:
		t := YMM()
		if copied {
			VMOVAPS(to, t)
		}
		op(a, b, t)
		VBLENDVPS(m.m[i], t, to, to)
	}
}

// add adds x to the partial sums in acc, in the lanes of m only.
func (g *gen) add(x, acc vec, m mask) {
	for i := range acc {
		g.into(VADDPS, x[i], acc[i], acc[i], m, i, false)
	}
}

// addSquare adds d² to the partial sums in acc by fma, in the lanes of m only.
func (g *gen) addSquare(d, acc vec, m mask) {
	for i := range acc {
		g.into(VFMADD231PS, d[i], d[i], acc[i], m, i, true)
	}
}

// fold combines the sixteen lanes of v with op, pairwise at distances 8, 4, 2
// and 1. The result is in the lowest lane.
func (g *gen) fold(v vec, op func(...Op)) reg.VecVirtual {
	y, x, t := YMM(), XMM(), XMM()
	if g.isWide() {
		VEXTRACTF64X4(U8(1), v[0], y)
		op(y, v[0].AsY(), y)
	} else {
		op(v[1], v[0], y)
	}
	VEXTRACTF128(U8(1), y, x)
	op(x, y.AsX(), x)
	VMOVHLPS(x, x, t)
	op(t, x, x)
	VMOVSHDUP(x, t)
	op(t, x, x)
	return x
}

// loop runs body over n elements, sixteen at a time, and then, with a mask, over
// the rest. The pointers move along; n is used up.
func (g *gen) loop(name string, n reg.GPVirtual, pointers []reg.GPVirtual, body func(m mask)) {
	label(name)
	CMPQ(n, U8(lanes))
	JLT(ref(name + "Tail"))
	body(mask{})
	for _, p := range pointers {
		ADDQ(U8(4*lanes), p)
	}
	SUBQ(U8(lanes), n)
	JMP(ref(name))
	label(name + "Tail")
	TESTQ(n, n)
	JE(ref(name + "Done"))
	body(g.mask(n))
	label(name + "Done")
}

// many is loop for a body that does several vectors in step, as many as it is given: most
// at first where there are registers for it, and half as many of what is left.
func (g *gen) many(name string, n reg.GPVirtual, pointers []reg.GPVirtual, most int, body func(v []vec, m mask)) {
	if g.isWide() {
		for _, k := range []int{most, most / 2} {
			at := fmt.Sprint(name, k)
			label(at)
			CMPQ(n, U32(k*lanes))
			JLT(ref(at + "Done"))
			body(make([]vec, k), mask{})
			for _, p := range pointers {
				ADDQ(U32(4*k*lanes), p)
			}
			SUBQ(U32(k*lanes), n)
			JMP(ref(at))
			label(at + "Done")
		}
	}
	g.loop(name, n, pointers, func(m mask) { body(make([]vec, 1), m) })
}

// slice loads the pointer of a slice argument.
func (g *gen) slice(name string) reg.GPVirtual {
	return Load(Param(name).Base(), GP64()).(reg.GPVirtual)
}

// length loads the length of a slice argument.
func (g *gen) length(name string) reg.GPVirtual {
	return Load(Param(name).Len(), GP64()).(reg.GPVirtual)
}

// function begins a function that is its namesake ending in Ref.
func (g *gen) function(name, signature string) {
	g.kept = map[uint32]vec{}
	function("vec"+name+g.name, signature)
}

// retFloat ends a function that returns the lowest lane of x.
func (g *gen) retFloat(x reg.VecVirtual) {
	addr, err := ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	VMOVSS(x.AsX(), addr.Addr)
	ret()
}
