//go:build !purego

package kernel

func attendArch() []impl[attendOps] {
	return []impl[attendOps]{
		{"avx512", hasAVX512, attendOps{f32: tilesF32AVX512.run, f16: tilesF16AVX512.run}},
		{"avx2", hasAVX2, attendOps{f32: tilesF32AVX2.run, f16: tilesF16AVX2.run}},
	}
}

var tilesF32AVX512 = attendTable[float32]{tiles: [tileRows]attendFunc[float32]{
	attendF32R1AVX512, attendF32R2AVX512, attendF32R3AVX512, attendF32R4AVX512, attendF32R5AVX512, attendF32R6AVX512,
}}

// With one row, most of the time goes into widening. Zen 4 widens faster with vectors of
// 256 bits. Other processors are bound by memory either way.
var tilesF16AVX512 = attendTable[uint16]{tiles: [tileRows]attendFunc[uint16]{
	attendF16R1AVX2, attendF16R2AVX512, attendF16R3AVX512, attendF16R4AVX512, attendF16R5AVX512, attendF16R6AVX512,
}}

var tilesF32AVX2 = attendTable[float32]{tiles: [tileRows]attendFunc[float32]{
	attendF32R1AVX2, attendF32R2AVX2, attendF32R3AVX2, attendF32R4AVX2, attendF32R5AVX2, attendF32R6AVX2,
}, chunk: 256}

var tilesF16AVX2 = attendTable[uint16]{tiles: [tileRows]attendFunc[uint16]{
	attendF16R1AVX2, attendF16R2AVX2, attendF16R3AVX2, attendF16R4AVX2, attendF16R5AVX2, attendF16R6AVX2,
}, chunk: 128}
