package main

// These constants are those of vector_exp.go, vector_gelu.go and frame.go, which explain
// them.
const (
	log2e      = 1.4426950408889634
	ln2Hi      = 355.0 / 512
	ln2Lo      = -2.12194440054690583e-4
	expMin     = -104
	roundShift = 3 << 22
	geluMax    = 12.9375
)

var expPoly = []float32{0x1.6a5232p-10, 0x1.12396cp-7, 0x1.5558aap-5, 0x1.555492p-3, 0x1.fffffcp-2}

const (
	sqrtHalf     = 0x3f3504f3
	log10e       = 0.43429448190325182
	leastNormal  = 0x1p-126
	mantissaBits = 1<<23 - 1
)

var logPoly = []float32{-0x1.38c974p-4, 0x1.055eaep-3, -0x1.0d8246p-3, 0x1.22d93p-3,
	-0x1.54728ap-3, 0x1.99a01cp-3, -0x1.000226p-2, 0x1.555554p-2}

var geluPoly = []float32{0x1.bdbc2p-6, -0x1.7ce0a8p-4, 0x1.56e5d6p-4, 0x1.318a3p-7, 0x1.fcfae2p-5,
	-0x1.4518c2p-3, -0x1.25dc7ep-2, 0x1.0d9b9cp+0, -0x1.32633ap+0, 0.5}
