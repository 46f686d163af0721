package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lanes is the width everything is counted in: one AVX-512 register, or two of
// AVX2.
const lanes = 16

// A gen writes functions for one instruction set.
type gen struct {
	*build.Context
	wide    bool
	consts  []uint32       // the constants used, each stored sixteen times
	offsets map[uint32]int // where, in bytes
	masked  bool           // whether the table of AVX2 masks is used
	packed  bool           // whether the order after packing is used
	kept    map[uint32]vec // constants that the present function has in registers
}

// suffix ends the names of the functions.
func (g *gen) suffix() string {
	if g.wide {
		return "AVX512"
	}
	return "AVX2"
}

// A vec is sixteen float32.
type vec []reg.VecVirtual

func (g *gen) vec() vec {
	if g.wide {
		return vec{g.ZMM()}
	}
	return vec{g.YMM(), g.YMM()}
}

// step is the size of one register in bytes.
func (g *gen) step() int {
	if g.wide {
		return 64
	}
	return 32
}

// each calls f with the index of every register of a vec and its offset in
// memory.
func (g *gen) each(f func(i, offset int)) {
	for i := range 64 / g.step() {
		f(i, i*g.step())
	}
}

// constant returns memory that holds v sixteen times.
func (g *gen) constant(v float32) operand.Mem { return g.constantBits(math.Float32bits(v)) }

func (g *gen) constantBits(bits uint32) operand.Mem {
	at, ok := g.offsets[bits]
	if !ok {
		at = 64 * len(g.consts)
		g.offsets[bits] = at
		g.consts = append(g.consts, bits)
	}
	return operand.NewDataAddr(operand.NewStaticSymbol("vectorConsts"+g.suffix()), at)
}

// keep loads constants into registers for the whole function, if there are enough
// registers. A loop full of memory operands is bound by loads.
func (g *gen) keep(constants ...float32) {
	if !g.wide {
		return
	}
	for _, c := range constants {
		g.kept[math.Float32bits(c)] = g.loadConst(c)
	}
}

// operand returns the i-th part of a constant, in a register or in memory.
func (g *gen) operand(c float32, i int) operand.Op {
	if v, ok := g.kept[math.Float32bits(c)]; ok {
		return v[i]
	}
	return g.constant(c).Offset(i * g.step())
}

// set sets a register to a constant.
func (g *gen) set(c float32, r reg.VecVirtual) {
	switch v, ok := g.kept[math.Float32bits(c)]; {
	case ok:
		g.VMOVAPS(v[0], r)
	case g.wide:
		g.VBROADCASTSS(g.constant(c), r)
	default:
		g.VMOVUPS(g.constant(c), r)
	}
}

// by does an operation whose first operand is a constant: in a register, or in memory.
// AVX-512 spreads it as it loads it, which no line of the cache can come between.
func (g *gen) by(op, spread func(...operand.Op), c float32, rest ...operand.Op) {
	switch v, ok := g.kept[math.Float32bits(c)]; {
	case ok:
		op(append([]operand.Op{v[0]}, rest...)...)
	case g.wide:
		spread(append([]operand.Op{g.constant(c)}, rest...)...)
	default:
		op(append([]operand.Op{g.constant(c)}, rest...)...)
	}
}

// tables writes the data the functions refer to.
func (g *gen) tables() {
	if len(g.consts) > 0 {
		g.StaticGlobal("vectorConsts" + g.suffix())
		g.DataAttributes(attr.RODATA | attr.NOPTR)
		for _, bits := range g.consts {
			for range lanes {
				g.AppendDatum(operand.U32(bits))
			}
		}
	}
	if g.packed {
		// Packing four registers to bytes leaves in lane l four bytes of each.
		g.StaticGlobal("vectorPacked")
		g.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range lanes {
			g.AppendDatum(operand.U32(i%4*4 + i/4))
		}
	}
	if g.masked {
		g.StaticGlobal("vectorMasks")
		g.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range 2 * lanes {
			g.AppendDatum(operand.U32(uint32(0) - uint32(1-i/lanes)))
		}
	}
}

