//go:build !purego

package kernel

func vectorArch() []impl[vectorOps] {
	return []impl[vectorOps]{
		{"avx512", hasAVX512, vectorOps{
			add: vecAddAVX512, gelu: vecGeluAVX512, norm: vecNormAVX512, max: vecMaxAVX512, index: vecIndexAVX512, expSum: vecExpSumAVX512, sumExp: vecSumExpAVX512,
			log10: vecLog10AVX512, chain: vecChainAVX512, fold: vecFoldAVX512, squares: vecSquaresAVX512, raise: vecRaiseAVX512, cells: vecCellsAVX512, dots: vecDotsAVX2,
			div: vecDivAVX512, scale: vecScaleAVX512, scatterHalf: vecScatterHalfAVX2, narrow: narrowWith(vecNarrowAVX2),
			turn: turnWith(vecTurnAVX2, turnRef), turnHalf: turnWith(vecTurnHalfAVX2, turnByRows(vecScatterHalfAVX2)),
		}},
		{"avx2", hasAVX2, vectorOps{
			add: vecAddAVX2, gelu: vecGeluAVX2, norm: vecNormAVX2, max: vecMaxAVX2, index: vecIndexAVX2, expSum: vecExpSumAVX2, sumExp: vecSumExpAVX2,
			log10: vecLog10AVX2, chain: vecChainAVX2, fold: vecFoldAVX2, squares: vecSquaresAVX2, raise: vecRaiseAVX2, cells: vecCellsAVX2, dots: vecDotsAVX2,
			div: vecDivAVX2, scale: vecScaleAVX2, scatterHalf: vecScatterHalfAVX2, narrow: narrowWith(vecNarrowAVX2),
			turn: turnWith(vecTurnAVX2, turnRef), turnHalf: turnWith(vecTurnHalfAVX2, turnByRows(vecScatterHalfAVX2)),
		}},
	}
}
