// Command matmul writes ../matmul_amd64.s: the kernels that add products to the
// running sums of one panel of a packed matrix.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A width is how the weights of one k become float32 vectors.
type width struct {
	name string // as in tileF16Ref
	size int    // bytes of one weight
}

var widths = []width{{"F32", 4}, {"F16", 2}, {"BF16", 2}}

func main() {
	ConstraintExpr("!purego")
	for _, w := range widths {
		for rows := 1; rows <= 6; rows++ {
			tile512(w, rows)
		}
	}
	widen512("F16")
	widen512("BF16")
	finish512("storeSums")
	finish512("addSums")
	Generate()
}

const panel = 64

// args are the arguments of every tile, in registers.
type args struct {
	acc, x, w, n, ahead reg.GPVirtual
	stride              [6]reg.GPVirtual // stride·1, 3, 5 in bytes at those places
}

// load begins a tile function and loads its arguments.
func load(isa string, w width, rows int) args {
	TEXT(fmt.Sprintf("tile%sx%d%s", w.name, rows, isa), NOSPLIT,
		"func(acc, x *float32, stride int, w *byte, n, ahead int)")
	Doc(fmt.Sprintf("tile%sx%d%s does %d rows of tile%sRef. stride and ahead are in bytes.", w.name, rows, isa, rows, w.name))
	a := args{acc: GP64(), x: GP64(), w: GP64(), n: GP64(), ahead: GP64()}
	Load(Param("acc"), a.acc)
	Load(Param("x"), a.x)
	Load(Param("w"), a.w)
	Load(Param("n"), a.n)
	Load(Param("ahead"), a.ahead)
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

// row returns the address of x[r][k+u].
func (a args) row(r, u int) Mem {
	m := Mem{Base: a.x, Disp: 4 * u}
	switch r {
	case 0:
	case 1, 3, 5:
		m.Index, m.Scale = a.stride[r], 1
	default: // 2, 4
		m.Index, m.Scale = a.stride[1], uint8(r)
	}
	return m
}

// tile512 generates a tile of 64 columns, four vectors.
func tile512(w width, rows int) {
	const vectors, unroll = panel / 16, 4
	a := load("AVX512", w, rows)
	acc := make([]reg.VecVirtual, rows*vectors)
	at := func(i int) Mem { return Mem{Base: a.acc, Disp: 64 * i} }
	for i := range acc {
		acc[i] = ZMM()
		VMOVUPS(at(i), acc[i])
	}
	mask := mask512(w)
	step := func(u int) {
		wide := make([]reg.VecVirtual, vectors)
		for v := range wide {
			wide[v] = ZMM()
			load512(w, Mem{Base: a.w, Disp: u * panel * w.size}, v, wide[v], mask)
		}
		for line := range panel * w.size / 64 {
			PREFETCHT0(Mem{Base: a.w, Index: a.ahead, Scale: 1, Disp: u*panel*w.size + 64*line})
		}
		for r := range rows {
			b := ZMM()
			VBROADCASTSS(a.row(r, u), b)
			for v := range wide {
				VFMADD231PS(wide[v], b, acc[r*vectors+v])
			}
		}
	}
	loop(a, w, unroll, step)
	for i := range acc {
		VMOVUPS(acc[i], at(i))
	}
	VZEROUPPER()
	RET()
}

// loop runs step for all n values of k, unroll at a time and then singly.
func loop(a args, w width, unroll int, step func(u int)) {
	name := func(s string) LabelRef { return LabelRef(s) }
	SUBQ(U8(unroll), a.n)
	JL(name("rest"))
	Label("loop")
	for u := range unroll {
		step(u)
	}
	ADDQ(U32(4*unroll), a.x)
	ADDQ(U32(unroll*panel*w.size), a.w)
	SUBQ(U8(unroll), a.n)
	JGE(name("loop"))
	Label("rest")
	ADDQ(U8(unroll), a.n)
	JZ(name("done"))
	Label("single")
	step(0)
	ADDQ(U8(4), a.x)
	ADDQ(U32(panel*w.size), a.w)
	DECQ(a.n)
	JNZ(name("single"))
	Label("done")
}

// mask512 returns what keeps the upper of two bf16, or nil if w is another type.
func mask512(w width) reg.VecVirtual {
	if w.name != "BF16" {
		return nil
	}
	mask := ZMM()
	VPTERNLOGD(U8(0xff), mask, mask, mask)
	VPSLLD(U8(16), mask, mask)
	return mask
}

// load512 loads vector v of the panel's row k, which is at m.
func load512(w width, m Mem, v int, dst, mask reg.VecVirtual) {
	switch w.name {
	case "F32":
		VMOVUPS(m.Offset(64*v), dst)
	case "F16":
		VCVTPH2PS(m.Offset(32*v), dst)
	case "BF16":
		if pair := m.Offset(64 * (v / 2)); v%2 == 0 {
			VPSLLD(U8(16), pair, dst)
		} else {
			VPANDD(pair, mask, dst)
		}
	}
}

// widen512 generates the conversion of n rows of a packed panel to float32.
func widen512(name string) {
	w := width{name, 2}
	TEXT("widen"+name+"AVX512", NOSPLIT, "func(dst *float32, w *byte, n int)")
	Doc("widen" + name + "AVX512 does widen" + name + "Ref for n rows of a panel.")
	dst, src, n := GP64(), GP64(), GP64()
	Load(Param("dst"), dst)
	Load(Param("w"), src)
	Load(Param("n"), n)
	mask := mask512(w)
	Label("loop")
	for v := range panel / 16 {
		z := ZMM()
		load512(w, Mem{Base: src}, v, z, mask)
		VMOVUPS(z, Mem{Base: dst, Disp: 64 * v})
	}
	ADDQ(U32(2*panel), src)
	ADDQ(U32(4*panel), dst)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// finish512 generates the epilogue for cols ≤ 64 columns.
func finish512(name string) {
	TEXT(name+"AVX512", NOSPLIT, "func(dst, acc, bias *float32, cols, stride, rows int)")
	Doc(name + "AVX512 does " + name + "Ref" + "; stride is in bytes.")
	dst, acc, bias, stride, rows := GP64(), GP64(), GP64(), GP64(), GP64()
	Load(Param("dst"), dst)
	Load(Param("acc"), acc)
	Load(Param("bias"), bias)
	Load(Param("stride"), stride)
	Load(Param("rows"), rows)
	lanes := Load(Param("cols"), reg.RCX)
	Comment("One mask bit per column.")
	bits := GP64()
	MOVQ(I64(-1), bits)
	NEGQ(lanes)
	SHRQ(reg.CL, bits) // by 64-cols, modulo 64
	var masks [4]reg.OpmaskVirtual
	var biases [4]reg.VecVirtual
	for v := range masks {
		masks[v], biases[v] = K(), ZMM()
		KMOVW(bits.As32(), masks[v])
		SHRQ(U8(16), bits)
		VMOVUPS_Z(Mem{Base: bias, Disp: 64 * v}, masks[v], biases[v])
	}
	Label("loop")
	for v := range masks {
		sum, to := ZMM(), Mem{Base: dst, Disp: 64 * v}
		VADDPS(Mem{Base: acc, Disp: 64 * v}, biases[v], sum)
		if name == "addSums" {
			old := ZMM()
			VMOVUPS_Z(to, masks[v], old)
			VADDPS(old, sum, sum)
		}
		VMOVUPS(sum, masks[v], to)
	}
	ADDQ(stride, dst)
	ADDQ(U32(4*panel), acc)
	DECQ(rows)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
