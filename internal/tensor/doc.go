// Package tensor is storage for weights: a data type, a shape, and bytes.
//
//	file → safetensors → [Tensor] → model → kernels (packed there)
//
// # Conventions
//
// Elements are row-major and little-endian, as in safetensors. The bytes may be a
// read-only memory map at any alignment, so they are read with encoding/binary and never
// cast. A Tensor is immutable: Data is never written once it is made.
//
// # Arithmetic
//
// Only exact conversions, and rounding to half precision. Half precision widens to
// float32 without rounding; narrowing rounds to nearest, ties to even, as in IEEE 754 and
// torch. NaN stays NaN; its payload is not kept.
package tensor
