//go:build !purego

package kernel

func int8Arch() []impl[int8Kernels] {
	wide := int8ByRows(tileInt8x1AVX512, tileInt8x2AVX512, tileInt8x3AVX512, tileInt8x4AVX512, tileInt8x5AVX512, tileInt8x6AVX512)
	narrow := int8ByWords(widenUnsignedAVX2, int8ByDepth(int8ByRows(tileInt8x1AVX2, tileInt8x2AVX2)), tileInt8x3AVX2, tileInt8x4AVX2, tileInt8x5AVX2, tileInt8x6AVX2)
	impls := []impl[int8Kernels]{
		{"amx", hasAMX, int8AMX(wide)},
		{"avx512", hasVNNI, int8AVX512(wide)},
	}
	if hasAVXVNNI {
		vnni := int8ByRows(tileInt8x1AVX2, tileInt8x2AVX2, tileInt8x3VNNI, tileInt8x4VNNI, tileInt8x5VNNI, tileInt8x6VNNI)
		impls = append(impls, impl[int8Kernels]{"avx2", true, int8AVX2(int8ByDepth(vnni))})
	}
	return append(impls, impl[int8Kernels]{"avx2", hasAVX2, int8AVX2(narrow)})
}

func int8AVX2(tile tileInt8Func) int8Kernels {
	return int8Kernels{
		maxAbs:   maxAbsWith(maxAbsAVX2),
		quantise: quantiseWith(quantiseAVX2),
		tile:     tile,
		first:    clearing(tile),

		weigh: clearing(tile),
		store: finishInt8Full(storeInt8AVX2, storeInt8Ref),
		add:   finishInt8Full(addInt8AVX2, addInt8Ref),
	}
}

func int8AVX512(tile tileInt8Func) int8Kernels {
	return int8Kernels{
		maxAbs:   maxAbsWith(maxAbsAVX512),
		quantise: quantiseWith(quantiseAVX512),
		tile:     tile,
		first:    clearing(tile),

		weigh: clearing(tile),
		store: finishInt8Full(storeInt8AVX512, storeInt8Ref),
		add:   finishInt8Full(addInt8AVX512, addInt8Ref),
	}
}
