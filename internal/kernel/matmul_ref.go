package kernel

import (
	"math"

	"verity/internal/tensor"
)

// tileKernels are the kernels of a floating-point product.
type tileKernels struct {
	f32        tileFunc[float32]
	f16        tileFunc[uint16]
	widen      func(dst []float32, w []uint16) // a packed panel, to float32
	store, add finishFunc
}

// A tileFunc adds products to the running sums of one panel: with n = len(w)/64,
//
//	for k := range n { acc[r·64+c] = fma(x[r·stride+k], w[k·64+c], acc[r·64+c]) }
//
// for every r < rows and c < 64. w is a panel, or some of its rows k, as packed. next
// says what may be prefetched.
type tileFunc[T any] = func(acc, x []float32, stride, rows int, w []T, next hint)

// A hint is what to prefetch, because it is needed after a tile.
type hint struct {
	ahead int  // bytes from w to the weights after it
	width int  // bytes of those weights for each k, if not as in w
	block bool // w is a block that will be read several times; the next one follows it
	again bool // rows before these were multiplied by w: a cache holds it
	begun bool // of bytes: continue the sums that are there, else start at 0

	dst    []byte // where results will be written, rows stride bytes apart, or nil
	stride int
}

// A finishFunc writes finished sums: for r < rows and c < len(bias),
//
//	dst[r·stride+c]  = acc[r·64+c] + bias[c]    (store)
//	dst[r·stride+c] += acc[r·64+c] + bias[c]    (add)
type finishFunc = func(dst, acc, bias []float32, stride, rows int)

var tilesRef = tileKernels{f32: tileF32Ref, f16: tileF16Ref, widen: widenF16Ref, store: storeSumsRef, add: addSumsRef}

func tileF32Ref(acc, x []float32, stride, rows int, w []float32, _ hint) {
	for r := range rows {
		sums := acc[r*panel:][:panel]
		for k, v := range x[r*stride:][:len(w)/panel] {
			addScaled(sums, v, w[k*panel:][:panel])
		}
	}
}

func tileF16Ref(acc, x []float32, stride, rows int, w []uint16, _ hint) {
	var wide [panel]float32
	for k := range len(w) / panel {
		widenF16Ref(wide[:], w[k*panel:][:panel])
		for r := range rows {
			addScaled(acc[r*panel:][:panel], x[r*stride+k], wide[:])
		}
	}
}

func widenF16Ref(dst []float32, w []uint16) {
	for i, h := range w {
		dst[i] = tensor.F16ToFloat32(h)
	}
}

var storeSumsRef, addSumsRef = finishRef(false), finishRef(true)

func finishRef(add bool) finishFunc {
	return func(dst, acc, bias []float32, stride, rows int) {
		for r := range rows {
			to := dst[r*stride:][:len(bias)]
			for c, b := range bias {
				v := acc[r*panel+c] + b
				if add {
					v = to[c] + v
				}
				to[c] = v
			}
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