// loadConst returns the constant c in a register.
func (g *gen) loadConst(c float32) vec {
	v := g.vec()
	g.each(func(i, at int) { g.VMOVUPS(g.constant(c).Offset(at), v[i]) })
	return v
}

// broadcast returns a float32 argument in all lanes.
func (g *gen) broadcast(param string) vec {
	addr, err := g.Param(param).Resolve()
	if err != nil {
		panic(err)
	}
	v := g.vec()
	g.VBROADCASTSS(addr.Addr, v[0])
	for _, w := range v[1:] {
		g.VMOVAPS(v[0], w)
	}
	return v
}

// spread returns the lowest lane of x in all lanes.
func (g *gen) spread(x reg.VecVirtual) vec {
	v := g.vec()
	g.VBROADCASTSS(x.AsX(), v[0])
	for _, w := range v[1:] {
		g.VMOVAPS(v[0], w)
	}
	return v
}

func (g *gen) zero() vec {
	v := g.vec()
	g.clear(v)
	return v
}

func (g *gen) clear(v vec) {
	for _, r := range v {
		if g.wide {
			g.VPXORD(r, r, r)
		} else {
			g.VXORPS(r, r, r)
		}
	}
}

// A mask selects the first lanes of a tail, or all if it is the zero mask.
type mask struct {
	k    reg.Register // AVX-512
	m    vec          // AVX2
	some bool
}

// mask returns the mask of the first n lanes, 0 < n < 16.
func (g *gen) mask(n reg.GPVirtual) mask {
	if g.wide {
		bits := g.GP32()
		g.MOVQ(n, reg.RCX)
		g.MOVL(operand.U32(1), bits)
		g.SHLL(reg.CL, bits)
		g.DECL(bits)
		g.KMOVW(bits, reg.K1)
		return mask{k: reg.K1, some: true}
	}
	g.masked = true
	table, back := g.GP64(), g.GP64()
	g.LEAQ(operand.NewDataAddr(operand.NewStaticSymbol("vectorMasks"), 4*lanes), table)
	g.MOVQ(n, back)
	g.NEGQ(back)
	v := g.vec()
	g.each(func(i, at int) { g.VMOVUPS(operand.Mem{Base: table, Index: back, Scale: 4, Disp: at}, v[i]) })
	return mask{m: v, some: true}
}

// load reads a vec, with zeros in the lanes that m leaves out.
func (g *gen) load(p operand.Mem, m mask) vec {
	v := g.vec()
	g.each(func(i, at int) {
		switch {
		case !m.some:
			g.VMOVUPS(p.Offset(at), v[i])
		case g.wide:
			g.VMOVUPS_Z(p.Offset(at), m.k, v[i])
		default:
			g.VMASKMOVPS(p.Offset(at), m.m[i], v[i])
		}
	})
	return v
}

// store writes the lanes of v that m has.
func (g *gen) store(v vec, p operand.Mem, m mask) {
	g.each(func(i, at int) {
		switch {
		case !m.some:
			g.VMOVUPS(v[i], p.Offset(at))
		case g.wide:
			g.VMOVUPS(v[i], m.k, p.Offset(at))
		default:
			g.VMASKMOVPS(v[i], m.m[i], p.Offset(at))
		}
	})
}

// add adds x to the partial sums in acc, in the lanes of m only.
func (g *gen) add(x, acc vec, m mask) {
	for i := range acc {
		switch {
		case !m.some:
			g.VADDPS(x[i], acc[i], acc[i])
		case g.wide:
			g.VADDPS(x[i], acc[i], m.k, acc[i])
		default:
			sum := g.YMM()
			g.VADDPS(x[i], acc[i], sum)
			g.VBLENDVPS(m.m[i], sum, acc[i], acc[i])
		}
	}
}

// addSquare adds d² to the partial sums in acc by fma, in the lanes of m only.
func (g *gen) addSquare(d, acc vec, m mask) {
	for i := range acc {
		switch {
		case !m.some:
			g.VFMADD231PS(d[i], d[i], acc[i])
		case g.wide:
			g.VFMADD231PS(d[i], d[i], m.k, acc[i])
		default:
			sum := g.YMM()
			g.VMOVAPS(acc[i], sum)
			g.VFMADD231PS(d[i], d[i], sum)
			g.VBLENDVPS(m.m[i], sum, acc[i], acc[i])
		}
	}
}

