package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tiles writes the functions of attendOps, one for each kind of storage and number of
// rows. Where the sums do not fit the registers (24 of 32 hold sums
// for AVX-512, 12 of 16 for AVX2), a function does a panel in narrower pieces.
func tiles(g *gen) {
	most := 12
	if g.wide {
		most = 24
	}
	for _, half := range []bool{false, true} {
		for rows := 1; rows <= 6; rows++ {
			t := &tile{gen: g, rows: rows, vectors: 4, pieces: 1, half: half}
			for t.rows*t.parts() > most {
				t.vectors, t.pieces = t.vectors/2, t.pieces*2
			}
			if !(g.wide && half && rows == 1) { // AVX2 does that better
				t.write()
			}
		}
	}
}

// A tile is one function: rows × vectors·16 sums in registers, so many times.
type tile struct {
	*gen
	rows, vectors, pieces int
	half                  bool // b is binary16

	a, a3, aStride reg.GPVirtual
	b              reg.GPVirtual
	c, c3, cStride reg.GPVirtual
	sums           [][]reg.VecVirtual // [row][part]
}

// parts is the number of registers of a row.
func (t *tile) parts() int { return t.vectors * 64 / t.step() }

func (t *tile) reg() reg.VecVirtual {
	if t.wide {
		return t.ZMM()
	}
	return t.YMM()
}

// write generates the function. Strides are in bytes.
func (t *tile) write() {
	kind, elem := "F32", "float32"
	if t.half {
		kind, elem = "F16", "uint16"
	}
	name := fmt.Sprintf("attend%sR%d", kind, t.rows)
	t.function(name, fmt.Sprintf("func(panels, depth int, a *float32, aStride int, b *%s, "+
		"bStride, bPanel int, c *float32, cStride int, carry bool)", elem), "")

	panels := t.Load(t.Param("panels"), t.GP64()).(reg.GPVirtual)
	t.aStride = t.Load(t.Param("aStride"), t.GP64()).(reg.GPVirtual)
	panel := t.Load(t.Param("b"), t.GP64()).(reg.GPVirtual)
	bStride := t.Load(t.Param("bStride"), t.GP64()).(reg.GPVirtual)
	t.c = t.Load(t.Param("c"), t.GP64()).(reg.GPVirtual)
	t.cStride = t.Load(t.Param("cStride"), t.GP64()).(reg.GPVirtual)
	t.a, t.a3, t.b, t.c3 = t.GP64(), t.GP64(), t.GP64(), t.GP64()

	t.Label("panel")
	pieces := t.GP64()
	if t.pieces > 1 {
		t.MOVQ(operand.U32(t.pieces), pieces)
		t.Label("piece")
	}
	t.begin()
	t.Load(t.Param("a"), t.a)
	t.third(t.a, t.aStride, t.a3)
	t.MOVQ(panel, t.b)
	t.chains(bStride)
	t.eachSum(func(sum reg.VecVirtual, m operand.Mem) { t.VMOVUPS(sum, m) })
	done := 0 // columns that panel and c have moved on
	if t.pieces > 1 {
		done = panelKeys
		t.ADDQ(operand.U32(t.vectors*lanes*t.elem()), panel)
		t.ADDQ(operand.U32(t.vectors*lanes*4), t.c)
		t.DECQ(pieces)
		t.JNE(operand.LabelRef("piece"))
		t.SUBQ(operand.U32(done*t.elem()), panel)
	}
	t.ADDQ(t.address("bPanel"), panel)
	if step := 4 * (64 - done); step > 0 {
		t.ADDQ(operand.U32(step), t.c)
	}
	t.DECQ(panels)
	t.JNE(operand.LabelRef("panel"))
	t.ret()
}

// elem is the size of an element of b.
func (t *tile) elem() int {
	if t.half {
		return 2
	}
	return 4
}

