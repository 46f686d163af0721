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
	narrow := attendInt8Ops{
		score:   scoreInt8Words(widenSignedAVX2, scoreInt8R1AVX2, scoreInt8R2AVX2, scoreInt8R3AVX2, scoreInt8R4AVX2, scoreInt8R5AVX2, scoreInt8R6AVX2),
		weights: weightsWith(vecWeightsAVX2),
		quads:   quadsAVX2,
	}
	impls := []impl[attendInt8Ops]{
		{"amx", hasAMX, tall},
		{"avx512", hasVNNI, wide},
	}
	if hasAVXVNNI {
		vnni := narrow
		vnni.score = scoreInt8With(scoreInt8R1VNNI, scoreInt8R2VNNI, scoreInt8R3VNNI, scoreInt8R4VNNI, scoreInt8R5VNNI, scoreInt8R6VNNI)
		impls = append(impls, impl[attendInt8Ops]{"avx2", true, vnni})
	}
	return append(impls, impl[attendInt8Ops]{"avx2", hasAVX2, narrow})
}

func quadsAVX2(dst *[4 * panel]byte, x *[4 * panel]byte) { vecQuadsAVX2(&dst[0], &x[0]) }
