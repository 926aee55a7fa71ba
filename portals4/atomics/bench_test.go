package atomics

import (
	"fmt"
	"testing"
)

func BenchmarkSum(b *testing.B) {
	for _, typ := range []uint8{Int32, Double} {
		for _, n := range []int{8, 512, 64 << 10} {
			target, operand, old := place(n, 0), place(n, 0), place(n, 0)
			clear(operand)
			for name, f := range map[string]func(){
				"Apply":      func() { Apply(Sum, typ, target, operand) },
				"ApplyAlone": func() { ApplyAlone(Sum, typ, target, operand) },
				"Fetch":      func() { Fetch(Sum, typ, target, operand, old) },
				"FetchAlone": func() { FetchAlone(Sum, typ, target, operand, old) },
			} {
				b.Run(fmt.Sprintf("%s/%s/%d", name, typeNames[typ], n), func(b *testing.B) {
					b.SetBytes(int64(n))
					for range b.N {
						f()
					}
				})
			}
		}
	}
}

func BenchmarkCSwap(b *testing.B) {
	target, origin, operand, old := place(8, 0), place(8, 0), place(8, 0), place(8, 0)
	for range b.N {
		SwapApply(CSwap, Uint64, target, origin, operand, old)
	}
}
