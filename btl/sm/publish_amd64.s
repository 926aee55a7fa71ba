//go:build amd64 && !race

#include "textflag.h"

// func publish(slot *uint64, w uint64, ahead unsafe.Pointer)
//
// A plain store: on this architecture stores become visible in program order, so everything written to the slot before is seen
// with it, and the sender need not wait for the line as a locked exchange would. Then the line of a slot to be written soon is
// fetched for writing (PREFETCHW).
TEXT ·publish(SB), NOSPLIT, $0-24
	MOVQ slot+0(FP), AX
	MOVQ w+8(FP), BX
	MOVQ ahead+16(FP), CX
	MOVQ BX, (AX)
	BYTE $0x0F; BYTE $0x0D; BYTE $0x09
	RET

// func prefetch(p unsafe.Pointer)
//
// PREFETCHT0: unlike a load whose value nobody wants it does not hold up what comes after it.
TEXT ·prefetch(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), AX
	BYTE $0x0F; BYTE $0x18; BYTE $0x08
	RET