// fold combines the sixteen lanes of v with op, pairwise at distances 8, 4, 2
// and 1. The result is in the lowest lane.
func (g *gen) fold(v vec, op func(...operand.Op)) reg.VecVirtual {
	y, x, t := g.YMM(), g.XMM(), g.XMM()
	if g.wide {
		g.VEXTRACTF64X4(operand.U8(1), v[0], y)
		op(y, v[0].AsY(), y)
	} else {
		op(v[1], v[0], y)
	}
	g.VEXTRACTF128(operand.U8(1), y, x)
	op(x, y.AsX(), x)
	g.VMOVHLPS(x, x, t)
	op(t, x, x)
	g.VMOVSHDUP(x, t)
	op(t, x, x)
	return x
}

// loop runs body over n elements, sixteen at a time, and then, with a mask, over
// the rest. The pointers move along; n is used up.
func (g *gen) loop(name string, n reg.GPVirtual, pointers []reg.GPVirtual, body func(m mask)) {
	g.Label(name)
	g.CMPQ(n, operand.U8(lanes))
	g.JLT(operand.LabelRef(name + "Tail"))
	body(mask{})
	for _, p := range pointers {
		g.ADDQ(operand.U8(4*lanes), p)
	}
	g.SUBQ(operand.U8(lanes), n)
	g.JMP(operand.LabelRef(name))
	g.Label(name + "Tail")
	g.TESTQ(n, n)
	g.JE(operand.LabelRef(name + "Done"))
	body(g.mask(n))
	g.Label(name + "Done")
}

// many is loop for a body that does several vectors in step, as many as it is given: most
// at first where there are registers for it, and half as many of what is left.
func (g *gen) many(name string, n reg.GPVirtual, pointers []reg.GPVirtual, most int, body func(v []vec, m mask)) {
	if g.wide {
		for _, k := range []int{most, most / 2} {
			label := fmt.Sprint(name, k)
			g.Label(label)
			g.CMPQ(n, operand.U32(k*lanes))
			g.JLT(operand.LabelRef(label + "Done"))
			body(make([]vec, k), mask{})
			for _, p := range pointers {
				g.ADDQ(operand.U32(4*k*lanes), p)
			}
			g.SUBQ(operand.U32(k*lanes), n)
			g.JMP(operand.LabelRef(label))
			g.Label(label + "Done")
		}
	}
	g.loop(name, n, pointers, func(m mask) { body(make([]vec, 1), m) })
}

// slice loads the pointer of a slice argument.
func (g *gen) slice(name string) reg.GPVirtual {
	return g.Load(g.Param(name).Base(), g.GP64()).(reg.GPVirtual)
}

// pointer loads an argument of eight bytes.
func (g *gen) pointer(name string) reg.GPVirtual {
	return g.Load(g.Param(name), g.GP64()).(reg.GPVirtual)
}

// length loads the length of a slice argument.
func (g *gen) length(name string) reg.GPVirtual {
	return g.Load(g.Param(name).Len(), g.GP64()).(reg.GPVirtual)
}

// function starts a function.
func (g *gen) function(name, signature, doc string) { g.functionFor(g.suffix(), name, signature, doc) }

// functionFor starts a function whose name ends in suffix. One of many that differ in the
// number of rows has no doc: the type that they have in common says what they do.
func (g *gen) functionFor(suffix, name, signature, doc string) {
	g.kept = map[uint32]vec{}
	g.Function(name + suffix)
	g.Attributes(attr.NOSPLIT)
	g.SignatureExpr(signature)
	g.Pragma("noescape")
	if doc != "" {
		g.Doc(name + suffix + " " + doc)
	}
}

// ret ends a function without result.
func (g *gen) ret() {
	g.VZEROUPPER()
	g.RET()
}

// retFloat ends a function that returns the lowest lane of x.
func (g *gen) retFloat(x reg.VecVirtual) {
	addr, err := g.ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	g.VMOVSS(x.AsX(), addr.Addr)
	g.ret()
}

func at(p reg.GPVirtual) operand.Mem { return operand.Mem{Base: p} }
