package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func avx512() {
	for _, w := range floats {
		for rows := 1; rows <= 6; rows++ {
			tile512(w, rows)
		}
	}
	widen512(floats[1])
	finish512("storeSums")
	finish512("addSums")
}

// tile512 generates a tile: rows by four vectors of sums, up to 24. Up to four rows of
// int8 prefetch into the first-level cache: Zen 5 is up to 9 % faster so. More rows are
// those of long products, whose next weights are too many for it.
func tile512(w width, rows int) {
	const vectors, unroll = panel / 16, 4
	near := w.name == "Int8" && rows <= 4
	a := load("AVX512", w, rows)
	acc := make([]reg.VecVirtual, rows*vectors)
	at := func(i int) Mem { return Mem{Base: a.acc, Disp: 64 * i} }
	for i := range acc {
		acc[i] = ZMM()
		VMOVUPS(at(i), acc[i])
	}
	loop(a, w, unroll, func(u int) {
		wide := make([]reg.VecVirtual, vectors)
		for v := range wide {
			wide[v] = ZMM()
			load512(w, Mem{Base: a.w, Disp: u * panel * w.size}, v, wide[v])
		}
		a.prefetch(panel*w.size, near)
		for r := range rows {
			factor := ZMM()
			if w.name == "Int8" {
				VPBROADCASTD(a.row(r, u), factor)
			} else {
				VBROADCASTSS(a.row(r, u), factor)
			}
			for v := range wide {
				if w.name == "Int8" {
					VPDPBUSD(wide[v], factor, acc[r*vectors+v])
				} else {
					VFMADD231PS(wide[v], factor, acc[r*vectors+v])
				}
			}
		}
	})
	for i := range acc {
		VMOVUPS(acc[i], at(i))
	}
	VZEROUPPER()
	RET()
}

// load512 loads vector v of the panel's row k, which is at m.
func load512(w width, m Mem, v int, dst reg.VecVirtual) {
	switch w.name {
	case "F32", "Int8":
		VMOVUPS(m.Offset(64*v), dst)
	case "F16":
		VCVTPH2PS(m.Offset(32*v), dst)
	}
}

// widen512 generates the conversion of n rows of a packed panel to float32.
func widen512(w width) {
	TEXT("widen"+w.name+"AVX512", NOSPLIT, "func(dst *float32, w *byte, n int)")
	Doc("widen" + w.name + "AVX512 does widen" + w.name + "Ref for n rows of a panel.")
	dst, src, n := GP64(), GP64(), GP64()
	Load(Param("dst"), dst)
	Load(Param("w"), src)
	Load(Param("n"), n)
	Label("loop")
	for v := range panel / 16 {
		z := ZMM()
		load512(w, Mem{Base: src}, v, z)
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
	masks := columnMasks()
	var biases [4]reg.VecVirtual
	for v := range masks {
		biases[v] = ZMM()
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

// columnMasks returns the masks of the first cols columns of a panel.
func columnMasks() (masks [4]reg.OpmaskVirtual) {
	lanes := Load(Param("cols"), reg.RCX)
	bits := GP64()
	MOVQ(I64(-1), bits)
	NEGQ(lanes)
	SHRQ(reg.CL, bits) // by 64-cols: the count is modulo 64
	for v := range masks {
		masks[v] = K()
		KMOVW(bits.As32(), masks[v])
		SHRQ(U8(16), bits)
	}
	return masks
}
