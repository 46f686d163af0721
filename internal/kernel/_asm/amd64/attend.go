package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// attendTiles writes the functions of attendOps, one for each kind of storage. Where the
// sums do not fit the registers (24 of 32 hold sums for AVX-512, 12 of 16 for AVX2), a
// panel is done in narrower pieces.
func attendTiles(g *gen) {
	for _, half := range []bool{false, true} {
		name, elem, size := "F32", "float32", 4
		if half {
			name, elem, size = "F16", "uint16", 2
		}
		function("attend"+name+g.name, "(panels, depth int, a *float32, aStride int, b *"+elem+
			", bStride, bPanel int, c *float32, cStride int, carry bool, rows int)")
		eachRows(1, 6, func(rows int) {
			t := &attendTile{isa: g.isa, rows: rows, vectors: 4, pieces: 1, elem: size}
			if g.isWide() && half && rows == 1 { // Zen 4 widens faster with vectors of 256 bits
				t.isa = narrow
			}
			for t.rows*t.parts() > 3*t.size/8 {
				t.vectors, t.pieces = t.vectors/2, t.pieces*2
			}
			t.write()
		})
	}
}

// An attendTile is a body: rows × vectors·16 sums in registers, so many times.
type attendTile struct {
	isa
	rows, vectors, pieces int
	elem                  int // bytes of an element of b; those of two are binary16

	a, b, c          reg.GPVirtual
	aStride, cStride strides
	sums             []reg.VecVirtual // [row][part]
}

// parts is the number of registers of a row.
func (t *attendTile) parts() int { return t.vectors * 64 / t.size }

// write generates the body. Strides are in bytes.
func (t *attendTile) write() {
	panels, from, bStride := load64("panels"), load64("b"), load64("bStride")
	t.a, t.b, t.c = GP64(), GP64(), load64("c")
	t.aStride, t.cStride = stridesOf(t.rows, "aStride"), stridesOf(t.rows, "cStride")

	label("panel")
	pieces := GP64()
	if t.pieces > 1 {
		MOVQ(U32(t.pieces), pieces)
		label("piece")
	}
	t.begin()
	Load(Param("a"), t.a)
	MOVQ(from, t.b)
	t.chains(bStride)
	t.eachSum(func(sum reg.VecVirtual, m Mem) { VMOVUPS(sum, m) })
	if t.pieces > 1 {
		ADDQ(U32(t.vectors*lanes*t.elem), from)
		ADDQ(U32(t.vectors*lanes*4), t.c)
		DECQ(pieces)
		JNE(ref("piece"))
		SUBQ(U32(panel*t.elem), from)
	} else {
		ADDQ(U32(4*panel), t.c)
	}
	ADDQ(address("bPanel"), from)
	DECQ(panels)
	JNE(ref("panel"))
	ret()
}

// eachSum calls f with every running sum and its place in c.
func (t *attendTile) eachSum(f func(sum reg.VecVirtual, m Mem)) {
	for i, sum := range t.sums {
		f(sum, t.cStride.row(t.c, i/t.parts(), i%t.parts()*t.size))
	}
}

// begin starts the sums at zero or, if carry is set, at what c holds.
func (t *attendTile) begin() {
	t.sums = t.registers(t.rows * t.parts())
	for _, sum := range t.sums {
		t.xor(sum)
	}
	CMPB(address("carry"), U8(0))
	JE(ref("start"))
	t.eachSum(func(sum reg.VecVirtual, m Mem) { VMOVUPS(m, sum) })
	label("start")
}

// chains goes along the depth, several steps at a time while that many are left.
func (t *attendTile) chains(bStride reg.GPVirtual) {
	unroll := 4
	if t.rows > 2 {
		unroll = 2
	}
	n := GP64()
	MOVQ(address("depth"), n)
	unrolled(n, unroll, func(steps int) {
		for i := range steps {
			t.advance(4 * i)
			t.prefetch()
			ADDQ(bStride, t.b)
		}
		ADDQ(U8(4*steps), t.a)
	})
}

// prefetch asks for what the chains need 128 steps later, for b 64 columns wide: reading
// b in narrow pieces skips every other cache line, which hardware prefetchers do not
// predict. Other tiles are faster without.
func (t *attendTile) prefetch() {
	if t.elem == 2 && t.pieces > 1 {
		PREFETCHT1(Mem{Base: t.b, Disp: 128 * 128})
	}
}

// advance does one step of all chains, with the element of a at an offset.
func (t *attendTile) advance(offset int) {
	crossed(t.rows, t.parts(), t.rows < t.parts(),
		func(r int) reg.VecVirtual { return t.dupFloat(t.aStride.row(t.a, r, offset)) },
		func(p int) reg.VecVirtual {
			return t.floats(Mem{Base: t.b, Disp: p * t.size * t.elem / 4}, t.elem == 2)
		},
		func(r, p int, a, b reg.VecVirtual) { VFMADD231PS(b, a, t.sums[r*t.parts()+p]) })
}
