package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// int8Tiles generates the tiles of int8 weights.
func int8Tiles() {
	tiles("AVX512", int8s, 1, 6, func(a args, rows int) { tile512(a, int8s, rows) })
	tiles("AVX2", int8s, 1, 2, tileBytes256)
	tiles("AVX2", words, 3, 6, tileWords256)
	tiles("VNNI", int8s, 1, 6, func(a args, rows int) {
		if rows <= 2 {
			tileBytes256(a, rows)
		} else {
			tileInt8VNNI(a, rows)
		}
	})
	widenWords("Unsigned", func(x, y Op) { VPMOVZXBW(x, y) })
	widenWords("Signed", func(x, y Op) { VPMOVSXBW(x, y) })
}

// widenWords generates the widening of rows of n activations to words.
func widenWords(name string, widen func(x, y Op)) {
	function("widen"+name+"AVX2", "func(dst *uint16, x *uint8, stride, n, rows int)",
		"widen"+name+"AVX2 widens n numbers of each of some rows, stride bytes apart; n is a multiple of 16 and not 0.",
		"Rows of dst are wordDepth numbers apart.")
	dst, x, stride, n, rows, k := load64("dst"), load64("x"), load64("stride"), load64("n"), load64("rows"), GP64()
	label("row")
	XORQ(k, k)
	label("loop")
	v := YMM()
	widen(Mem{Base: x, Index: k, Scale: 1}, v)
	VMOVDQU(v, Mem{Base: dst, Index: k, Scale: 2})
	ADDQ(U8(16), k)
	CMPQ(k, n)
	JLT(ref("loop"))
	ADDQ(stride, x)
	ADDQ(U32(2*wordDepth), dst)
	DECQ(rows)
	JNZ(ref("row"))
	ret()
}

// wordDepth is that of package kernel.
const wordDepth = 256

// tileBytes256 generates a tile of one or two rows. Memory delivers weights more slowly than
// they are multiplied, so each is read once, in as few slices as there can be: the odd and
// the even bytes of weights and activations are widened apart, which leaves one sum for
// each column and not two.
func tileBytes256(a args, rows int) {
	n := 8 / rows
	acc := make([]reg.VecVirtual, rows*n)
	for i := range acc {
		acc[i] = YMM()
	}
	low := narrow.words(0x00ff00ff)
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

// tileWords256 generates a tile that goes through the columns in slices, each over all k.
// Weights are widened to 16 bits here, activations were before. A vector of sums has two
// for each of four columns, over k%4 < 2 and k%4 ≥ 2.
func tileWords256(a args, rows int) {
	const n = 2
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

// tileInt8VNNI generates a tile for AVX-VNNI, of processors without AVX-512, for three rows
// and more: fewer are as fast with AVX2. Registers are physical ones, since dotVNNI needs
// their numbers: sums, two of weights, two of activations.
func tileInt8VNNI(a args, rows int) {
	n := 2 // vectors of eight columns in a slice
	if rows == 3 {
		n = 4
	}
	const weights, factors = 12, 14
	slices(a, 32*n, 32*n, func(b args) {
		for i := range rows * n {
			VPXOR(y(i), y(i), y(i))
		}
		loop(b, int8s, 2, func(u int) {
			b.prefetch(32*n, false)
			at := func(v int) Mem { return Mem{Base: b.w, Disp: u*panel*4 + 32*v} }
			for v := 0; v < n; v += 2 {
				VMOVDQU(at(v), y(weights))
				VMOVDQU(at(v+1), y(weights+1))
				for r := range rows {
					VPBROADCASTD(b.row(r, u), y(factors+r%2))
					dotVNNI(r*n+v, factors+r%2, weights)
					dotVNNI(r*n+v+1, factors+r%2, weights+1)
				}
			}
		})
		for r := range rows {
			for v := range n {
				sum, at := y(r*n+v), Mem{Base: a.acc, Disp: 4*r*panel + 32*v}
				VPADDD(at, sum, sum)
				VMOVDQU(sum, at)
			}
		}
	})
}
