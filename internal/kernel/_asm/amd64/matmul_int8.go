package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// int8Tiles generates the tiles of int8 weights.
func int8Tiles() {
	tiles("AVX512", int8s, 1, 6, func(a args, rows int) { tile512(a, int8s, rows) })
	upper := quadwords("upperBytes", 0xff00ff00ff00ff00) // of words
	tiles("AVX2", int8s, 1, 2, func(a args, rows int) { tileInt8256(a, int8s, rows, upper) })
	tiles("AVX2", words, 3, 12, func(a args, rows int) { tileInt8256(a, words, rows, upper) })
	signs := quadwords("signBits", 0x8080808080808080) // of bytes
	tiles("AVX2", packedBy4, 3, 11, func(a args, rows int) { tilePackedBy4(a, rows, signs) })
	withoutOutliers(signs)
	addOutliers()
	tiles("VNNI", int8s, 1, 6, func(a args, rows int) {
		if rows <= 2 {
			tileInt8256(a, int8s, rows, upper)
		} else {
			tileInt8VNNI(a, rows)
		}
	})
	evens := GLOBL("evensFirst", attr.RODATA|attr.NOPTR) // of the four bytes of a word
	for i := range 4 {
		DATA(4*i, U32(0x03010200+uint32(4*i)*0x01010101))
	}
	widenWords("Unsigned", evens, func(x, y Op) { VPMOVZXBW(x, y) })
	widenWords("Signed", evens, func(x, y Op) { VPMOVSXBW(x, y) })
}

