//go:build !purego

package kernel

// int8Zero is not needed: SDOT and SMMLA take two signed factors.
const int8Zero = 0

// level returns what a byte of rounded activations or keys counts as in a sum.
func level(b uint8) int32 { return int32(int8(b)) }
