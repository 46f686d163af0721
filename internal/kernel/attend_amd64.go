//go:build !purego

package kernel

func attendArch() []impl[attendOps] {
	return []impl[attendOps]{
		{"avx512", hasAVX512, attendOps{f32: tilesF32AVX512.run, f16: tilesF16AVX512.run}},
		{"avx2", hasAVX2, attendOps{f32: tilesF32AVX2.run, f16: tilesF16AVX2.run}},
	}
}

var tilesF32AVX512 = attendTable[float32]{tiles: [3][tileRows]attendFunc[float32]{
	{attendF32R1V1AVX512, attendF32R2V1AVX512, attendF32R3V1AVX512, attendF32R4V1AVX512, attendF32R5V1AVX512, attendF32R6V1AVX512},
	{attendF32R1V2AVX512, attendF32R2V2AVX512, attendF32R3V2AVX512, attendF32R4V2AVX512, attendF32R5V2AVX512, attendF32R6V2AVX512},
	{attendF32R1V4AVX512, attendF32R2V4AVX512, attendF32R3V4AVX512, attendF32R4V4AVX512, attendF32R5V4AVX512, attendF32R6V4AVX512},
}}

// With one row, most of the time goes into widening. Zen 4 widens faster with vectors of
// 256 bits. Other processors are bound by memory either way.
var tilesF16AVX512 = attendTable[uint16]{tiles: [3][tileRows]attendFunc[uint16]{
	{attendF16R1V1AVX2, attendF16R2V1AVX512, attendF16R3V1AVX512, attendF16R4V1AVX512, attendF16R5V1AVX512, attendF16R6V1AVX512},
	{attendF16R1V2AVX2, attendF16R2V2AVX512, attendF16R3V2AVX512, attendF16R4V2AVX512, attendF16R5V2AVX512, attendF16R6V2AVX512},
	{attendF16R1V4AVX2, attendF16R2V4AVX512, attendF16R3V4AVX512, attendF16R4V4AVX512, attendF16R5V4AVX512, attendF16R6V4AVX512},
}}

var tilesF32AVX2 = attendTable[float32]{tiles: [3][tileRows]attendFunc[float32]{
	{attendF32R1V1AVX2, attendF32R2V1AVX2, attendF32R3V1AVX2, attendF32R4V1AVX2, attendF32R5V1AVX2, attendF32R6V1AVX2},
	{attendF32R1V2AVX2, attendF32R2V2AVX2, attendF32R3V2AVX2, attendF32R4V2AVX2, attendF32R5V2AVX2, attendF32R6V2AVX2},
	{attendF32R1V4AVX2, attendF32R2V4AVX2, attendF32R3V4AVX2, attendF32R4V4AVX2, attendF32R5V4AVX2, attendF32R6V4AVX2},
}, chunk: 256}

var tilesF16AVX2 = attendTable[uint16]{tiles: [3][tileRows]attendFunc[uint16]{
	{attendF16R1V1AVX2, attendF16R2V1AVX2, attendF16R3V1AVX2, attendF16R4V1AVX2, attendF16R5V1AVX2, attendF16R6V1AVX2},
	{attendF16R1V2AVX2, attendF16R2V2AVX2, attendF16R3V2AVX2, attendF16R4V2AVX2, attendF16R5V2AVX2, attendF16R6V2AVX2},
	{attendF16R1V4AVX2, attendF16R2V4AVX2, attendF16R3V4AVX2, attendF16R4V4AVX2, attendF16R5V4AVX2, attendF16R6V4AVX2},
}, chunk: 128}