// widenWords generates the widening of rows of n activations to words, n being a positive multiple
// of 16. Of four, the second changes its place with the third. Rows are stride bytes apart, and
// wordDepth numbers in dst.
func widenWords(name string, evens Mem, widen func(x, y Op)) {
	function("widen"+name+"AVX2", "(dst *uint16, x *uint8, stride, n, rows int)")
	dst, x, stride, n, rows, k := load64("dst"), load64("x"), load64("stride"), load64("n"), load64("rows"), GP64()
	order := XMM()
	VMOVDQU(evens, order)
	label("row")
	XORQ(k, k)
	label("loop")
	bytes, v := XMM(), YMM()
	VMOVDQU(Mem{Base: x, Index: k, Scale: 1}, bytes)
	VPSHUFB(order, bytes, bytes)
	widen(bytes, v)
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

// These are those of package kernel.
const (
	wordDepth     = 256
	mostPackedBy4 = 128
)

// vectors256 is how many vectors of eight columns are summed at a time for so many rows.
func vectors256(rows int) int { return [12]int{8, 4, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1}[rows-1] }

// unroll256 is how many steps a loop has: more rows fill it.
func unroll256(rows int) int {
	if rows < 4 {
		return 2
	}
	return 1
}

// products256 generates products of rows with n vectors of eight columns and four k: of the
// bytes with even k, and of those with odd k, as words, so that a column has one sum. split
// loads a vector in both parts, factor the numbers of a row for one of them. What is fewer
// stays in registers.
func products256(rows, n int, sums []reg.VecVirtual, split func(v int, even, odd reg.VecVirtual), factor func(r, odd int) reg.VecVirtual) {
	weights := func(v int) []reg.VecVirtual {
		w := narrow.registers(2)
		split(v, w[0], w[1])
		return w
	}
	add := func(w, f, sum reg.VecVirtual) {
		product := YMM()
		VPMADDWD(w, f, product)
		VPADDD(product, sum, sum)
	}
	if rows <= 2 {
		factors := func(r int) [2]reg.VecVirtual { return [2]reg.VecVirtual{factor(r, 0), factor(r, 1)} }
		crossed(rows, n, true, factors, weights, func(r, v int, f [2]reg.VecVirtual, w []reg.VecVirtual) {
			add(w[0], f[0], sums[r*n+v])
			add(w[1], f[1], sums[r*n+v])
		})
		return
	}
	half := func(i int) reg.VecVirtual { return factor(i/2, i%2) }
	crossed(2*rows, n, false, half, weights, func(i, v int, f reg.VecVirtual, w []reg.VecVirtual) {
		add(w[i%2], f, sums[i/2*n+v])
	})
}

// tileInt8256 generates a tile for at most wordDepth k: sums are 256 times what they will be,
// since of a word of two weights one is taken by shifting it up, and one by a mask. Up to two
// rows, which are bound by memory, take bytes of activations apart here; more rows were
// widened before, and lie wordDepth words apart.
func tileInt8256(a args, w width, rows int, upper Mem) {
	n := vectors256(rows)
	sums := narrow.registers(rows * n)
	var mask Op = upper
	if len(sums)+2*n < 14 || rows <= 2 { // there is a register left; few rows need the other bytes, too
		mask = narrow.words(0xff00ff00)
	}
	unroll := unroll256(rows)
	if w.step != 4 && unroll == 2 {
		SHLQ(U8(1), a.pace)
	}
	inSlices(a, 32*n, 32*n, func(b args) {
		for _, sum := range sums {
			VPXOR(sum, sum, sum)
		}
		loop(b, w, unroll, func(u int) {
			factor := func(r, odd int) reg.VecVirtual { return wordFactor(b.x, r, u, odd) }
			if w.step == 4 {
				b.prefetch(PREFETCHT1, 32*n)
				factor = func(r, odd int) reg.VecVirtual {
					f := narrow.dup(b.row(r, u))
					if odd == 1 {
						VPSRLW(U8(8), f, f)
					} else {
						VPANDN(f, mask, f)
					}
					return f
				}
			} else if u == 0 {
				b.prefetch(PREFETCHT0, 32*n*unroll)
			}
			products256(rows, n, sums, func(v int, even, odd reg.VecVirtual) {
				VMOVDQU(Mem{Base: b.w, Disp: u*4*panel + 32*v}, odd)
				VPSLLW(U8(8), odd, even)
				VPAND(mask, odd, odd)
			}, factor)
		})
		for i, sum := range sums {
			VPSRAD(U8(8), sum, sum)
			gain(Mem{Base: a.acc, Disp: 4*panel*(i/n) + 32*(i%n)}, sum)
		}
	})
}

// wordFactor returns two activations of row r, of those of four k that are even or odd, in all
// lanes.
func wordFactor(x reg.GPVirtual, r, u, odd int) reg.VecVirtual {
	return narrow.dup(Mem{Base: x, Disp: 2*wordDepth*r + 8*u + 4*odd})
}

// gain adds sums to those in memory.
func gain(to Mem, sum reg.Register) {
	VPADDD(to, sum, sum)
	VMOVDQU(sum, to)
}

// tilePackedBy4 generates a tile for activations without outliers: of eight k, four products of an
// unsigned weight and a signed activation are summed in 16 bits. There may be four k left.
func tilePackedBy4(a args, rows int, signs Mem) {
	SHLQ(U8(1), a.pace)
	inSlices(a, 32, 32, func(b args) {
		ones, sums := narrow.words(0x00010001), narrow.registers(rows)
		for _, sum := range sums {
			VPXOR(sum, sum, sum)
		}
		step := func(quads int) {
			weights := narrow.registers(quads)
			for i, w := range weights {
				VMOVDQU(Mem{Base: b.w, Disp: 4 * panel * i}, w)
				VPXOR(signs, w, w)
			}
			for r, sum := range sums {
				products := make([]reg.VecVirtual, quads)
				for i, w := range weights {
					products[i] = narrow.dup(Mem{Base: b.x, Disp: wordDepth*r + 4*i})
					VPMADDUBSW(products[i], w, products[i])
				}
				if quads == 2 {
					VPADDW(products[1], products[0], products[0])
				}
				VPMADDWD(ones, products[0], products[0])
				VPADDD(products[0], sum, sum)
			}
		}
		SUBQ(U8(2), b.n)
		JL(ref("rest"))
		label("loop")
		b.prefetch(PREFETCHT0, 64)
		step(2)
		ADDQ(U8(8), b.x)
		ADDQ(U32(8*panel), b.w)
		SUBQ(U8(2), b.n)
		JGE(ref("loop"))
		label("rest")
		ADDQ(U8(2), b.n)
		JZ(ref("done"))
		step(1)
		label("done")
		for r, sum := range sums {
			gain(Mem{Base: a.acc, Disp: 4 * panel * r}, sum)
		}
	})
}

// withoutOutliers generates signedRef for n numbers, a positive multiple of 32.
func withoutOutliers(signs Mem) {
	function("signedAVX2", "(dst, x *uint8, n int, found *uint32) int32")
	dst, x, n, found := load64("dst"), load64("x"), load64("n"), load64("found")
	ones, most, zero, sum := narrow.bytes(1), narrow.words(mostPackedBy4<<16|mostPackedBy4), YMM(), YMM()
	VPXOR(zero, zero, zero)
	VMOVDQU(zero, sum)
	total := GP64()
	MOVQ(n, total)
	SHLQ(U8(7), total)
	NEGQ(total)
	label("loop")
	v, above, below := YMM(), YMM(), YMM()
	VMOVDQU(at(x), v)
	VPSADBW(zero, v, above)
	VPADDD(above, sum, sum)
	VPXOR(signs, v, v)
	VMOVDQU(v, at(dst))
	VPMAXSB(zero, v, above)
	VPSUBB(v, above, below)
	for _, part := range []reg.VecVirtual{above, below} {
		other := YMM()
		VPMADDUBSW(ones, part, part)
		VPSHUFD(U8(0xb1), part, other)
		VPADDW(other, part, part)
	}
	VPMAXSW(below, above, above)
	VPCMPGTW(most, above, above)
	mask := GP32()
	VPMOVMSKB(above, mask)
	MOVL(mask, at(found))
	ADDQ(U8(32), x)
	ADDQ(U8(32), dst)
	ADDQ(U8(4), found)
	SUBQ(U8(32), n)
	JNZ(ref("loop"))
	low := GP32()
	VMOVD(narrow.reduce(sum, func(a, b, to Op) { VPADDD(a, b, to) }), low)
	ADDL(total.As32(), low)
	Store(low, ReturnIndex(0))
	ret()
}

// addOutliers generates what follows the tiles of some rows: to each row of a panel's sums go its
// start, less the offsets, and the products of its outliers. Lists of two rows are most apart.
func addOutliers() {
	function("addOutliersAVX2", "(acc, offset, start, list, count *int32, most int, w *byte, rows int)")
	acc, offset, start, list, count := load64("acc"), load64("offset"), load64("start"), load64("list"), load64("count")
	most, w, rows := load64("most"), load64("w"), load64("rows")
	SHLQ(U8(3), most) // bytes of an outlier
	ones := narrow.words(0x00010001)
	label("row")
	first := narrow.dup(at(start))
	sums := narrow.registers(panel / 8)
	for i, sum := range sums {
		VPADDD(at(acc).Offset(32*i), first, sum)
		VPSUBD(at(offset).Offset(32*i), sum, sum)
	}
	left, next := GP64(), GP64()
	MOVLQSX(at(count), left)
	MOVQ(list, next)
	TESTQ(left, left)
	JZ(ref("done"))
	label("outlier")
	k := GP64()
	MOVLQSX(at(next), k)
	four, sizes := narrow.dup(at(next).Offset(4)), YMM()
	VPABSB(four, sizes)
	for i, sum := range sums {
		product := YMM()
		VMOVDQU(Mem{Base: w, Index: k, Scale: 1, Disp: 32 * i}, product)
		VPSIGNB(four, product, product)
		VPMADDUBSW(product, sizes, product)
		VPMADDWD(ones, product, product)
		VPADDD(product, sum, sum)
	}
	ADDQ(U8(8), next)
	DECQ(left)
	JNZ(ref("outlier"))
	label("done")
	for i, sum := range sums {
		VMOVDQU(sum, at(acc).Offset(32*i))
	}
	ADDQ(U32(4*panel), acc)
	ADDQ(U8(4), start)
	ADDQ(U8(4), count)
	ADDQ(most, list)
	DECQ(rows)
	JNZ(ref("row"))
	ret()
}

// tileInt8VNNI generates a tile for AVX-VNNI, of processors without AVX-512, for three rows
// and more: fewer are as fast with AVX2. Registers are physical ones: see productsVNNI.
func tileInt8VNNI(a args, rows int) {
	n := 2 // vectors of eight columns in a slice
	if rows == 3 {
		n = 4
	}
	inSlices(a, 32*n, 32*n, func(b args) {
		for i := range rows * n {
			VPXOR(y(i), y(i), y(i))
		}
		loop(b, int8s, unroll256(rows), func(u int) {
			b.prefetch(PREFETCHT1, 32*n)
			productsVNNI(rows, n, Mem{Base: b.w, Disp: u * panel * 4}, func(r int) Mem { return b.row(r, u) },
				func(sum, weights, factor int) { dotVNNI(sum, factor, weights) })
		})
		for i := range rows * n {
			gain(Mem{Base: a.acc, Disp: 4*panel*(i/n) + 32*(i%n)}, y(i))
		}
	})
}

// productsVNNI generates products of rows with n vectors, two at a time, by dot. It
// takes numbers of registers, as dotVNNI does: sums come first, then two vectors, then two rows.
func productsVNNI(rows, n int, from Mem, row func(r int) Mem, dot func(sum, vector, row int)) {
	const vectors, factors = 12, 14
	for v := 0; v < n; v += 2 {
		VMOVDQU(from.Offset(32*v), y(vectors))
		VMOVDQU(from.Offset(32*(v+1)), y(vectors+1))
		for r := range rows {
			factor := factors + r%2
			VPBROADCASTD(row(r), y(factor))
			dot(r*n+v, vectors, factor)
			dot(r*n+v+1, vectors+1, factor)
		}
	}
}
