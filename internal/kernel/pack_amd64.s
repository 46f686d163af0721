//go:build !purego

#include "textflag.h"

// Written by hand: widenHalfRef, sixteen elements a turn. VCVTPH2PS is exact.

// func widenHalfAVX2(dst *float32, src *byte, n int)
TEXT ·widenHalfAVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX

sixteen:
	VCVTPH2PS (SI), Y0
	VCVTPH2PS 16(SI), Y1
	VMOVUPS   Y0, (DI)
	VMOVUPS   Y1, 32(DI)
	ADDQ      $32, SI
	ADDQ      $64, DI
	SUBQ      $16, CX
	JNZ       sixteen
	VZEROUPPER
	RET
