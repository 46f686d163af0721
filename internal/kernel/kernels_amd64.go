//go:build !purego

package kernel

import (
	"slices"

	"golang.org/x/sys/cpu"

	"verity/precision"
)

//go:generate sh -c "cd _asm && go run ./amd64 -out ../kernels_amd64.s"

func tileArch() []impl[tileKernels] {
	return []impl[tileKernels]{
		{"avx512", hasAVX512, tileKernels{
			f32:   byRows[float32](tileF32AVX512, 6, 1),
			f16:   byRows[uint16](tileF16AVX512, 6, 1),
			widen: widenWith(widenF16AVX512),
			store: finishFull(storeSumsAVX512, storeSumsRef),
			add:   finishFull(addSumsAVX512, addSumsRef),
		}},
		{"avx2", hasAVX2, tileKernels{
			f32:   byDepth(byRows[float32](tileF32AVX2, 6, 1)),
			f16:   byDepth(byRows[uint16](tileF16AVX2, 6, 1)),
			widen: widenWith(widenF16AVX2),
			store: finishFull(storeSumsAVX2, storeSumsRef),
			add:   finishFull(addSumsAVX2, addSumsRef),
		}},
	}
}

func int8Arch() []impl[int8Kernels] {
	wide := int8Kernels{
		maxAbs:   maxAbsWith(maxAbsAVX512),
		quantise: quantiseWith(quantiseAVX512),
		store:    finishInt8Full(storeInt8AVX512, storeInt8Ref),
		add:      finishInt8Full(addInt8AVX512, addInt8Ref),
	}.by(byRows[int8](tileInt8AVX512, 6, 4))
	narrow := int8Kernels{
		maxAbs:   maxAbsWith(maxAbsAVX2),
		quantise: quantiseWith(quantiseAVX2),
		store:    finishInt8Full(storeInt8AVX2, storeInt8Ref),
		add:      finishInt8Full(addInt8AVX2, addInt8Ref),
	}
	byWords := narrow.by(int8ByWords(widenUnsignedAVX2, int8ByDepth(byRows[int8](tileInt8AVX2, 2, 4)), tileWordsAVX2))
	byWords.signed, byWords.fours, byWords.outliers = signedWith(signedAVX2), tileFoursAVX2, addOutliersAVX2
	return withVNNI([]impl[int8Kernels]{
		{"amx", hasAMX, int8AMX(wide)},
		{"avx512", hasVNNI, wide},
		{"avx2", hasAVXVNNI, narrow.by(int8ByDepth(byRows[int8](tileInt8VNNI, 6, 4)))},
		{"avx2", hasAVX2, byWords},
	})
}

// withVNNI returns impls without those of AVX-VNNI, named avx2 too, on a processor that
// has AVX2 alone: tests ask of each name that it can run.
func withVNNI[F any](impls []impl[F]) []impl[F] {
	return slices.DeleteFunc(impls, func(im impl[F]) bool { return hasAVX2 && im.name == "avx2" && !im.ok })
}

// by returns k with a tile.
func (k int8Kernels) by(tile tileInt8Func) int8Kernels {
	k.tile, k.first, k.weigh = tile, clearing(tile), clearing(tile)
	return k
}

func fewBitsArch() []impl[fewBitsKernels] {
	wide := fewBitsKernels{
		quantise:    quantiseGroupsWith(quantiseGroupsAVX512),
		nibbles:     expandWith(nibblesAVX512, groupBytes/2),
		nibblesZero: expandWith(nibblesZeroAVX512, groupBytes/2),
		sixes:       expandWith(sixesAVX512, groupBytes*3/4),
		powers:      powersWith(powersAVX512),
		tile:        groupsByRows(tileGroupsAVX512, 6),
		direct: directTable{
			precision.Int4:  directByRows(directNibblesAVX512, 6),
			precision.Int4Z: directByRows(directNibblesZeroAVX512, 6),
		},
		directRows: 10,
	}
	if cpu.X86.HasAVX512VBMI {
		wide.direct[precision.MXFP6] = directByRows(directSixesAVX512, 6)
	}
	narrow := fewBitsKernels{
		quantise:    quantiseGroupsWith(quantiseGroupsAVX2),
		nibbles:     nibblesRef, // all rows go directly
		nibblesZero: nibblesZeroRef,
		sixes:       expandWith(sixesAVX2, groupBytes*3/4),
		powers:      powersWith(powersAVX2),
		tile:        groupsByRows(tileGroupsAVX2, 4),
		direct: directTable{
			precision.Int4:  directByRows(directNibblesAVX2, 4),
			precision.Int4Z: directByRows(directNibblesZeroAVX2, 4),
		},
	}
	vnni := narrow
	vnni.direct = directTable{
		precision.Int4:  directByRows(directNibblesVNNI, 6),
		precision.Int4Z: directByRows(directNibblesZeroVNNI, 6),
	}
	return withVNNI([]impl[fewBitsKernels]{{"avx512", hasVNNI, wide}, {"avx2", hasAVXVNNI, vnni}, {"avx2", hasAVX2, narrow}})
}

