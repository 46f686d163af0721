package quant

import (
	"math"

	"verity/precision"
)

// Group is the number of weights that share a scale.
const Group = 32

// A Format is a grouped [precision.Format], with the tables of its coding.
type Format precision.Format

// The formats, as in the package documentation.
const (
	Int4  = Format(precision.Int4)
	Int4Z = Format(precision.Int4Z)
	MXFP6 = Format(precision.MXFP6)
)

// A form is the definition of a format.
type form struct {
	mantissa int     // of an MX element; 0 for integers
	unit     float32 // value of one step of the table
	digits   int     // significant bits of a scale; 1 is E8M0
	least    int     // lowest E8M0 whose smallest step is a binary16
	table    []int8
}

var forms = [...]form{
	Int4:  {unit: 1, digits: 7, table: integers(16, -8)},
	Int4Z: {unit: 1, digits: 7, table: integers(16, 0)},
	MXFP6: {mantissa: 3, unit: 1. / 8, digits: 1, least: 127 - 24 + 3, table: elements(3)},
}

// integers returns the table of n codes that begins at first.
func integers(n, first int) []int8 {
	t := make([]int8, n)
	for c := range t {
		t[c] = int8(c + first)
	}
	return t
}

// elements returns the table of a float with a sign, two bits of exponent with
// bias 1, and m of mantissa, in units of the smallest step.
func elements(m int) []int8 {
	t := make([]int8, 1<<(3+m))
	for c := range t {
		exponent, mantissa := c>>m&3, c&(1<<m-1)
		v := mantissa // subnormal
		if exponent > 0 {
			v = (1<<m + mantissa) << (exponent - 1)
		}
		if c>>(2+m) == 1 {
			v = -v
		}
		t[c] = int8(v)
	}
	return t
}

// Formats returns all formats.
func Formats() []Format { return []Format{Int4, Int4Z, MXFP6} }

// String returns "int4", "int4z" or "mxfp6".
func (f Format) String() string { return precision.Format(f).String() }

func (f Format) valid() bool { return precision.Format(f).Grouped() }

// Bits returns the width of a code.
func (f Format) Bits() int { return precision.Format(f).Bits() }

// Table returns the integer of each code. It must not be changed. With [Int4Z] the
// zero of the group is subtracted from it.
func (f Format) Table() []int8 { return forms[f].table }

// Unit returns the value of one step of the table.
func (f Format) Unit() float32 { return forms[f].unit }

// ScaleBytes returns the width of a scale: 2 for binary16, 1 for E8M0.
func (f Format) ScaleBytes() int {
	if forms[f].digits == 1 {
		return 1
	}
	return 2
}

// groups returns how many groups hold k weights.
func groups(k int) int { return (k + Group - 1) / Group }

// Sizes returns the bytes that the codes, scales and zeros of a row of k weights take.
func (f Format) Sizes(k int) (codes, scales, zeros int) {
	g := groups(k)
	if f == Int4Z {
		zeros = (g + 1) / 2
	}
	return g * Group / 8 * f.Bits(), g * f.ScaleBytes(), zeros
}

// exp2 returns 2ⁿ for a normal float32.
func exp2(n int) float32 { return math.Float32frombits(uint32(n+127) << 23) }
