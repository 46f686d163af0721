package kernel

// What an architecture may have otherwise. Files with other values need a build
// constraint of their own, and this one the opposite. No signature depends on them, and
// no result: sums of integers are exact, and a column is a column wherever it lies.

// int8Zero is what is added to activations and keys that are rounded to int8, and taken
// off again by Matrix.offset and the like. VPDPBUSD of amd64 wants one factor unsigned.
// SDOT of arm64 takes both as they are: 0.
const int8Zero = 128

// int8Signs turns eight int8 into what int8Zero makes of them, and back, by exclusive or.
const int8Signs = 0x0101010101010101 * int8Zero

// bf16Column returns the place of column c in a panel of bf16: in each half, 0,
// 16, 1, 17, … 15, 31.
func bf16Column(c int) int { return c&32 | c&15<<1 | c>>4&1 }
