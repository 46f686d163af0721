//go:build (!amd64 && !arm64) || purego

package kernel

// Without assembly only "ref" is left. A new architecture adds a file that declares these
// names, and is excluded by the constraint above. Each returns sets of kernels, best first;
// nil fields are what that type's comment says, others must be filled.

func tileArch() []impl[tileKernels]             { return nil }
func int8Arch() []impl[int8Kernels]             { return nil }
func attendArch() []impl[attendOps]             { return nil }
func attendInt8Arch() []impl[attendInt8Ops]     { return nil }
func vectorArch() []impl[vectorOps]             { return nil }
func packArch() []impl[packKernels]             { return nil }
func fewBitsArch() []impl[fewBitsKernels]       { return nil }
func ceilingArch() []impl[ceilingKernels]       { return nil }
func fetchRows(dst *byte, stride int, rows int) {}

// aheadRows is the least number of rows for which weights are prefetched.
const aheadRows = 1
