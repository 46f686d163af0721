// Package constants has the numbers of vector_exp.go, vector_gelu.go and frame.go in package
// kernel, which explain them, for the generators of all processors.
package constants

const (
	Log2e      = 1.4426950408889634
	Ln2Hi      = 355.0 / 512
	Ln2Lo      = -2.12194440054690583e-4
	Log10e     = 0.43429448190325182
	ExpMin     = -104
	ExpMax     = 89
	RoundShift = 3 << 22
	GeluMax    = 12.9375

	SqrtHalf     = 0x3f3504f3 // its bits
	LeastNormal  = 0x1p-126
	MantissaBits = 1<<23 - 1
)

// Coefficients, the first of the highest power.
var (
	Exp = []float32{0x1.6a5232p-10, 0x1.12396cp-7, 0x1.5558aap-5, 0x1.555492p-3, 0x1.fffffcp-2}
	Log = []float32{-0x1.38c974p-4, 0x1.055eaep-3, -0x1.0d8246p-3, 0x1.22d93p-3,
		-0x1.54728ap-3, 0x1.99a01cp-3, -0x1.000226p-2, 0x1.555554p-2}
	Gelu = []float32{0x1.bdbc2p-6, -0x1.7ce0a8p-4, 0x1.56e5d6p-4, 0x1.318a3p-7, 0x1.fcfae2p-5,
		-0x1.4518c2p-3, -0x1.25dc7ep-2, 0x1.0d9b9cp+0, -0x1.32633ap+0, 0.5}
)
