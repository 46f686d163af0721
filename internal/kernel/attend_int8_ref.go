package kernel

import "math"

// attendInt8Ops are the kernels of attention over caches in int8, those that other
// products do not have.
type attendInt8Ops struct {
	score scoreInt8Func
	weigh func(x, scale []float32, m float32) (sum float32, most uint32)
	level func(dst []byte, w []float32, inverse float32)
	quads func(dst *[4 * panel]byte, x *[4 * panel]byte)
}

// A scoreInt8Func computes scores of some rows with whole panels of keys. For
// p < panels, r < rows and c < 64,
//
//	sum = start[r]
//	for i := range depth { sum += int32(int8(q[r·depth+i])) · int32(k[p·64·depth + i/4·256 + c·4 + i%4]) }
//	dst[r·stride+64p+c] = float32(sum)·(qScale[r]·kScale[64p+c])
//
// each operation rounded. depth is a multiple of four. k is unsigned, a key plus 128,
// and start is -128·Σq, which takes that back; sums wrap, so only the final one has to
// fit.
type scoreInt8Func = func(dst []float32, stride int, q []byte, start []int32, qScale []float32, k []byte, kScale []float32, depth, rows, panels int)

var (
	attendInt8Impls = append(attendInt8Arch(), impl[attendInt8Ops]{"ref", true, attendInt8Ref})
	attendInt8      = pick(attendInt8Impls).fn
	attendInt8Ref   = attendInt8Ops{scoreInt8Ref, weighRef, levelRef, quadsRef}
)

func scoreInt8Ref(dst []float32, stride int, q []byte, start []int32, qScale []float32, k []byte, kScale []float32, depth, rows, panels int) {
	for p := range panels {
		for r := range rows {
			var sums [panelKeys]int32
			for c := range sums {
				sums[c] = start[r]
			}
			for i, v := range q[r*depth:][:depth] {
				column := k[p*panelKeys*depth+i/4*4*panelKeys+i%4:]
				for c := range sums {
					sums[c] += int32(int8(v)) * int32(column[4*c])
				}
			}
			to, by := dst[r*stride+p*panelKeys:][:panelKeys], kScale[p*panelKeys:][:panelKeys]
			for c, sum := range sums {
				to[c] = float32(sum) * float32(qScale[r]*by[c])
			}
		}
	}
}

// weighRef sets x to Exp(x-m)·scale. It returns the sum of Exp(x-m), in sixteen
// partials, and the bits of the largest of the new x, NaN above all numbers. No x is
// above m, and no scale is negative.
func weighRef(x, scale []float32, m float32) (sum float32, most uint32) {
	var p partials
	for i, v := range x {
		e := Exp(v - m)
		p[i%16] += e
		x[i] = e * scale[i]
		most = max(most, math.Float32bits(x[i])&0x7fffffff)
	}
	return p.sum(), most
}

// levelScale returns how weights of which the largest has bits m become unsigned bytes
// and back, as int8Scale does of int8.
func levelScale(m uint32) (inverse, scale float32) {
	switch v := math.Float32frombits(m); {
	case v-v != 0:
		return 0, float32(math.NaN())
	case v < 0x1p-100:
		return 0, 0
	default:
		return 255 / v, v / 255
	}
}

// levelRef sets dst to w·inverse rounded to an integer, ties to even: at most 255, if
// inverse is 255 over the largest.
func levelRef(dst []byte, w []float32, inverse float32) {
	for i, v := range w {
		dst[i] = byte(roundInt8(v, inverse))
	}
}

// quadsRef puts four rows of 64 bytes side by side, column by column, less 128 each:
// values for four positions, as quantise makes them, become those of a cache.
func quadsRef(dst *[4 * panel]byte, x *[4 * panel]byte) {
	for r := range 4 {
		for c := range panel {
			dst[4*c+r] = x[r*panel+c] ^ 0x80
		}
	}
}
