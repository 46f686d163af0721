//go:build !purego

package kernel

//go:generate sh -c "cd _asm && go run ./ceiling -out ../ceiling_amd64.s -stubs ../ceiling_stubs_amd64.go -pkg kernel"

func ceilingArch() []impl[ceilingKernels] {
	return []impl[ceilingKernels]{
		{"amx", hasAMX, ceilingKernels{fmaPeakAVX512, 24 * 16, amxPeak, 4 * amxRows * amxRows * amxDepth, readWith(readAVX512)}},
		{"avx512", hasAVX512 && hasVNNI, ceilingKernels{fmaPeakAVX512, 24 * 16, dotPeakAVX512, 24 * 64, readWith(readAVX512)}},
		{"avx512", hasAVX512, ceilingKernels{fmaPeakAVX512, 24 * 16, dotPeakAVX2, 8 * 16, readWith(readAVX512)}},
		{"avx2", hasAVX2, ceilingKernels{fmaPeakAVX2, 12 * 8, dotPeakAVX2, 8 * 16, readWith(readAVX2)}},
	}
}

func readWith(f func(p *byte, n int)) func(b []byte) {
	return func(b []byte) {
		if n := len(b) / 512; n > 0 {
			f(&b[0], n)
		}
	}
}
