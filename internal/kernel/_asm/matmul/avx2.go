package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func avx2() {
	for _, w := range floats {
		for rows := 1; rows <= 6; rows++ {
			tile256(w, rows)
		}
	}
	widen256(floats[1])
	widen256(floats[2])
	finish256("storeSums")
	finish256("addSums")
}

// vectors256 is how many vectors of 8 columns are summed at a time. The sums of more
// would not fit 16 registers.
func vectors256(rows int) int { return []int{8, 4, 4, 2, 2, 2}[rows-1] }

// tile256 generates a tile that goes through the columns in slices, each over all k.
func tile256(w width, rows int) {
	a := load("AVX2", w, rows)
	all := loadOrder(w)
	n := vectors256(rows)
	for first := 0; first < len(all); first += n {
		slice256(a, w, rows, all[first:first+n], first == 0)
	}
	VZEROUPPER()
	RET()
}

// A lane is a vector of 8 columns: where its sums and its weights lie in a row of
// the panel. bf16 columns c and c+16 share 32 bits, of which upper tells.
type lane struct {
	column, offset int
	upper          bool
}

// loadOrder returns the vectors of a panel, those that share weights side by side.
func loadOrder(w width) (all []lane) {
	for v := range panel / 8 {
		switch w.name {
		case "BF16":
			all = append(all, lane{v/4*32 + v/2%2*8 + v%2*16, v / 2 * 32, v%2 == 1})
		default:
			all = append(all, lane{v * 8, v * 8 * w.size, false})
		}
	}
	return all
}

// slice256 generates one slice. The first one prefetches.
func slice256(a args, w width, rows int, lanes []lane, first bool) {
	const unroll = 2
	b := a.again()
	acc := make([]reg.VecVirtual, rows*len(lanes))
	at := func(i int) Mem {
		return Mem{Base: a.acc, Disp: 4 * (i/len(lanes)*panel + lanes[i%len(lanes)].column)}
	}
	for i := range acc {
		acc[i] = YMM()
		VMOVUPS(at(i), acc[i])
	}
	loop(b, w, unroll, fmt.Sprint("At", lanes[0].column), func(u int) {
		if first {
			b.prefetch(w, false)
		}
		step256(b, w, rows, lanes, acc, u)
	})
	for i := range acc {
		VMOVUPS(acc[i], at(i))
	}
}

// step256 generates the products of step k+u. It keeps in registers what is fewer: the
// factors of the rows, or the vectors of weights.
func step256(a args, w width, rows int, lanes []lane, acc []reg.VecVirtual, u int) {
	at := Mem{Base: a.w, Disp: u * panel * w.size}
	if rows <= 3 {
		factors := make([]reg.VecVirtual, rows)
		for r := range factors {
			factors[r] = YMM()
			VBROADCASTSS(a.row(r, u), factors[r])
		}
		for v, l := range lanes {
			wide := YMM()
			load256(w, at, l, wide)
			for r := range rows {
				VFMADD231PS(wide, factors[r], acc[r*len(lanes)+v])
			}
		}
		return
	}
	wide := make([]reg.VecVirtual, len(lanes))
	for v, l := range lanes {
		wide[v] = YMM()
		load256(w, at, l, wide[v])
	}
	for r := range rows {
		factor := YMM()
		VBROADCASTSS(a.row(r, u), factor)
		for v := range lanes {
			VFMADD231PS(wide[v], factor, acc[r*len(lanes)+v])
		}
	}
}

// load256 loads vector l of the panel's row k, which is at m.
func load256(w width, m Mem, l lane, dst reg.VecVirtual) {
	m = m.Offset(l.offset)
	switch {
	case w.name == "F32":
		VMOVUPS(m, dst)
	case w.name == "F16":
		VCVTPH2PS(m, dst)
	case l.upper:
		VMOVUPS(m, dst)
		VANDPS(upperHalves(), dst, dst)
	default:
		VMOVDQU(m, dst)
		VPSLLD(U8(16), dst, dst)
	}
}

var upper Mem

// upperHalves is a constant: the mask of the upper half of each 32 bits.
func upperHalves() Mem {
	if upper.Symbol.Name == "" {
		upper = GLOBL("upperHalves", RODATA|NOPTR)
		for i := range 8 {
			DATA(4*i, U32(0xffff0000))
		}
	}
	return upper
}

// widen256 generates the conversion of n rows of a packed panel to float32.
func widen256(w width) {
	TEXT("widen"+w.name+"AVX2", NOSPLIT, "func(dst *float32, w *byte, n int)")
	Doc("widen" + w.name + "AVX2 does widen" + w.name + "Ref for n rows of a panel.")
	dst, src, n := GP64(), GP64(), GP64()
	Load(Param("dst"), dst)
	Load(Param("w"), src)
	Load(Param("n"), n)
	Label("loop")
	for _, l := range loadOrder(w) {
		y := YMM()
		load256(w, Mem{Base: src}, l, y)
		VMOVUPS(y, Mem{Base: dst, Disp: 4 * l.column})
	}
	ADDQ(U32(panel*w.size), src)
	ADDQ(U32(4*panel), dst)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// finish256 generates the epilogue for all 64 columns.
func finish256(name string) {
	TEXT(name+"AVX2", NOSPLIT, "func(dst, acc, bias *float32, stride, rows int)")
	Doc(name + "AVX2 does " + name + "Ref for 64 columns; stride is in bytes.")
	dst, acc, bias, stride, rows := GP64(), GP64(), GP64(), GP64(), GP64()
	Load(Param("dst"), dst)
	Load(Param("acc"), acc)
	Load(Param("bias"), bias)
	Load(Param("stride"), stride)
	Load(Param("rows"), rows)
	biases := make([]reg.VecVirtual, panel/8)
	for v := range biases {
		biases[v] = YMM()
		VMOVUPS(Mem{Base: bias, Disp: 32 * v}, biases[v])
	}
	Label("loop")
	for v := range biases {
		sum, to := YMM(), Mem{Base: dst, Disp: 32 * v}
		VADDPS(Mem{Base: acc, Disp: 32 * v}, biases[v], sum)
		if name == "addSums" {
			VADDPS(to, sum, sum)
		}
		VMOVUPS(sum, to)
	}
	ADDQ(stride, dst)
	ADDQ(U32(4*panel), acc)
	DECQ(rows)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
