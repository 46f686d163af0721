//go:build !purego

package kernel

import "unsafe"

func attendArch() []impl[attendOps] {
	return []impl[attendOps]{
		{"avx512", hasAVX512, attendOps{attendF32AVX512, attendF16AVX512}},
		{"avx2", hasAVX2, attendOps{attendF32AVX2, attendF16AVX2}},
	}
}

// An attendFunc is a tile of one shape over storage of type E. Strides are in
// bytes.
type attendFunc[E float32 | uint16] = func(panels, depth int, a *float32, aStride int, b *E, bStride, bPanel int, c *float32, cStride int, carry bool)

// An attendTable holds the tiles by width (1, 2, 4 vectors) and number of rows,
// less one.
type attendTable[E float32 | uint16] struct {
	tiles [3][tileRows]attendFunc[E]

	// chunk is how deep a tile of several rows goes at a time, if it is narrower
	// inside than it seems: b is in a cache near by for its further pieces then.
	chunk int
}

func attendF32AVX512(s tileShape, a, b, c []float32) { tilesF32AVX512.run(s, a, b, c) }
func attendF32AVX2(s tileShape, a, b, c []float32)   { tilesF32AVX2.run(s, a, b, c) }
func attendF16AVX512(s tileShape, a []float32, b []uint16, c []float32) {
	tilesF16AVX512.run(s, a, b, c)
}
func attendF16AVX2(s tileShape, a []float32, b []uint16, c []float32) { tilesF16AVX2.run(s, a, b, c) }

// run does a tile. It panics if a slice is too short for the shape.
func (t *attendTable[E]) run(s tileShape, a []float32, b []E, c []float32) {
	_ = a[(s.rows-1)*s.aStride+s.depth-1]
	_ = b[(s.panels-1)*s.bPanel+(s.depth-1)*s.bStride+lanes*s.vectors-1]
	_ = c[(s.rows-1)*s.cStride+(s.panels-1)*panelKeys+lanes*s.vectors-1]
	if s.vectors == 3 {
		s.vectors = 2
		t.run(s, a, b, c)
		s.vectors = 1
		t.run(s, a, b[2*lanes:], c[2*lanes:])
		return
	}
	if t.chunk == 0 || s.rows == 1 || s.panels > 1 {
		t.call(s, a, b, c)
		return
	}
	for i, depth := 0, s.depth; i < depth; i += t.chunk {
		s.depth = min(t.chunk, depth-i)
		t.call(s, a[i:], b[i*s.bStride:], c)
		s.carry = true
	}
}

// call runs the function of a shape.
func (t *attendTable[E]) call(s tileShape, a []float32, b []E, c []float32) {
	const float = 4
	elem := int(unsafe.Sizeof(b[0]))
	t.tiles[s.vectors/2][s.rows-1](s.panels, s.depth, &a[0], float*s.aStride, &b[0], elem*s.bStride, elem*s.bPanel,
		&c[0], float*s.cStride, s.carry)
}

var tilesF32AVX512 = attendTable[float32]{tiles: [3][tileRows]attendFunc[float32]{
	{attendF32R1V1AVX512, attendF32R2V1AVX512, attendF32R3V1AVX512, attendF32R4V1AVX512, attendF32R5V1AVX512, attendF32R6V1AVX512},
	{attendF32R1V2AVX512, attendF32R2V2AVX512, attendF32R3V2AVX512, attendF32R4V2AVX512, attendF32R5V2AVX512, attendF32R6V2AVX512},
	{attendF32R1V4AVX512, attendF32R2V4AVX512, attendF32R3V4AVX512, attendF32R4V4AVX512, attendF32R5V4AVX512, attendF32R6V4AVX512},
}}

// One row spends its time on widening. Zen 4 does that faster with 256 bits, and
// others are no slower than memory either way.
var tilesF16AVX512 = attendTable[uint16]{tiles: [3][tileRows]attendFunc[uint16]{
	{attendF16R1V1AVX2, attendF16R2V1AVX512, attendF16R3V1AVX512, attendF16R4V1AVX512, attendF16R5V1AVX512, attendF16R6V1AVX512},
	{attendF16R1V2AVX2, attendF16R2V2AVX512, attendF16R3V2AVX512, attendF16R4V2AVX512, attendF16R5V2AVX512, attendF16R6V2AVX512},
	{attendF16R1V4AVX2, attendF16R2V4AVX512, attendF16R3V4AVX512, attendF16R4V4AVX512, attendF16R5V4AVX512, attendF16R6V4AVX512},
}}

var tilesF32AVX2 = attendTable[float32]{tiles: [3][tileRows]attendFunc[float32]{
	{attendF32R1V1AVX2, attendF32R2V1AVX2, attendF32R3V1AVX2, attendF32R4V1AVX2, attendF32R5V1AVX2, attendF32R6V1AVX2},
	{attendF32R1V2AVX2, attendF32R2V2AVX2, attendF32R3V2AVX2, attendF32R4V2AVX2, attendF32R5V2AVX2, attendF32R6V2AVX2},
	{attendF32R1V4AVX2, attendF32R2V4AVX2, attendF32R3V4AVX2, attendF32R4V4AVX2, attendF32R5V4AVX2, attendF32R6V4AVX2},
}, chunk: 256}

var tilesF16AVX2 = attendTable[uint16]{tiles: [3][tileRows]attendFunc[uint16]{
	{attendF16R1V1AVX2, attendF16R2V1AVX2, attendF16R3V1AVX2, attendF16R4V1AVX2, attendF16R5V1AVX2, attendF16R6V1AVX2},
	{attendF16R1V2AVX2, attendF16R2V2AVX2, attendF16R3V2AVX2, attendF16R4V2AVX2, attendF16R5V2AVX2, attendF16R6V2AVX2},
	{attendF16R1V4AVX2, attendF16R2V4AVX2, attendF16R3V4AVX2, attendF16R4V4AVX2, attendF16R5V4AVX2, attendF16R6V4AVX2},
}, chunk: 128}
