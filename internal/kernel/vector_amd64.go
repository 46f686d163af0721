//go:build !purego

package kernel

func vectorArch() []impl[vectorOps] {
	return []impl[vectorOps]{
		{"avx512", hasAVX512, vectorOps{
			vecAddAVX512, vecGeluAVX512, vecNormAVX512, vecMaxAVX512, vecIndexAVX512, vecExpSumAVX512, vecSumExpAVX512, vecDivAVX512,
		}},
		{"avx2", hasAVX2, vectorOps{
			vecAddAVX2, vecGeluAVX2, vecNormAVX2, vecMaxAVX2, vecIndexAVX2, vecExpSumAVX2, vecSumExpAVX2, vecDivAVX2,
		}},
	}
}

// These functions are in vector_avx512_amd64.s and vector_avx2_amd64.s. Each does
// what the function with Ref at the end of its name does.

//go:noescape
func vecAddAVX512(dst, x []float32)

//go:noescape
func vecAddAVX2(dst, x []float32)

//go:noescape
func vecDivAVX512(x []float32, by float32)

//go:noescape
func vecDivAVX2(x []float32, by float32)

//go:noescape
func vecGeluAVX512(x []float32)

//go:noescape
func vecGeluAVX2(x []float32)

//go:noescape
func vecNormAVX512(dst, x, gamma, beta []float32, eps float32)

//go:noescape
func vecNormAVX2(dst, x, gamma, beta []float32, eps float32)

//go:noescape
func vecMaxAVX512(x []float32) float32

//go:noescape
func vecMaxAVX2(x []float32) float32

// vecIndexAVX512 must not be asked for NaN.
//
//go:noescape
func vecIndexAVX512(x []float32, v float32) int

// vecIndexAVX2 must not be asked for NaN.
//
//go:noescape
func vecIndexAVX2(x []float32, v float32) int

// vecExpSumAVX512 needs m ≥ x.
//
//go:noescape
func vecExpSumAVX512(dst, x []float32, m float32) float32

// vecExpSumAVX2 needs m ≥ x.
//
//go:noescape
func vecExpSumAVX2(dst, x []float32, m float32) float32

// vecSumExpAVX512 needs m ≥ x.
//
//go:noescape
func vecSumExpAVX512(x []float32, m float32) float32

// vecSumExpAVX2 needs m ≥ x.
//
//go:noescape
func vecSumExpAVX2(x []float32, m float32) float32
