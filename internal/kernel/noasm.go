//go:build (!amd64 && !arm64) || purego

package kernel

// Without assembly only "ref" is left. A new architecture adds a file that declares these
// names, and is excluded by the constraint above.

// setsOfArch returns the sets of kernels in assembly, best first. Nil fields are what that
// type's comment says, others must be filled.
func setsOfArch() []set { return nil }

func prefetchRows(dst *byte, stride int, rows int) {}

// aheadRows is the least number of rows for which weights are prefetched.
const aheadRows = 1
