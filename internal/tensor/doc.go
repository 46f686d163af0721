// Package tensor is storage for weights: a data type, a shape, and bytes.
//
//	file → safetensors → [Tensor] → model → kernels (packed there)
//
// # Conventions
//
// Elements are row-major and little-endian, as the safetensors format has them.
// The bytes may be a read-only memory map at any alignment, so they are read
// with encoding/binary and never cast. A Tensor is immutable: nobody writes to
// Data once it is made.
//
// # Arithmetic
//
// There is none here but exact conversion. Half precision widens to float32
// without rounding; narrowing rounds to nearest, ties to even, as IEEE 754
// says and as torch does. NaN stays NaN; its payload is not kept.
package tensor
