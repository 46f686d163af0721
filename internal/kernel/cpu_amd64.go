//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

// Whether this CPU can run the sets. AVX-VNNI is for processors without AVX-512, which may have
// its products of bytes for 256 bits.
var (
	hasAVX2    = cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasF16C
	hasAVXVNNI = hasAVX2 && cpu.X86.HasAVXVNNI
	hasAVX512  = hasAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL
)

// aheadRows is the least number of rows for which weights are prefetched. Products of
// fewer than six are bound by memory. Prefetching makes them 4 to 24 % faster on Zen 5 and
// Sapphire Rapids, and a third slower on Zen 4, whose hardware prefetcher does better
// alone. With AVX2 alone it does not help.
var aheadRows = func() int {
	if hasAVX512 && cpu.X86.HasAVXVNNI {
		return 1
	}
	return fewRows
}()
