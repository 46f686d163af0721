package kernel

import (
	"math"

	"verity/internal/tensor"
)

// A tileFunc adds products to the running sums of one panel: with n = len(w)/64,
//
//	for k := range n { acc[r·64+c] = fma(x[r·stride+k], w[k·64+c], acc[r·64+c]) }
//
// for every r < rows and c < 64. w is a panel, or some of its rows k, as packed.
type tileFunc[T any] = func(acc, x []float32, stride, rows int, w []T)

// tileKernels are the kernels of a floating-point product.
type tileKernels struct {
	f32       tileFunc[float32]
	f16, bf16 tileFunc[uint16]
}

var (
	tiles     = pick(tileImpls)
	tileImpls = append(tileArch(), impl[tileKernels]{"ref", true, tileKernels{tileF32Ref, tileF16Ref, tileBF16Ref}})
)

func tileF32Ref(acc, x []float32, stride, rows int, w []float32) {
	for r := range rows {
		sums := acc[r*panel:][:panel]
		for k, v := range x[r*stride:][:len(w)/panel] {
			addScaled(sums, v, w[k*panel:][:panel])
		}
	}
}

func tileF16Ref(acc, x []float32, stride, rows int, w []uint16) {
	var wide [panel]float32
	for k := range len(w) / panel {
		for c, h := range w[k*panel:][:panel] {
			wide[c] = tensor.F16ToFloat32(h)
		}
		for r := range rows {
			addScaled(acc[r*panel:][:panel], x[r*stride+k], wide[:])
		}
	}
}

func tileBF16Ref(acc, x []float32, stride, rows int, w []uint16) {
	var wide [panel]float32
	for k := range len(w) / panel {
		for c := range wide {
			wide[c] = tensor.BF16ToFloat32(w[k*panel+bf16Column(c)])
		}
		for r := range rows {
			addScaled(acc[r*panel:][:panel], x[r*stride+k], wide[:])
		}
	}
}

// addScaled computes acc[j] = fma(v, w[j], acc[j]). It is fma written out, which
// the compiler does not inline.
func addScaled(acc []float32, v float32, w []float32) {
	w = w[:len(acc)]
	for j := range acc {
		p := float64(v) * float64(w[j])
		d := float64(acc[j])
		s := p + d
		if mayRoundTwice(math.Float64bits(s)) {
			acc[j] = fmaSlow(p, d)
		} else {
			acc[j] = float32(s)
		}
	}
}
