package kernel

import "verity/internal/tensor"

// vectorOps are the loops over one vector that have several implementations.
// Each is defined by the function of the same name with Ref added.
type vectorOps struct {
	add    func(dst, x []float32)
	gelu   func(x []float32)
	norm   func(dst, x, gamma, beta []float32, eps float32)
	max    func(x []float32) float32
	expSum func(dst, x []float32, m float32) float32
	div    func(dst, x []float32, by float32)
	scale  func(dst, x []float32, by float32)

	log10   func(dst, x []float32, floor float32)
	maxInto func(dst, x []float32)
	dots    func(dst *[4]float32, a, b *[4][]float32)

	standardize func(x []float32, rows, cols int)
	median      func(dst, x []float32)

	narrow          func(dst []uint16, x []float32)
	transposeNarrow transposeNarrowFunc
}

// A transposeNarrowFunc transposes a tile, to rows of panelKeys elements, and rounds it to
// binary16. For r < rows and c < cols,
//
//	dst[c·64+r] = x[r·stride+c]
type transposeNarrowFunc = func(dst []uint16, x []float32, stride, rows, cols int)

var vectorRef = vectorOps{
	add: addRef, gelu: geluRef, norm: normRef, max: maxRef, expSum: expSumRef,
	div: divRef, scale: scaleRef, log10: log10Ref,
	maxInto: maxIntoRef, dots: dotsRef, narrow: narrowRef,
	standardize: standardizeRef, median: medianRef,
	transposeNarrow: transposeNarrowRef,
}

// partials are the sixteen running sums of a reduction. Element i belongs to
// partial i%16. If the length is not a multiple of sixteen, the last partials
// have one element less; nothing is added for it.
type partials [16]float32

// sum adds the partials pairwise at distances 8, 4, 2 and 1.
func (p *partials) sum() float32 {
	for d := 8; d > 0; d /= 2 {
		for l := range d {
			p[l] += p[l+d]
		}
	}
	return p[0]
}

// Add adds x to dst, element by element. It panics if dst is shorter than x.
func Add(dst, x []float32) { use.vector.add(dst[:len(x)], x) }

func addRef(dst, x []float32) {
	for i, v := range x {
		dst[i] += v
	}
}

// divRef sets dst to x divided by by; dst may be x.
func divRef(dst, x []float32, by float32) {
	for i, v := range x {
		dst[i] = v / by
	}
}

// scaleRef sets dst to x times by; dst may be x.
func scaleRef(dst, x []float32, by float32) {
	for i, v := range x {
		dst[i] = v * by
	}
}

// narrowRef sets dst to x, rounded to binary16.
func narrowRef(dst []uint16, x []float32) {
	for i, v := range x {
		dst[i] = tensor.F16Bits(v)
	}
}

func transposeNarrowRef(dst []uint16, x []float32, stride, rows, cols int) {
	for r := range rows {
		for c, v := range x[r*stride:][:cols] {
			dst[c*panelKeys+r] = tensor.F16Bits(v)
		}
	}
}
