//go:build !purego

package kernel

//go:generate sh -c "cd _asm && go run ./matmul -kernels avx512 -out ../matmul_avx512_amd64.s -stubs ../matmul_avx512_stubs_amd64.go -pkg kernel"
//go:generate sh -c "cd _asm && go run ./matmul -kernels avx2 -out ../matmul_avx2_amd64.s -stubs ../matmul_avx2_stubs_amd64.go -pkg kernel"
//go:generate sh -c "cd _asm && go run ./matmul -kernels int8 -out ../matmul_int8_amd64.s -stubs ../matmul_int8_stubs_amd64.go -pkg kernel"
//go:generate sh -c "cd _asm && go run ./memory -kernels fetch -out ../fetch_amd64.s -stubs ../fetch_stubs_amd64.go -pkg kernel"

func tileArch() []impl[tileKernels] {
	return []impl[tileKernels]{
		{"avx512", hasAVX512, tileKernels{
			f32:   byRows[float32](tileF32x1AVX512, tileF32x2AVX512, tileF32x3AVX512, tileF32x4AVX512, tileF32x5AVX512, tileF32x6AVX512),
			f16:   byRows[uint16](tileF16x1AVX512, tileF16x2AVX512, tileF16x3AVX512, tileF16x4AVX512, tileF16x5AVX512, tileF16x6AVX512),
			widen: widenWith(widenF16AVX512),
			store: finishFull(storeSumsAVX512, storeSumsRef),
			add:   finishFull(addSumsAVX512, addSumsRef),
		}},
		{"avx2", hasAVX2, tileKernels{
			f32:   byDepth(byRows[float32](tileF32x1AVX2, tileF32x2AVX2, tileF32x3AVX2, tileF32x4AVX2, tileF32x5AVX2, tileF32x6AVX2)),
			f16:   byDepth(byRows[uint16](tileF16x1AVX2, tileF16x2AVX2, tileF16x3AVX2, tileF16x4AVX2, tileF16x5AVX2, tileF16x6AVX2)),
			widen: widenWith(widenF16AVX2),
			store: finishFull(storeSumsAVX2, storeSumsRef),
			add:   finishFull(addSumsAVX2, addSumsRef),
		}},
	}
}
