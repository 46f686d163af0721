package kernel

import "verity/precision"

// tileRows is the most rows a tile has: 6×64 sums fill the registers of AVX-512.
const tileRows = 6

// int8TileRows is the most rows that go through a cache in int8 together, where the
// tile unit does the products.
const int8TileRows = 32

// A tileShape describes a product of few rows with panels of many columns.
//
//	for p < panels, r < rows, l < 64:
//	    sum = 0, or c[r·cStride+64p+l] if carry
//	    for i < depth, in order:
//	        sum = fma(a[r·aStride+i], b[p·bPanel+i·bStride+l], sum)
//	    c[r·cStride+64p+l] = sum
//
// Both halves of attention have this form. For scores, a is a query, b a panel of
// keys and depth the head size; for the output, a holds the weights, b the values
// and depth is the number of keys.
type tileShape struct {
	rows    int // 1 … tileRows
	panels  int
	depth   int
	aStride int
	bStride int
	bPanel  int
	cStride int
	carry   bool // continue the sums in c
}

// attendOps are the tiles over both kinds of storage. Binary16 is widened
// exactly.
type attendOps struct {
	f32 func(s tileShape, a, b, c []float32)
	f16 func(s tileShape, a []float32, b []uint16, c []float32)
}

var attendRef = attendOps{f32: attendF32Ref, f16: attendF16Ref}

// multiply computes the tile with b from a store, starting at offset.
func (o *attendOps) multiply(s tileShape, a []float32, b *store, offset int, c []float32) {
	if b.format == precision.F32 {
		o.f32(s, a, view[float32](b.data)[offset:], c)
		return
	}
	o.f16(s, a, view[uint16](b.data)[offset:], c)
}

func attendF32Ref(s tileShape, a, b, c []float32) {
	for p := range s.panels {
		s.start(c[p*panelKeys:])
		for i := range s.depth {
			s.step(a[i:], b[p*s.bPanel+i*s.bStride:][:panelKeys], c[p*panelKeys:])
		}
	}
}

func attendF16Ref(s tileShape, a []float32, b []uint16, c []float32) {
	var wide [panelKeys]float32
	for p := range s.panels {
		s.start(c[p*panelKeys:])
		for i := range s.depth {
			widenF16Ref(wide[:], b[p*s.bPanel+i*s.bStride:][:panelKeys])
			s.step(a[i:], wide[:], c[p*panelKeys:])
		}
	}
}

// start sets the sums of a panel to zero unless they are carried on.
func (s *tileShape) start(c []float32) {
	for r := range s.rows {
		if !s.carry {
			clear(c[r*s.cStride:][:panelKeys])
		}
	}
}

// step adds the product of a column of a and a row of b to the sums of a panel.
func (s *tileShape) step(a, b, c []float32) {
	for r := range s.rows {
		addScaled(c[r*s.cStride:][:len(b)], a[r*s.aStride], b)
	}
}
