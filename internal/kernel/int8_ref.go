package kernel

import "math"

// int8Kernels are the kernels of an int8 product: each row of x is rounded to
// eight bits with a scale of its own, products are summed exactly in int32, and
// the sum is scaled back.
type int8Kernels struct {
	maxAbs      func(x []float32) uint32
	quantise    func(dst []uint8, x []float32, inverse float32)
	tile        tileInt8Func
	weightedSum tileInt8Func // tile for x that is unsigned on every architecture: weights of attention
	store       finishInt8Func
	add         finishInt8Func

	// For a processor whose only product of bytes is that of AVX2; see packedBy4.
	signed        func(dst []byte, x []uint8, found *wordMask) int32
	tilePackedBy4 asmRows[int32, uint8]
	outliers      func(acc, offset, start, list, count *int32, most int, w *byte, rows int)

	// rowGroup is how many rows tile should sum at a time when there are many: their sums
	// are finished while they are in the first-level cache. 0 means all rows of a unit.
	rowGroup int

	// From stream rows on tile takes a panel as a whole, and prefetches by itself. 0 means
	// never: then it takes blocks of a panel unless rows are few.
	stream int
}

// A tileInt8Func adds products to the running sums of one panel, or to 0. With n = len(w)/64,
//
//	for k := range n { acc[r·64+c] += level(x[r·stride+k]) · int32(w[k/4·256+c·4+k%4]) }
//
// for every r < rows and c < 64; n and stride are multiples of four. next says what may
// be prefetched.
//
// x holds the rounded value plus int8Zero: on amd64 it is unsigned, since VPDPBUSD takes
// one unsigned and one signed factor, and Matrix.offset, -int8Zero·Σw, cancels it in the end. int32 sums
// wrap, so only the final one has to fit. Nothing saturates: AVX2, whose u8×s8 product
// would, widens both factors to 16 bits, or multiplies outliers apart (packedBy4).
type tileInt8Func = func(acc []int32, x []uint8, stride, rows int, w []int8, next hint)

// starting returns tile, which adds, for sums that may start at 0.
func starting(tile tileInt8Func) tileInt8Func {
	return func(acc []int32, x []uint8, stride, rows int, w []int8, next hint) {
		if !next.begun {
			clear(acc[:rows*panel])
		}
		tile(acc, x, stride, rows, w, next)
	}
}

// A finishInt8Func writes finished sums. With
//
//	s = float32(acc[r·64+c]+offset[c]) · (xScale[r]·scale[c])
//
// each operation rounded, for r < rows and c < len(bias):
//
//	dst[r·stride+c]  = s + bias[c]    (store)
//	dst[r·stride+c] += s + bias[c]    (add)
type finishInt8Func = func(dst []float32, acc, offset []int32, xScale, scale, bias []float32, stride, rows int)

// int8Signs, by exclusive or, adds int8Zero to eight int8 at a time, or subtracts it.
const int8Signs = 0x0101010101010101 * int8Zero

var int8Ref = int8Kernels{
	maxAbs: maxAbsRef, quantise: quantiseRef, tile: starting(tileInt8Ref), weightedSum: starting(weightedSumRef),
	store: storeInt8Ref, add: addInt8Ref,
}

// maxAbsRef returns the bits of the largest |x[i]|. As integers they order as the
// values do, infinity above all numbers and NaN above that.
func maxAbsRef(x []float32) uint32 {
	m := uint32(0)
	for _, v := range x {
		m = max(m, math.Float32bits(v)&0x7fffffff)
	}
	return m
}

// int8Scale is byteScale for int8.
func int8Scale(m uint32) (inverse, scale float32) { return byteScale(m, 127) }

// byteScale returns the factor that values are multiplied by before they are rounded to
// integers of at most most, and the scale of the result, given the bits m of the largest
// magnitude. If a value is not finite, the scale is NaN. Values below 2⁻¹⁰⁰, whose inverse
// is nearly out of range, become zero.
func byteScale(m uint32, most float32) (inverse, scale float32) {
	switch v := math.Float32frombits(m); {
	case v-v != 0:
		return 0, float32(math.NaN())
	case v < 0x1p-100:
		return 0, 0
	default:
		return most / v, v / most
	}
}

// roundInt8 returns v·inverse rounded to an integer, ties to even. Its magnitude is at
// most 127, since v·(127/max) exceeds 127 by less than a half.
//
// Adding 1.5·2²³ leaves no bits for a fraction and the integer in the lowest ones.
func roundInt8(v, inverse float32) int32 {
	const magic = 0x1.8p23
	return int32(math.Float32bits(float32(v*inverse)+magic)) - 0x4b400000
}

func quantiseRef(dst []uint8, x []float32, inverse float32) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = uint8(roundInt8(v, inverse) + int8Zero)
	}
}

var (
	tileInt8Ref    = tileInt8Of(level)
	weightedSumRef = tileInt8Of(func(x uint8) int32 { return int32(x) }) // for unsigned x
)

// tileInt8Of returns the tileInt8Func for x that counts as level says.
func tileInt8Of(level func(x uint8) int32) tileInt8Func {
	return func(acc []int32, x []uint8, stride, rows int, w []int8, _ hint) {
		for r := range rows {
			sums := acc[r*panel:][:panel]
			for k, b := range x[r*stride:][:len(w)/panel] {
				v, column := level(b), w[k/4*4*panel+k%4:]
				for c := range sums {
					sums[c] += v * int32(column[4*c])
				}
			}
		}
	}
}

var storeInt8Ref, addInt8Ref = finishInt8Ref(false), finishInt8Ref(true)

func finishInt8Ref(add bool) finishInt8Func {
	return func(dst []float32, acc, offset []int32, xScale, scale, bias []float32, stride, rows int) {
		for r := range rows {
			to := dst[r*stride:][:len(bias)]
			for c, b := range bias {
				v := float32(float32(acc[r*panel+c]+offset[c])*float32(xScale[r]*scale[c])) + b
				if add {
					v = to[c] + v
				}
				to[c] = v
			}
		}
	}
}
