//go:build !purego

package kernel

//go:generate sh -c "cd _asm && go run ./memory -kernels pack -out ../pack_amd64.s -stubs ../pack_stubs_amd64.go -pkg kernel"

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
	}}}
}
