//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

// setsOfArch returns AVX2 with what each later processor does better.
func setsOfArch() []set {
	avx2 := setAVX2()
	avx512 := setAVX512(avx2)
	return []set{
		setAMX(avx512).named("amx", hasAMX), avx512.named("avx512", hasAVX512),
		setVNNI(avx2).named("avxvnni", hasAVXVNNI), avx2.named("avx2", hasAVX2),
	}
}

// setAVX2 returns the kernels for processors with AVX2 and FMA.
func setAVX2() set {
	return set{
		tiles: tileKernels{
			f32:   byDepth(floatStep, fewRows, byRows[float32](tileF32AVX2, 6, 1)),
			f16:   byDepth(floatStep, fewRows, byRows[uint16](tileF16AVX2, 6, 1)),
			widen: widenWith(widenHalfAVX2),
			store: finishWith(storeSumsAVX2, storeSumsRef),
			add:   finishWith(addSumsAVX2, addSumsRef),
		},
		int8s: int8Kernels{
			maxAbs:        maxAbsWith(maxAbsAVX2),
			quantise:      byNumber(16, quantiseAVX2, quantiseRef),
			store:         finishInt8With(storeInt8AVX2, storeInt8Ref),
			add:           finishInt8With(addInt8AVX2, addInt8Ref),
			signed:        signedWith(signedAVX2),
			tilePackedBy4: tilePackedBy4AVX2,
			outliers:      addOutliersAVX2,
		}.by(int8ByWords(widenUnsignedAVX2, int8ByDepth(byRows[int8](tileInt8AVX2, 2, 4)), tileWordsAVX2)),
		fewBits: fewBitsKernels{
			quantise:      quantiseGroupsWith(quantiseGroupsAVX2),
			nibbles:       nibblesRef, // all rows go directly
			mxfp6:         expandWith(mxfp6AVX2, groupBytes*3/4),
			powers:        byStep(64, powersAVX2, powersRef),
			tile:          groupsByRows(tileGroupsAVX2, 4),
			directNibbles: directByRows(directNibblesAVX2, 4),
		},
		attend: attendOps{f32: attendByRows(attendF32AVX2, 256), f16: attendByRows(attendF16AVX2, 128)},
		attendInt8: attendInt8Ops{
			score:         scoreInt8ByWords(widenSignedAVX2, scoreInt8AVX2),
			weights:       weightsWith(vecWeightsAVX2),
			interleaveBy4: func(dst, x *[4 * panel]byte) { vecInterleaveBy4AVX2(&dst[0], &x[0]) },
		},
		packing: packKernels{
			widenHalf: widenHalfWith(widenHalfAVX2),
			words:     transposeBytesWith(transposeWordsAVX2, 8, 4, transposeWordsRef),
			halves:    transposeBytesWith(transposeHalvesAVX2, 16, 2, transposeHalvesRef),
		},
		vector: vectorOps{
			add: vecAddAVX2, gelu: vecGeluAVX2, norm: vecNormAVX2, max: vecMaxAVX2, expSum: vecExpSumAVX2,
			log10:   vecLog10AVX2,
			maxInto: vecMaxIntoAVX2, standardize: vecStandardizeAVX2, median: vecMedianAVX2,
			dots: vecDotsAVX2, div: vecDivAVX2, scale: vecScaleAVX2,
			narrow:          byStep(8, vecNarrowAVX2, narrowRef),
			transposeNarrow: transposeNarrowWith(transposeNarrowAVX2, transposeNarrowByRows(byStep(8, vecNarrowAVX2, narrowRef))),
		},
	}
}

// setVNNI returns s with products of bytes of AVX-VNNI.
func setVNNI(s set) set {
	s.int8s = s.int8s.by(int8ByDepth(byRows[int8](tileInt8VNNI, 6, 4)))
	s.int8s.tilePackedBy4 = nil
	s.fewBits.directNibbles = directByRows(directNibblesVNNI, 6)
	s.attendInt8.score = scoreInt8ByRows(scoreInt8VNNI, fewRows)
	return s
}

// setAVX512 returns s with what AVX-512 does better.
func setAVX512(s set) set {
	s.tiles = tileKernels{
		f32:   byRows[float32](tileF32AVX512, 6, 1),
		f16:   byRows[uint16](tileF16AVX512, 6, 1),
		widen: widenWith(widenHalfAVX512),
		store: finishWith(storeSumsAVX512, storeSumsRef),
		add:   finishWith(addSumsAVX512, addSumsRef),
	}
	s.attend = attendOps{f32: attendByRows(attendF32AVX512, 0), f16: attendByRows(attendF16AVX512, 0)}
	v := &s.vector
	v.add, v.gelu, v.norm, v.max, v.expSum = vecAddAVX512, vecGeluAVX512, vecNormAVX512, vecMaxAVX512, vecExpSumAVX512
	v.log10, v.div, v.scale = vecLog10AVX512, vecDivAVX512, vecScaleAVX512
	if cpu.X86.HasAVX512VNNI { // else bytes are those of AVX2
		s.int8s = int8Kernels{
			maxAbs:   maxAbsWith(maxAbsAVX512),
			quantise: byNumber(16, quantiseAVX512, quantiseRef),
			store:    finishInt8With(storeInt8AVX512, storeInt8Ref),
			add:      finishInt8With(addInt8AVX512, addInt8Ref),
		}.by(byRows[int8](tileInt8AVX512, 6, 4))
		s.fewBits = fewBitsKernels{
			quantise:      quantiseGroupsWith(quantiseGroupsAVX512),
			nibbles:       expandWith(nibblesAVX512, groupBytes/2),
			mxfp6:         expandWith(mxfp6AVX512, groupBytes*3/4),
			powers:        byStep(64, powersAVX512, powersRef),
			tile:          groupsByRows(tileGroupsAVX512, 6),
			directNibbles: directByRows(directNibblesAVX512, 6),
			directEights:  directByRows(directEightsAVX512, 6),
			directRows:    10,
		}
		if cpu.X86.HasAVX512VBMI {
			s.fewBits.directSixes = directByRows(directSixesAVX512, 6)
		}
		s.attendInt8.score = scoreInt8ByRows(scoreInt8AVX512, fewRows)
		s.attendInt8.weights = weightsWith(vecWeightsAVX512)
	}
	return s
}

// setAMX returns s with products of the tile unit.
func setAMX(s set) set {
	s.int8s = int8AMX(s.int8s)
	s.attendInt8.manyQueries = manyQueriesAMX
	return s
}

// by returns k with a tile.
func (k int8Kernels) by(tile tileInt8Func) int8Kernels {
	k.tile, k.weightedSum = starting(tile), starting(tile)
	return k
}
