//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

// What the implementations of one name may use. Where they need more, as int8
// products need VNNI, their table says so.
var (
	hasAVX2   = cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasF16C
	hasAVX512 = hasAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL
	hasVNNI   = hasAVX512 && cpu.X86.HasAVX512VNNI

	// prefetchFew is for processors that read weights faster if told what is next: 4 to
	// 9 % on Zen 5. Zen 4 got slower by a third; AVX-VNNI is how the two are told apart.
	prefetchFew = hasAVX512 && cpu.X86.HasAVXVNNI
)
