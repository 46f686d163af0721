//go:build !purego

package kernel

func vectorArch() []impl[vectorOps] {
	return []impl[vectorOps]{
		{"avx512", hasAVX512, vectorOps{
			vecAddAVX512, vecGeluAVX512, vecNormAVX512, vecMaxAVX512, vecIndexAVX512, vecExpSumAVX512, vecSumExpAVX512, vecDivAVX512,
			vecScatterHalfAVX2,
		}},
		{"avx2", hasAVX2, vectorOps{
			vecAddAVX2, vecGeluAVX2, vecNormAVX2, vecMaxAVX2, vecIndexAVX2, vecExpSumAVX2, vecSumExpAVX2, vecDivAVX2,
			vecScatterHalfAVX2,
		}},
	}
}
