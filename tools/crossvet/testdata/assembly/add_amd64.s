#include "textflag.h"

// func Add(a, b int64) int64
TEXT ·Add(SB), NOSPLIT, $0-24
	MOVQ a+0(FP), AX
	ADDQ c+8(FP), AX
	MOVQ AX, ret+16(FP)
	RET
