//go:build !purego

#include "textflag.h"

// func fetchRows(dst *byte, stride, rows int)
//
// PREFETCHW, which the assembler does not know, of 256 bytes from each of dst,
// dst+stride, … on. Processors without it take it for a NOP. It never faults.
TEXT ·fetchRows(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), AX
	MOVQ stride+8(FP), BX
	MOVQ rows+16(FP), CX

loop:
	BYTE $0x0f; BYTE $0x0d; BYTE $0x08                                             // PREFETCHW (AX)
	BYTE $0x0f; BYTE $0x0d; BYTE $0x48; BYTE $0x40                                 // PREFETCHW 64(AX)
	BYTE $0x0f; BYTE $0x0d; BYTE $0x88; BYTE $0x80; BYTE $0; BYTE $0; BYTE $0      // PREFETCHW 128(AX)
	BYTE $0x0f; BYTE $0x0d; BYTE $0x88; BYTE $0xc0; BYTE $0; BYTE $0; BYTE $0      // PREFETCHW 192(AX)
	ADDQ BX, AX
	DECQ CX
	JNZ  loop
	RET
