//go:build !purego

package kernel

//go:generate sh -c "cd _asm && go run ./ceiling -out ../ceiling_amd64.s -stubs ../ceiling_stubs_amd64.go -pkg kernel"

func ceilingArch() []impl[ceilingKernels] {
	impls := []impl[ceilingKernels]{
		{"amx", hasAMX, ceilingKernels{fma: fmaPeakAVX512, fmaPerRound: 24 * 16, dot: amxPeak, dotPerRound: 4 * amxRows * amxRows * amxDepth, vector: vectorPeakAVX512, vectorPerRound: 24 * 16, read: readWith(readAVX512)}},
		{"avx512", hasAVX512 && hasVNNI, ceilingKernels{fma: fmaPeakAVX512, fmaPerRound: 24 * 16, dot: dotPeakAVX512, dotPerRound: 24 * 64, vector: vectorPeakAVX512, vectorPerRound: 24 * 16, read: readWith(readAVX512)}},
		{"avx512", hasAVX512, ceilingKernels{fma: fmaPeakAVX512, fmaPerRound: 24 * 16, dot: dotPeakAVX2, dotPerRound: 8 * 16, vector: vectorPeakAVX512, vectorPerRound: 24 * 16, read: readWith(readAVX512)}},
	}
	if hasAVXVNNI {
		impls = append(impls, impl[ceilingKernels]{"avx2", true, ceilingKernels{fma: fmaPeakAVX2, fmaPerRound: 12 * 8, dot: dotPeakVNNI, dotPerRound: 12 * 32, vector: vectorPeakAVX2, vectorPerRound: 12 * 8, read: readWith(readAVX2)}})
	}
	return append(impls, impl[ceilingKernels]{"avx2", hasAVX2, ceilingKernels{fma: fmaPeakAVX2, fmaPerRound: 12 * 8, dot: dotPeakAVX2, dotPerRound: 8 * 16, vector: vectorPeakAVX2, vectorPerRound: 12 * 8, read: readWith(readAVX2)}})
}

func readWith(f func(p *byte, n int)) func(b []byte) {
	return func(b []byte) {
		if n := len(b) / 512; n > 0 {
			f(&b[0], n)
		}
	}
}
