//go:build !purego

package kernel

func attendInt8Arch() []impl[attendInt8Ops] {
	wide := attendInt8Ops{
		score:   scoreInt8With(scoreInt8R1AVX512, scoreInt8R2AVX512, scoreInt8R3AVX512, scoreInt8R4AVX512, scoreInt8R5AVX512, scoreInt8R6AVX512),
		weights: weightsWith(vecWeightsAVX512),
		quads:   quadsAVX2,
	}
	tall := wide
	tall.tall = tallAMX
	return []impl[attendInt8Ops]{
		{"amx", hasAMX, tall},
		{"avx512", hasVNNI, wide},
		{"avx2", hasAVX2, attendInt8Ops{
			score:   scoreInt8With(scoreInt8R1AVX2, scoreInt8R2AVX2, scoreInt8R3AVX2, scoreInt8R4AVX2),
			weights: weightsWith(vecWeightsAVX2),
			quads:   quadsAVX2,
		}},
	}
}

func quadsAVX2(dst *[4 * panel]byte, x *[4 * panel]byte) { vecQuadsAVX2(&dst[0], &x[0]) }