func attendArch() []impl[attendOps] {
	return []impl[attendOps]{
		{"avx512", hasAVX512, attendOps{f32: attendByRows(attendF32AVX512, 0), f16: attendByRows(attendF16AVX512, 0)}},
		{"avx2", hasAVX2, attendOps{f32: attendByRows(attendF32AVX2, 256), f16: attendByRows(attendF16AVX2, 128)}},
	}
}

func attendInt8Arch() []impl[attendInt8Ops] {
	quads := func(dst, x *[4 * panel]byte) { vecQuadsAVX2(&dst[0], &x[0]) }
	wide := attendInt8Ops{score: scoreInt8ByRows(scoreInt8AVX512, few), weights: weightsWith(vecWeightsAVX512), quads: quads}
	tall, vnni := wide, wide
	tall.tall = tallAMX
	vnni.score, vnni.weights = scoreInt8ByRows(scoreInt8VNNI, few), weightsWith(vecWeightsAVX2)
	narrow := vnni
	narrow.score = scoreInt8Words(widenSignedAVX2, scoreInt8AVX2)
	return withVNNI([]impl[attendInt8Ops]{{"amx", hasAMX, tall}, {"avx512", hasVNNI, wide}, {"avx2", hasAVXVNNI, vnni}, {"avx2", hasAVX2, narrow}})
}

func packArch() []impl[packKernels] {
	return []impl[packKernels]{{"avx2", hasAVX2, packKernels{
		widenHalf: func(dst []float32, src []byte) {
			n := len(dst) &^ 15
			widenHalfRef(dst[n:], src[2*n:])
			if n > 0 {
				_ = src[2*n-1]
				widenHalfAVX2(&dst[0], &src[0], n)
			}
		},
		words:  turnWordsWith(turnWordsAVX2),
		halves: turnHalvesWith(turnHalvesAVX2, 2, turnHalvesRef),
		wide:   turnHalvesWith(widenHalvesAVX2, 4, widenHalvesRef),
		fours:  packFours,
	}}}
}

func vectorArch() []impl[vectorOps] {
	narrow := vectorOps{
		add: vecAddAVX2, gelu: vecGeluAVX2, norm: vecNormAVX2, max: vecMaxAVX2, expSum: vecExpSumAVX2,
		log10: vecLog10AVX2, chain: chainWith(tileF32AVX2), fold: vecFoldAVX2, squares: vecSquaresAVX2, raise: vecRaiseAVX2, cells: vecCellsAVX2, dots: vecDotsAVX2,
		div: vecDivAVX2, scale: vecScaleAVX2, narrow: narrowWith(vecNarrowAVX2),
		turnHalf: turnWith(turnNarrowAVX2, turnByRows(narrowWith(vecNarrowAVX2))),
	}
	wide := narrow
	wide.add, wide.gelu, wide.norm, wide.max, wide.expSum = vecAddAVX512, vecGeluAVX512, vecNormAVX512, vecMaxAVX512, vecExpSumAVX512
	wide.log10, wide.chain, wide.div, wide.scale = vecLog10AVX512, chainWith(tileF32AVX512), vecDivAVX512, vecScaleAVX512
	return []impl[vectorOps]{{"avx512", hasAVX512, wide}, {"avx2", hasAVX2, narrow}}
}

func ceilingArch() []impl[ceilingKernels] {
	wide := ceilingKernels{
		fma: fmaPeakAVX512, fmaPerRound: 24 * 16, dot: dotPeakAVX2, dotPerRound: 8 * 16,
		vector: vectorPeakAVX512, vectorPerRound: 24 * 16, read: readWith(readAVX512),
	}
	narrow := ceilingKernels{
		fma: fmaPeakAVX2, fmaPerRound: 12 * 8, dot: dotPeakAVX2, dotPerRound: 8 * 16,
		vector: vectorPeakAVX2, vectorPerRound: 12 * 8, read: readWith(readAVX2),
	}
	with := func(k ceilingKernels, dot func(n int), perRound float64) ceilingKernels {
		k.dot, k.dotPerRound = dot, perRound
		return k
	}
	return withVNNI([]impl[ceilingKernels]{
		{"amx", hasAMX, with(wide, amxPeak, 4*amxRows*amxRows*amxDepth)},
		{"avx512", hasVNNI, with(wide, dotPeakAVX512, 24*64)},
		{"avx512", hasAVX512, wide},
		{"avx2", hasAVXVNNI, with(narrow, dotPeakVNNI, 12*32)},
		{"avx2", hasAVX2, narrow},
	})
}