// address returns an argument as a memory operand.
func (t *tile) address(param string) operand.Mem {
	b, err := t.Param(param).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// third sets to = from + 3·stride, where rows 3 … 5 start.
func (t *tile) third(from, stride, to reg.GPVirtual) {
	if t.rows > 3 {
		t.LEAQ(operand.Mem{Base: from, Index: stride, Scale: 2}, to)
		t.ADDQ(stride, to)
	}
}

// row returns the address of a row, given those of rows 0 and 3.
func row(r int, first, third, stride reg.GPVirtual) operand.Mem {
	m := operand.Mem{Base: first}
	if r >= 3 {
		m.Base = third
	}
	if r%3 > 0 {
		m.Index, m.Scale = stride, uint8(r%3)
	}
	return m
}

// eachSum calls f with every running sum and its place in c.
func (t *tile) eachSum(f func(sum reg.VecVirtual, m operand.Mem)) {
	t.third(t.c, t.cStride, t.c3)
	for r := range t.rows {
		for p, sum := range t.sums[r] {
			f(sum, row(r, t.c, t.c3, t.cStride).Offset(p*t.step()))
		}
	}
}

// begin starts the sums at zero or, if carry is set, at what c holds.
func (t *tile) begin() {
	t.sums = make([][]reg.VecVirtual, t.rows)
	for r := range t.sums {
		for range t.parts() {
			s := t.reg()
			t.sums[r] = append(t.sums[r], s)
			t.clear(vec{s})
		}
	}
	t.CMPB(t.address("carry"), operand.U8(0))
	t.JE(operand.LabelRef("start"))
	t.eachSum(func(sum reg.VecVirtual, m operand.Mem) { t.VMOVUPS(m, sum) })
	t.Label("start")
}

// chains goes along the depth, several steps per turn while that many are left.
func (t *tile) chains(bStride reg.GPVirtual) {
	unroll := 4
	if t.rows > 2 {
		unroll = 2
	}
	n := t.GP64()
	t.MOVQ(t.address("depth"), n)
	turn := func(steps int) {
		for i := range steps {
			t.advance(4 * i)
			t.prefetch()
			t.ADDQ(bStride, t.b)
		}
		t.ADDQ(operand.U8(4*steps), t.a)
		if t.rows > 3 {
			t.ADDQ(operand.U8(4*steps), t.a3)
		}
		t.SUBQ(operand.U8(steps), n)
	}
	t.SUBQ(operand.U8(unroll), n)
	t.JLT(operand.LabelRef("few"))
	t.Label("many")
	turn(unroll)
	t.JGE(operand.LabelRef("many"))
	t.Label("few")
	t.ADDQ(operand.U8(unroll), n)
	t.JE(operand.LabelRef("store"))
	t.Label("one")
	turn(1)
	t.JNE(operand.LabelRef("one"))
	t.Label("store")
}

// prefetch asks for what the chains need 128 steps later, for b 64 columns wide: reading
// b in narrow pieces skips every other cache line, which hardware prefetchers do not
// predict. Other tiles are faster without.
func (t *tile) prefetch() {
	if t.half && t.pieces > 1 {
		t.PREFETCHT1(operand.Mem{Base: t.b, Disp: 128 * 128})
	}
}

// advance does one step of all chains, with the element of a at an offset.
func (t *tile) advance(offset int) {
	if t.rows < t.parts() { // keep the elements of a in registers
		a := make([]reg.VecVirtual, t.rows)
		for r := range a {
			a[r] = t.element(r, offset)
		}
		for p := range t.parts() {
			b := t.column(p)
			for r := range a {
				t.VFMADD231PS(b, a[r], t.sums[r][p])
			}
		}
		return
	}
	b := make([]reg.VecVirtual, t.parts())
	for p := range b {
		b[p] = t.column(p)
	}
	for r := range t.rows {
		a := t.element(r, offset)
		for p := range b {
			t.VFMADD231PS(b[p], a, t.sums[r][p])
		}
	}
}

// element returns an element of a in all lanes.
func (t *tile) element(r, offset int) reg.VecVirtual {
	v := t.reg()
	t.VBROADCASTSS(row(r, t.a, t.a3, t.aStride).Offset(offset), v)
	return v
}

// column returns a register of b.
func (t *tile) column(p int) reg.VecVirtual {
	v := t.reg()
	if t.half {
		t.VCVTPH2PS(operand.Mem{Base: t.b, Disp: p * t.step() / 2}, v)
	} else {
		t.VMOVUPS(operand.Mem{Base: t.b, Disp: p * t.step()}, v)
	}
	return v
}
