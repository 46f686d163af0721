package ggml

import (
	"encoding/binary"

	"verity/internal/tensor"
)

// The functions below decode the 32 weights of a block. Weights i and i+16 share byte i
// of the low bits; weight i is in its lower half. Products are rounded before anything
// is added.

// half returns the binary16 at b.
func half(b []byte) float32 { return tensor.F16ToFloat32(binary.LittleEndian.Uint16(b)) }

// q4_0: d, 16 bytes of q+8.
func q4_0(dst []float32, b []byte) {
	d := half(b)
	for i, q := range b[2:18] {
		dst[i] = float32(int(q&15)-8) * d
		dst[i+16] = float32(int(q>>4)-8) * d
	}
}

// q4_1: d, m, 16 bytes of q.
func q4_1(dst []float32, b []byte) {
	d, m := half(b), half(b[2:])
	for i, q := range b[4:20] {
		dst[i] = float32(float32(q&15)*d) + m
		dst[i+16] = float32(float32(q>>4)*d) + m
	}
}

// fifth returns bit i of the high bits as bit 4 of a weight.
func fifth(high uint32, i int) byte { return byte(high>>i&1) << 4 }

// q5_0: d, 4 bytes of high bits, 16 bytes of the low four bits of q+16.
func q5_0(dst []float32, b []byte) {
	d, high := half(b), binary.LittleEndian.Uint32(b[2:])
	for i, q := range b[6:22] {
		dst[i] = float32(int(q&15|fifth(high, i))-16) * d
		dst[i+16] = float32(int(q>>4|fifth(high, i+16))-16) * d
	}
}

// q5_1: d, m, 4 bytes of high bits, 16 bytes of the low four bits of q.
func q5_1(dst []float32, b []byte) {
	d, m, high := half(b), half(b[2:]), binary.LittleEndian.Uint32(b[4:])
	for i, q := range b[8:24] {
		dst[i] = float32(float32(q&15|fifth(high, i))*d) + m
		dst[i+16] = float32(float32(q>>4|fifth(high, i+16))*d) + m
	}
}

// q8_0: d, 32 bytes of q.
func q8_0(dst []float32, b []byte) {
	d := half(b)
	for i, q := range b[2:34] {
		dst[i] = float32(int8(q)) * d
	}
}
