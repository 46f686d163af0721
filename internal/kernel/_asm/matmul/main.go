// Command matmul writes the kernels that add products to the running sums of one panel of
// a packed matrix, and the conversions and epilogues around them: with -kernels avx512 or
// avx2 those of floating point, with int8 those of int8 products.
package main

import (
	"flag"
	"fmt"
	"log"
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
	floats = []width{{"F32", 4, "float32", "float32", 4}, {"F16", 2, "float32", "float32", 4}}
	int8s  = width{"Int8", 4, "int32", "uint8", 4} // a step is four k, of x and of weights
	words  = width{"Int8", 4, "int32", "uint16", 8}
)

func main() {
	kernels := flag.String("kernels", "", "which to write")
	flag.Parse()
	ConstraintExpr("!purego")
	switch *kernels {
	case "avx512":
		avx512()
	case "avx2":
		avx2()
	case "int8":
		int8512()
		int8256()
	default:
		log.Fatalf("matmul: no kernels %q", *kernels)
	}
	Generate()
}

const panel = 64

// args are the arguments of every tile, in registers.
type args struct {
	acc, x, w, n reg.GPVirtual
	stride       [6]reg.GPVirtual // stride·1, 3, 5 in bytes at those places
	ahead, pace  reg.GPVirtual    // what to prefetch next, and the bytes per k
	step         int              // as in width
}

// load begins a tile function, an asmTile or its like, and loads its arguments.
func load(isa string, w width, rows int) args {
	TEXT(fmt.Sprintf("tile%sx%d%s", w.name, rows, isa), NOSPLIT,
		fmt.Sprintf("func(acc *%s, x *%s, stride int, w *byte, n, ahead, pace int)", w.sums, w.x))
	a := args{step: w.step, acc: GP64(), x: GP64(), w: GP64(), n: GP64(), ahead: GP64(), pace: GP64()}
	Load(Param("acc"), a.acc)
	Load(Param("x"), a.x)
	Load(Param("w"), a.w)
	Load(Param("n"), a.n)
	Load(Param("ahead"), a.ahead)
	ADDQ(a.w, a.ahead)
	Load(Param("pace"), a.pace)
	if rows > 1 {
		a.stride[1] = GP64()
		Load(Param("stride"), a.stride[1])
	}
	if rows > 3 {
		a.stride[3] = GP64()
		LEAQ(Mem{Base: a.stride[1], Index: a.stride[1], Scale: 2}, a.stride[3])
	}
	if rows > 5 {
		a.stride[5] = GP64()
		LEAQ(Mem{Base: a.stride[1], Index: a.stride[1], Scale: 4}, a.stride[5])
	}
	return a
}

// slices generates a loop that does body for one slice of a panel's columns after the
// other, each over all k, and ends the function. A slice has bytes of the weights of one k
// (of four, for int8), and sums of them in a row. body gets copies of the registers that
// it moves on, but for ahead: each slice prefetches its share of what follows.
func slices(a args, bytes, sums int, body func(b args)) {
	count := 4 * panel / sums
	left, b := GP64(), a
	if count > 1 {
		MOVQ(U32(count), left)
		b.x, b.w, b.n = GP64(), GP64(), GP64()
		SHRQ(U8(bits.TrailingZeros(uint(count))), a.pace)
		Label("slice")
		MOVQ(a.x, b.x)
		MOVQ(a.w, b.w)
		MOVQ(a.n, b.n)
	}
	body(b)
	if count > 1 {
		ADDQ(U32(sums), a.acc)
		ADDQ(U32(bytes), a.w)
		DECQ(left)
		JNZ(LabelRef("slice"))
	}
	VZEROUPPER()
	RET()
}

// row returns the address of x[r] at step k+u.
func (a args) row(r, u int) Mem {
	m := Mem{Base: a.x, Disp: a.step * u}
	switch r {
	case 0:
	case 1, 3, 5:
		m.Index, m.Scale = a.stride[r], 1
	default: // 2, 4
		m.Index, m.Scale = a.stride[1], uint8(r)
	}
	return m
}

// prefetch asks for so many bytes of weights further on: by a.pace for each k, which may
// be less than one k has. Near is the first-level cache, else it is the second.
func (a args) prefetch(bytes int, near bool) {
	for at := 0; at < bytes; at += 64 {
		if m := (Mem{Base: a.ahead, Disp: at}); near {
			PREFETCHT0(m)
		} else {
			PREFETCHT1(m)
		}
	}
	ADDQ(a.pace, a.ahead)
}

// loop runs step for all n values of k, unroll at a time and then singly, moving
// a.x and a.w on. step(u) does k+u.
func loop(a args, w width, unroll int, step func(u int)) {
	Comment("unroll values of k at a time, then single ones")
	SUBQ(U8(unroll), a.n)
	JL(LabelRef("rest"))
	Label("loop")
	for u := range unroll {
		step(u)
	}
	ADDQ(U8(w.step*unroll), a.x)
	ADDQ(U32(unroll*panel*w.size), a.w)
	SUBQ(U8(unroll), a.n)
	JGE(LabelRef("loop"))
	Label("rest")
	ADDQ(U8(unroll), a.n)
	JZ(LabelRef("done"))
	Label("single")
	step(0)
	ADDQ(U8(w.step), a.x)
	ADDQ(U32(panel*w.size), a.w)
	DECQ(a.n)
	JNZ(LabelRef("single"))
	Label("done")
}
