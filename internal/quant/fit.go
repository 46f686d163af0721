package quant

import (
	"math"

	"verity/internal/tensor"
)

// A Grid is the scale of a group, and its zero. They determine the values that its
// weights can have.
type Grid struct {
	format Format
	bits   uint16 // the scale as stored
	zero   uint8
	scale  float32 // with the unit of the format
}

// Largest is the largest magnitude of a weight: the largest binary16.
const Largest = 65504

// grid returns the grid of a scale, rounded to what the format stores.
func (f Format) grid(scale float32, zero uint8) Grid {
	bits := tensor.F16Bits(significant(scale, forms[f].digits))
	return Grid{f, bits, zero, tensor.F16ToFloat32(bits)}
}

// power returns the grid of an E8M0 scale.
func (f Format) power(e int) Grid {
	return Grid{f, uint16(e), 0, exp2(e-127) * forms[f].unit}
}

// significant rounds x to that many significant bits, ties to even.
func significant(x float32, digits int) float32 {
	u := math.Float32bits(x)
	drop := uint(24 - digits)
	u += 1<<(drop-1) - 1 + u>>drop&1
	return math.Float32frombits(u &^ (1<<drop - 1))
}

// Scale returns the factor of an integer of the table.
func (g Grid) Scale() float32 { return g.scale }

// Value returns the weight of a code.
func (g Grid) Value(code uint8) float32 {
	return g.scale * float32(int(forms[g.format].table[code])-int(g.zero))
}

// Code returns the code whose value is nearest to x; beyond the range, the first or last.
// Ties go to the even integer, or mantissa.
func (g Grid) Code(x float32) uint8 {
	if g.scale == 0 {
		return g.nothing()
	}
	u := x / g.scale
	switch g.format {
	case Int4:
		return uint8(clamp(u, -8, 7) + 8)
	case Int4Z:
		return uint8(clamp(u, -float32(g.zero), float32(15-g.zero)) + int(g.zero))
	}
	return element(u, forms[g.format].mantissa)
}

// nothing is the code of zero.
func (g Grid) nothing() uint8 {
	switch g.format {
	case Int4:
		return 8
	case Int4Z:
		return g.zero
	}
	return 0
}

// clamp rounds u to an integer from lo to hi.
func clamp(u, lo, hi float32) int {
	return int(math.RoundToEven(float64(min(max(u, lo), hi))))
}

// element returns the code of u, counted in the smallest steps of a float with m
// bits of mantissa. Steps are 1, then 2, then 4 wide.
func element(u float32, m int) uint8 {
	sign := 0
	if u < 0 {
		sign, u = 1<<(2+m), -u
	}
	shift := 0
	for shift < 2 && u >= float32(int(2)<<m<<shift) {
		shift++
	}
	v := int(math.RoundToEven(float64(min(u, 1e6) / float32(int(1)<<shift))))
	if v == 2<<m && shift < 2 { // up to the next binade
		v, shift = v/2, shift+1
	}
	v = min(v, 2<<m-1)
	return uint8(sign | v + shift<<m)
}

// Fit returns the grid for a group: for MX that of the specification, for integers that
// with the smallest squared error of several candidates, where the error of each weight
// is multiplied by its importance unless that is nil. Weights must be finite and at most
// Largest in magnitude.
func (f Format) Fit(w, importance []float32) Grid {
	var lo, hi float32
	for _, x := range w {
		lo, hi = min(lo, x), max(hi, x)
	}
	most := max(-lo, hi)
	switch {
	case f.ScaleBytes() == 1:
		return f.power(exponent(most, forms[f].least))
	case most == 0:
		return f.grid(0, 0)
	}
	best, least := f.grid(0, 0), float32(math.Inf(1))
	consider := func(g Grid) {
		if e := g.err(w, importance); e < least && g.scale != 0 {
			best, least = g, e
		}
	}
	switch f {
	case Int4: // a negative scale reverses the range -8 … 7
		for _, reach := range []float32{6.4, 6.8, 7.1, 7.35, 7.6, 7.9, 8.2, 8.6, 9.1, 9.7} {
			consider(f.grid(most/reach, 0))
			consider(f.grid(-most/reach, 0))
		}
	case Int4Z:
		for _, reach := range []float32{14.6, 15, 15.5, 16, 16.6, 17.3, 18.1, 19, 20} {
			s := (hi - lo) / reach
			zero := (15*s - hi - lo) / 2 / s // clipping is shared by both ends
			for _, move := range []float32{-0.6, 0, 0.6} {
				consider(f.grid(s, uint8(clamp(zero+move, 0, 15))))
			}
		}
	}
	return best
}

// exponent returns the shared exponent of the MX specification, section 6.3: that of the
// largest weight minus that of the largest element, which is 2.
func exponent(most float32, least int) int {
	_, e := math.Frexp(float64(most)) // most = m·2ᵉ, m in [½, 1)
	if most == 0 {
		return least
	}
	return max(e-1-2+127, least)
}

// err returns the squared error of the nearest codes.
func (g Grid) err(w, importance []float32) (sum float32) {
	for i, x := range w {
		d := g.Value(g.Code(x)) - x
		e := float32(d * d)
		if importance != nil {
			e *= importance[i]
		}
		sum += e
	}
	return sum
}
