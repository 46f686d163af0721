//go:build !arm64 || purego

package kernel

// Constants of layout that may differ between architectures. A file with other values
// needs a build constraint of its own, and this file the opposite one. Neither signatures
// nor results depend on them: sums of integers are exact.

// int8Zero is added to activations and keys that are rounded to int8; Matrix.offset and
// its like cancel it. VPDPBUSD of amd64 needs one unsigned factor. SDOT of arm64 takes
// two signed ones: there it is 0.
const int8Zero = 128

// level returns what a byte of rounded activations or keys counts as in a sum.
func level(b uint8) int32 { return int32(b) }
