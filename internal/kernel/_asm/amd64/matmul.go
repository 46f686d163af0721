package main

import (
	"math/bits"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A width is how the weights of one step along k become vectors.
type width struct {
	name string // as in tileF16Ref
	size int    // bytes of one output's weights
	sums string // type of a sum
	x    string // type of an activation
	step int    // bytes of activations in a step
}

var (
	floats    = []width{{"F32", 4, "float32", "float32", 4}, {"F16", 2, "float32", "float32", 4}}
	int8s     = width{"Int8", 4, "int32", "uint8", 4} // a step is four k, of x and of weights
	words     = width{"Words", 4, "int32", "uint16", 8}
	packedBy4 = width{"PackedBy4", 4, "int32", "uint8", 4}
)

// args are the arguments of a tile, in registers.
type args struct {
	acc, x, w, n reg.GPVirtual
	stride       strides       // in bytes
	ahead, pace  reg.GPVirtual // what to prefetch next, and the bytes per k
	step         int           // as in width
}

// tiles generates an asmRows: body for each number of rows.
func tiles(name string, w width, least, most int, body func(a args, rows int)) {
	function("tile"+w.name+name, "(acc *"+w.sums+", x *"+w.x+", stride int, w *byte, n, ahead, pace, rows int)")
	eachRows(least, most, func(rows int) {
		a := args{
			step: w.step, acc: load64("acc"), x: load64("x"), w: load64("w"), n: load64("n"),
			ahead: load64("ahead"), pace: load64("pace"), stride: stridesOf(rows, "stride"),
		}
		ADDQ(a.w, a.ahead)
		body(a, rows)
	})
}

// inSlices generates a loop that does body for one slice of a panel's columns after the
// other, each over all k, and ends. A slice has bytes of the weights of one k
// (of four, for int8), and sums of them in a row. body gets copies of the registers that
// it moves on, but for ahead: each slice prefetches its share of what follows.
func inSlices(a args, bytes, sums int, body func(b args)) {
	count := 4 * panel / sums
	left, b := GP64(), a
	if count > 1 {
		MOVQ(U32(count), left)
		b.x, b.w, b.n = GP64(), GP64(), GP64()
		SHRQ(U8(bits.TrailingZeros(uint(count))), a.pace)
		label("slice")
		MOVQ(a.x, b.x)
		MOVQ(a.w, b.w)
		MOVQ(a.n, b.n)
	}
	body(b)
	if count > 1 {
		ADDQ(U32(sums), a.acc)
		ADDQ(U32(bytes), a.w)
		DECQ(left)
		JNZ(ref("slice"))
	}
	ret()
}

// row returns the address of x[r] at step k+u.
func (a args) row(r, u int) Mem { return a.stride.row(a.x, r, a.step*u) }

// prefetch asks for so many bytes of weights further on: by a.pace for each k, which may
// be less than one k has.
func (a args) prefetch(to func(Op), bytes int) {
	prefetch(to, at(a.ahead), bytes)
	ADDQ(a.pace, a.ahead)
}

// loop runs step for all n values of k, unroll at a time and then singly, moving
// a.x and a.w on. step(u) does k+u. n is above 0.
func loop(a args, w width, unroll int, step func(u int)) {
	unrolled(a.n, unroll, func(steps int) {
		for u := range steps {
			step(u)
		}
		ADDQ(U8(w.step*steps), a.x)
		ADDQ(U32(steps*panel*w.size), a.w)
	})
}

// floatTiles generates the tiles of floating-point weights.
func floatTiles(s isa, w width) {
	tiles(s.name, w, 1, 6, func(a args, rows int) {
		if s.isWide() {
			tile512(a, w, rows)
		} else {
			tile256(a, w, rows)
		}
	})
}

// tile512 generates a tile: rows by four vectors of sums, up to 24. Prefetching into the
// first-level cache would make four rows of int8 up to 9 % faster on Zen 5, and two times
// four a fifth slower on Zen 4.
func tile512(a args, w width, rows int) {
	const vectors, unroll = panel / 16, 4
	acc := wide.registers(rows * vectors)
	for i, sum := range acc {
		VMOVUPS(Mem{Base: a.acc, Disp: 64 * i}, sum)
	}
	loop(a, w, unroll, func(u int) {
		weights := make([]reg.VecVirtual, vectors)
		for v := range weights {
			weights[v] = a.weights(wide, w, u, v)
		}
		a.prefetch(PREFETCHT1, panel*w.size)
		for r := range rows {
			factor := ZMM()
			if w.name == "Int8" {
				VPBROADCASTD(a.row(r, u), factor)
			} else {
				VBROADCASTSS(a.row(r, u), factor)
			}
			for v := range weights {
				if w.name == "Int8" {
					VPDPBUSD(weights[v], factor, acc[r*vectors+v])
				} else {
					VFMADD231PS(weights[v], factor, acc[r*vectors+v])
				}
			}
		}
	})
	for i := range acc {
		VMOVUPS(acc[i], Mem{Base: a.acc, Disp: 64 * i})
	}
	ret()
}

// tile256 generates a tile that goes through the columns in slices, each over all k, with
// so many vectors of eight columns that their sums fit 16 registers.
func tile256(a args, w width, rows int) {
	n := []int{8, 4, 4, 2, 2, 2}[rows-1]
	acc := narrow.registers(rows * n)
	inSlices(a, n*8*w.size, n*32, func(b args) {
		at := func(i int) Mem { return Mem{Base: a.acc, Disp: 4*panel*(i/n) + 32*(i%n)} }
		for i := range acc {
			VMOVUPS(at(i), acc[i])
		}
		loop(b, w, 2, func(u int) {
			b.prefetch(PREFETCHT1, n*8*w.size)
			step256(b, w, rows, acc, u)
		})
		for i := range acc {
			VMOVUPS(acc[i], at(i))
		}
	})
}

// step256 generates the products of step k+u. It keeps in registers what is fewer: the
// factors of the rows, or the vectors of weights.
func step256(a args, w width, rows int, acc []reg.VecVirtual, u int) {
	n := len(acc) / rows
	crossed(rows, n, rows <= 3,
		func(r int) reg.VecVirtual { return narrow.dupFloat(a.row(r, u)) },
		func(v int) reg.VecVirtual { return a.weights(narrow, w, u, v) },
		func(r, v int, factor, weights reg.VecVirtual) { VFMADD231PS(weights, factor, acc[r*n+v]) })
}

// weights returns vector v of the weights of step k+u.
func (a args) weights(s isa, w width, u, v int) reg.VecVirtual {
	return s.floats(Mem{Base: a.w, Disp: (u*panel + v*s.size/4) * w.size}, w.size == 2)
}
