package tensor

import (
	"encoding/binary"
	"math"
	"sync"

	"github.com/x448/float16"
)

// f16Table maps the bits of every binary16 to its value: 256 KiB, which a
// second-level cache holds, three times as fast as converting.
var f16Table = sync.OnceValue(func() *[1 << 16]float32 {
	var table [1 << 16]float32
	for u := range table {
		table[u] = float16.Frombits(uint16(u)).Float32()
	}
	return &table
})

// F16Bits returns x rounded to binary16. From 65520 up that is infinity.
func F16Bits(x float32) uint16 { return float16.Fromfloat32(x).Bits() }

// F16ToFloat32 returns the value of a binary16, exactly.
func F16ToFloat32(bits uint16) float32 { return f16Table()[bits] }

// BF16Bits returns x rounded to bfloat16.
//
// Adding 0x7fff plus the lowest bit that stays carries into the upper half
// exactly when the lower half is above a half, or is a half and the upper half
// is odd. A NaN could carry into infinity, so it is made quiet instead.
func BF16Bits(x float32) uint16 {
	u := math.Float32bits(x)
	if x != x {
		return uint16(u>>16) | 0x40
	}
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

// BF16ToFloat32 returns the value of a bfloat16, exactly.
func BF16ToFloat32(bits uint16) float32 { return math.Float32frombits(uint32(bits) << 16) }

// FitsF16 reports whether every value of t is a binary16, so that storing t in
// half precision changes nothing. Infinity fits, NaN does not.
func FitsF16(t Tensor) bool {
	switch t.DType {
	case F16, I8: // |int8| is below 2¹¹
		return true
	case F32: // compared as stored: large checkpoints are read through
		for data := t.Data; len(data) >= 4; data = data[4:] {
			if u := binary.LittleEndian.Uint32(data); u&0x1fff != 0 || u>>23&0xff-113 > 142-113 {
				if !fitsF16(math.Float32frombits(u)) {
					return false
				}
			}
		}
		return true
	}
	var buf [1024]float32
	for from, n := 0, t.Len(); from < n; from += len(buf) {
		part := buf[:min(len(buf), n-from)]
		t.CopyTo(part, from)
		for _, x := range part {
			if !fitsF16(x) {
				return false
			}
		}
	}
	return true
}

// fitsF16 reports whether x is a binary16. With biased exponent e and mantissa
// m, x is (2²³+m)·2^(e-150). A normal binary16 has e in 113 … 142 and eleven
// significant bits, so the lowest 13 of m are zero. Below that x must be a
// multiple of 2⁻²⁴: the lowest 126-e bits of 2²³+m are zero.
func fitsF16(x float32) bool {
	u := math.Float32bits(x) & 0x7fffffff
	e := u >> 23
	switch {
	case e >= 113 && e <= 142:
		return u&0x1fff == 0
	case e >= 103 && e < 113:
		return u&(1<<(126-e)-1)&0x7fffff == 0
	}
	return u == 0 || u == 0x7f800000
}
