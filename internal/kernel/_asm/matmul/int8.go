package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func int8512() {
	for rows := 1; rows <= 6; rows++ {
		tile512(int8s, rows)
	}
	wide.int8s()
}

func int8256() {
	for rows := 1; rows <= 6; rows++ {
		if rows <= 2 {
			tileBytes256(rows)
		} else {
			tileInt8256(rows)
			tileInt8VNNI(rows)
		}
	}
	widenWords("Unsigned", func(x, y Op) { VPMOVZXBW(x, y) })
	widenWords("Signed", func(x, y Op) { VPMOVSXBW(x, y) })
	narrow.int8s()
}

// widenWords generates the widening of rows of n activations to words.
func widenWords(name string, widen func(x, y Op)) {
	TEXT("widen"+name+"AVX2", NOSPLIT, "func(dst *uint16, x *uint8, stride, n, rows int)")
	Doc("widen"+name+"AVX2 widens n numbers of each of some rows, stride bytes apart; n is a multiple of 16 and not 0.",
		"Rows of dst are wordDepth numbers apart.")
	Pragma("noescape")
	dst, x, stride, n, rows := GP64(), GP64(), GP64(), GP64(), GP64()
	Load(Param("dst"), dst)
	Load(Param("x"), x)
	Load(Param("stride"), stride)
	Load(Param("n"), n)
	Load(Param("rows"), rows)
	k := GP64()
	Label("row")
	XORQ(k, k)
	Label("loop")
	v := YMM()
	widen(Mem{Base: x, Index: k, Scale: 1}, v)
	VMOVDQU(v, Mem{Base: dst, Index: k, Scale: 2})
	ADDQ(U8(16), k)
	CMPQ(k, n)
	JLT(LabelRef("loop"))
	ADDQ(stride, x)
	ADDQ(U32(2*wordDepth), dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// wordDepth is that of package kernel.
const wordDepth = 256

// tileBytes256 generates a tile of one or two rows. Memory delivers weights more slowly than
// they are multiplied, so each is read once, in as few slices as there can be: the odd and
// the even bytes of weights and activations are widened apart, which leaves one sum for
// each column and not two.
func tileBytes256(rows int) {
	a, n := load("AVX2", int8s, rows), 8/rows
	acc := make([]reg.VecVirtual, rows*n)
	for i := range acc {
		acc[i] = YMM()
	}
	low := constant(0x00ff00ff, YMM)
	slices(a, 32*n, 32*n, func(b args) {
		at := func(i int) Mem { return Mem{Base: a.acc, Disp: 4*panel*(i/n) + 32*(i%n)} }
		for i := range acc {
			VMOVDQU(at(i), acc[i])
		}
		loop(b, int8s, 2, func(u int) {
			b.prefetch(32*n, false)
			even, odd := make([]reg.VecVirtual, rows), make([]reg.VecVirtual, rows)
			for r := range rows {
				even[r], odd[r] = YMM(), YMM()
				VPBROADCASTD(b.row(r, u), even[r])
				VPSRLW(U8(8), even[r], odd[r])
				VPAND(low, even[r], even[r])
			}
			for v := range n {
				w, upper := YMM(), YMM()
				VMOVDQU(Mem{Base: b.w, Disp: u*panel*4 + 32*v}, w)
				VPSRAW(U8(8), w, upper)
				VPSLLW(U8(8), w, w)
				VPSRAW(U8(8), w, w)
				for r := range rows {
					sum, product := acc[r*n+v], YMM()
					VPMADDWD(w, even[r], product)
					VPADDD(product, sum, sum)
					VPMADDWD(upper, odd[r], product)
					VPADDD(product, sum, sum)
				}
			}
		})
		for i := range acc {
			VMOVDQU(acc[i], at(i))
		}
	})
}

// tileInt8256 generates a tile that goes through the columns in slices, each over all k.
// Weights are widened to 16 bits here, activations were before. A vector of sums has two
// for each of four columns, over k%4 < 2 and k%4 ≥ 2.
func tileInt8256(rows int) {
	a, n := load("AVX2", words, rows), 2
	acc := make([]reg.VecVirtual, rows*n)
	for i := range acc {
		acc[i] = YMM()
	}
	slices(a, 16*n, 16*n, func(b args) {
		for _, sum := range acc {
			VPXOR(sum, sum, sum)
		}
		loop(b, words, 2, func(u int) {
			b.prefetch(16*n, true)
			for v := 0; v < n; v += 2 {
				var wide [2]reg.VecVirtual
				for i := range wide {
					wide[i] = YMM()
					VPMOVSXBW(Mem{Base: b.w, Disp: u*panel*4 + 16*(v+i)}, wide[i])
				}
				for r := range rows {
					factor, product := YMM(), YMM()
					VPBROADCASTQ(b.row(r, u), factor)
					VPMADDWD(wide[0], factor, product)
					VPADDD(product, acc[r*n+v], acc[r*n+v])
					VPMADDWD(wide[1], factor, factor)
					VPADDD(factor, acc[r*n+v+1], acc[r*n+v+1])
				}
			}
		})
		for r := range rows {
			for v := 0; v < n; v += 2 {
				sum, at := acc[r*n+v], Mem{Base: a.acc, Disp: 4*r*panel + 16*v}
				VPHADDD(acc[r*n+v+1], sum, sum)
				VPERMQ(U8(0xd8), sum, sum)
				VPADDD(at, sum, sum)
				VMOVDQU(sum, at)
			}
		}
	})
}
