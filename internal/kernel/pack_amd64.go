//go:build !purego

package kernel

func widenHalfArch() []impl[widenHalfFunc] {
	return []impl[widenHalfFunc]{{"avx2", hasAVX2, func(dst []float32, src []byte) {
		n := len(dst) &^ 15
		widenHalfRef(dst[n:], src[2*n:])
		if n > 0 {
			_ = src[2*n-1]
			widenHalfAVX2(&dst[0], &src[0], n)
		}
	}}}
}

// widenHalfAVX2 is widenHalfRef for n elements, a multiple of sixteen and not 0.
//
//go:noescape
func widenHalfAVX2(dst *float32, src *byte, n int)
