package ggml

import (
	"encoding/binary"
	"math"

	"verity/internal/tensor"
)

// The functions below decode the 32 weights of a block. Weights i and i+16 share byte i
// of the low bits; weight i is in its lower half. Products are rounded before anything
// is added.

// half returns the binary16 at b.
func half(b []byte) float32 { return tensor.F16ToFloat32(binary.LittleEndian.Uint16(b)) }

// nibbles decodes 16 bytes of low bits after a header: d, m if there is a minimum, and a fifth
// bit for each weight, in four bytes, if there is one. Without a minimum, codes have the middle of
// their range added.
func nibbles(minimum, fifth bool) func(dst []float32, b []byte) {
	return func(dst []float32, b []byte) {
		d, m, middle, high := half(b), float32(math.Copysign(0, -1)), 8, uint32(0) // x + -0 is x
		if b = b[2:]; minimum {
			m, middle, b = half(b), 0, b[2:]
		}
		if fifth {
			high, middle, b = binary.LittleEndian.Uint32(b), 2*middle, b[4:]
		}
		code := func(low byte, i int) float32 { return float32(int(low) + int(high>>i&1)<<4 - middle) }
		for i, q := range b[:16] {
			dst[i] = float32(code(q&15, i)*d) + m
			dst[i+16] = float32(code(q>>4, i+16)*d) + m
		}
	}
}

// q8_0: d, 32 bytes of q.
func q8_0(dst []float32, b []byte) {
	d := half(b)
	for i, q := range b[2:34] {
		dst[i] = float32(int8(q)) * d
	}
}
