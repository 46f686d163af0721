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
	maxAbs("AVX512", ZMM, 16)
	quantise512()
	finishInt8512("store")
	finishInt8512("add")
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
	maxAbs("AVX2", YMM, 8)
	quantise256()
	finishInt8256("store")
	finishInt8256("add")
}

// constant returns a vector of 32-bit elements bits.
func constant(bits uint32, vector func() reg.VecVirtual) reg.VecVirtual {
	r, x, v := GP32(), XMM(), vector()
	MOVL(U32(bits), r)
	VMOVD(r, x)
	VPBROADCASTD(x, v)
	return v
}

// maxAbs generates the maximum over n elements, a positive multiple of 16.
func maxAbs(isa string, vector func() reg.VecVirtual, lanes int) {
	TEXT("maxAbs"+isa, NOSPLIT, "func(x *float32, n int) uint32")
	Doc("maxAbs" + isa + " does maxAbsRef for n elements, a positive multiple of 16.")
	x, n := GP64(), GP64()
	Load(Param("x"), x)
	Load(Param("n"), n)
	mask, largest := constant(0x7fffffff, vector), constant(0, vector)
	Label("loop")
	for at := 0; at < 16; at += lanes {
		v := vector()
		VMOVUPS(Mem{Base: x, Disp: 4 * at}, v)
		and(mask, v)
		VPMAXUD(v, largest, largest)
	}
	ADDQ(U8(64), x)
	SUBQ(U8(16), n)
	JNZ(LabelRef("loop"))
	Comment("Fold the lanes.")
	if lanes == 16 {
		half := YMM()
		VEXTRACTF64X4(U8(1), largest, half)
		VPMAXUD(half, largest.AsY(), largest.AsY())
	}
	quarter := XMM()
	VEXTRACTI128(U8(1), largest.AsY(), quarter)
	low := XMM()
	VPMAXUD(quarter, largest.AsX(), low)
	for _, order := range []uint8{0x4e, 0xb1} {
		other := XMM()
		VPSHUFD(U8(order), low, other)
		VPMAXUD(other, low, low)
	}
	result := GP32()
	VMOVD(low, result)
	Store(result, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

func and(mask, v reg.VecVirtual) {
	if v.Size() == 64 {
		VPANDD(mask, v, v)
	} else {
		VPAND(mask, v, v)
	}
}

// magic is 1.5·2²³, as in roundInt8.
const magic = 0x4b400000

func quantise512() {
	dst, x, n, inverse := quantiseArgs("AVX512")
	by := ZMM()
	VBROADCASTSS(inverse, by)
	round, offset := constant(magic, ZMM), constant(128, ZMM)
	Label("loop")
	v := ZMM()
	VMULPS(Mem{Base: x}, by, v)
	VADDPS(round, v, v)
	VPADDD(offset, v, v)
	VPMOVDB(v, Mem{Base: dst})
	quantiseNext(dst, x, n)
}

func quantise256() {
	dst, x, n, inverse := quantiseArgs("AVX2")
	by := YMM()
	VBROADCASTSS(inverse, by)
	round, offset, low := constant(magic, YMM), constant(128, YMM), constant(0xff, YMM)
	Label("loop")
	var half [2]reg.VecVirtual
	for i := range half {
		v := YMM()
		VMULPS(Mem{Base: x, Disp: 32 * i}, by, v)
		VADDPS(round, v, v)
		VPADDD(offset, v, v)
		VPAND(low, v, v)
		half[i] = v
	}
	Comment("Pack to words, then to bytes, and put the quarters in order.")
	words, bytes := YMM(), XMM()
	VPACKUSDW(half[1], half[0], words)
	VPERMQ(U8(0xd8), words, words)
	VEXTRACTI128(U8(1), words, bytes)
	VPACKUSWB(bytes, words.AsX(), bytes)
	VMOVDQU(bytes, Mem{Base: dst})
	quantiseNext(dst, x, n)
}

func quantiseArgs(isa string) (dst, x, n reg.GPVirtual, inverse Mem) {
	TEXT("quantise"+isa, NOSPLIT, "func(dst *uint8, x *float32, n int, inverse float32)")
	Doc("quantise" + isa + " does quantiseRef for n elements, a positive multiple of 16.")
	dst, x, n = GP64(), GP64(), GP64()
	Load(Param("dst"), dst)
	Load(Param("x"), x)
	Load(Param("n"), n)
	return dst, x, n, NewParamAddr("inverse", 24)
}

func quantiseNext(dst, x, n reg.GPVirtual) {
	ADDQ(U8(64), x)
	ADDQ(U8(16), dst)
	SUBQ(U8(16), n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
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

func finishInt8512(name string) {
	f := loadFinishInt8(name, "AVX512", "cols, ", "for cols ≤ 64 columns")
	masks := columnMasks()
	var offsets, scales, biases [4]reg.VecVirtual
	for v := range masks {
		offsets[v], scales[v], biases[v] = ZMM(), ZMM(), ZMM()
		VMOVDQU32_Z(Mem{Base: f.offset, Disp: 64 * v}, masks[v], offsets[v])
		VMOVUPS_Z(Mem{Base: f.scale, Disp: 64 * v}, masks[v], scales[v])
		VMOVUPS_Z(Mem{Base: f.bias, Disp: 64 * v}, masks[v], biases[v])
	}
	Label("loop")
	row := ZMM()
	VBROADCASTSS(Mem{Base: f.xScale}, row)
	for v := range masks {
		by, sum, to := ZMM(), ZMM(), Mem{Base: f.dst, Disp: 64 * v}
		VMULPS(row, scales[v], by)
		VPADDD(Mem{Base: f.acc, Disp: 64 * v}, offsets[v], sum)
		VCVTDQ2PS(sum, sum)
		VMULPS(by, sum, sum)
		VADDPS(biases[v], sum, sum)
		if name == "add" {
			old := ZMM()
			VMOVUPS_Z(to, masks[v], old)
			VADDPS(old, sum, sum)
		}
		VMOVUPS(sum, masks[v], to)
	}
	f.next()
}

func finishInt8256(name string) {
	f := loadFinishInt8(name, "AVX2", "", "for 64 columns")
	Label("loop")
	row := YMM()
	VBROADCASTSS(Mem{Base: f.xScale}, row)
	for v := range panel / 8 {
		by, sum, to := YMM(), YMM(), Mem{Base: f.dst, Disp: 32 * v}
		VMULPS(Mem{Base: f.scale, Disp: 32 * v}, row, by)
		VMOVDQU(Mem{Base: f.acc, Disp: 32 * v}, sum)
		VPADDD(Mem{Base: f.offset, Disp: 32 * v}, sum, sum)
		VCVTDQ2PS(sum, sum)
		VMULPS(by, sum, sum)
		VADDPS(Mem{Base: f.bias, Disp: 32 * v}, sum, sum)
		if name == "add" {
			VADDPS(to, sum, sum)
		}
		VMOVUPS(sum, to)
	}
	f.next()
}

// finishInt8 are the arguments of an epilogue, in registers.
type finishInt8 struct {
	dst, acc, offset, xScale, scale, bias, stride, rows reg.GPVirtual
}

func loadFinishInt8(name, isa, cols, doc string) finishInt8 {
	TEXT(name+"Int8"+isa, NOSPLIT,
		"func(dst *float32, acc, offset *int32, xScale, scale, bias *float32, "+cols+"stride, rows int)")
	Doc(name + "Int8" + isa + " does " + name + "Int8Ref " + doc + "; stride is in bytes.")
	f := finishInt8{GP64(), GP64(), GP64(), GP64(), GP64(), GP64(), GP64(), GP64()}
	Load(Param("dst"), f.dst)
	Load(Param("acc"), f.acc)
	Load(Param("offset"), f.offset)
	Load(Param("xScale"), f.xScale)
	Load(Param("scale"), f.scale)
	Load(Param("bias"), f.bias)
	Load(Param("stride"), f.stride)
	Load(Param("rows"), f.rows)
	return f
}

// next ends the loop over rows, and the function.
func (f finishInt8) next() {
	ADDQ(f.stride, f.dst)
	ADDQ(U32(4*panel), f.acc)
	ADDQ(U8(4), f.xScale)
	DECQ(f.rows)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
