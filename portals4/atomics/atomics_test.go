package atomics

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

var opNames = [ops]string{"MIN", "MAX", "SUM", "PROD", "LOR", "LAND", "BOR", "BAND", "LXOR", "BXOR", "SWAP", "CSWAP", "CSWAP_NE", "CSWAP_LE", "CSWAP_LT",
	"CSWAP_GE", "CSWAP_GT", "MSWAP"}

var typeNames = [types]string{"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float", "float complex", "double", "double complex",
	"long double", "long double complex"}

// eachLegal calls f for all operations and types.
func eachLegal(t *testing.T, swap bool, f func(t *testing.T, op, typ uint8)) {
	for op := range ops {
		for typ := range types {
			if Legal(op, typ, swap) {
				t.Run(opNames[op]+"/"+typeNames[typ], func(t *testing.T) { f(t, op, typ) })
			}
		}
	}
}

func TestLegal(t *testing.T) {
	const integer, float, cplx, long = 1, 2, 4, 8
	class := func(typ uint8) int {
		switch typ {
		case Float, Double:
			return float
		case FloatComplex, DoubleComplex:
			return cplx
		case LongDouble, LongDoubleComplex:
			return long
		}
		return integer
	}
	for op := range 256 {
		for typ := range 256 {
			allowed := 0
			switch o := uint8(op); {
			case o <= Max, o >= CSwapLE && o <= CSwapGT:
				allowed = integer | float
			case o == Sum, o == Prod, o == Swap, o == CSwap, o == CSwapNE:
				allowed = integer | float | cplx
			case o >= Lor && o <= Bxor, o == MSwap:
				allowed = integer
			}
			want := typ < int(types) && class(uint8(typ))&allowed != 0
			for _, swap := range []bool{false, true} {
				if got := Legal(uint8(op), uint8(typ), swap); got != (want && swap == (op >= int(Swap))) {
					t.Errorf("Legal(%d, %d, %v) is %v", op, typ, swap, got)
				}
			}
		}
	}
	for typ, want := range []int{1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 16, 0, 0, 0} {
		if got := Size(uint8(typ)); got != want {
			t.Errorf("Size(%d) is %d, want %d", typ, got, want)
		}
	}
	for op := range 256 {
		if Single(uint8(op)) != (op > int(Swap) && op <= int(MSwap)) {
			t.Errorf("Single(%d) is %v", op, Single(uint8(op)))
		}
	}
}

// place gives n bytes at that distance from an address divisible by 16, between guards.
func place(n, shift int) []byte {
	whole := make([]byte, n+shift+48)
	for i := range whole {
		whole[i] = 0xa5
	}
	at := shift + int(-uintptr(unsafe.Pointer(&whole[0]))&15)
	return whole[at : at+n : at+n]
}

// pairs are all pairs of edges, as two arrays.
func pairs(typ uint8) (target, operand []byte) {
	for _, a := range edges(typ) {
		for _, b := range edges(typ) {
			target, operand = append(target, a...), append(operand, b...)
		}
	}
	return target, operand
}

var shifts = []struct{ target, operand, old int }{{0, 0, 0}, {8, 8, 8}, {4, 8, 12}, {2, 0, 6}, {1, 3, 5}, {0, 1, 1}, {1, 0, 8}, {3, 3, 3}}

func TestApplyAndFetch(t *testing.T) {
	eachLegal(t, false, func(t *testing.T, op, typ uint8) {
		prior, with := pairs(typ)
		size := Size(typ)
		for _, s := range shifts {
			for _, alone := range []bool{false, true} {
				for _, fetch := range []bool{false, true} {
					target, operand, old := place(len(prior), s.target), place(len(prior), s.operand), place(len(prior), s.old)
					copy(target, prior)
					copy(operand, with)
					switch {
					case fetch && alone:
						FetchAlone(op, typ, target, operand, old)
					case fetch:
						Fetch(op, typ, target, operand, old)
					case alone:
						ApplyAlone(op, typ, target, operand)
					default:
						Apply(op, typ, target, operand)
					}
					if fetch && !bytes.Equal(old, prior) || !bytes.Equal(operand, with) {
						t.Fatalf("%+v alone %v: old values or operand are wrong", s, alone)
					}
					for i := 0; i < len(prior); i += size {
						ref := refInteger
						if typ > Uint64 {
							ref = refFloat
						}
						if want := ref(op, typ, prior[i:i+size], with[i:i+size]); !same(typ, target[i:i+size], want) {
							t.Fatalf("%+v alone %v fetch %v: %x op %x gave %x, want %x", s, alone, fetch, prior[i:i+size], with[i:i+size], target[i:i+size], want)
						}
					}
				}
			}
		}
	})
}

func TestSwapApply(t *testing.T) {
	eachLegal(t, true, func(t *testing.T, op, typ uint8) {
		size := Size(typ)
		check := func(prior, from, with []byte, st, so, sd int) {
			target, origin, old := place(len(prior), st), place(len(prior), so), place(len(prior), sd)
			operand := place(size, so)
			copy(target, prior)
			copy(origin, from)
			copy(operand, with)
			if op == Swap {
				operand = nil
			}
			SwapApply(op, typ, target, origin, operand, old)
			if !bytes.Equal(old, prior) || !bytes.Equal(origin, from) {
				t.Fatalf("old value %x, want %x", old, prior)
			}
			if want := refSwap(op, typ, prior, from, with); !bytes.Equal(target, want) {
				t.Fatalf("target %x origin %x operand %x gave %x, want %x", prior, from, with, target, want)
			}
		}
		fresh := bytes.Repeat([]byte{0x5d, 0xb7}, 8)[:size]
		for _, s := range shifts {
			prior, with := pairs(typ)
			if op == Swap {
				check(prior, with, nil, s.target, s.operand, s.old)
				continue
			}
			for i := 0; i < len(prior); i += size {
				check(prior[i:i+size], fresh, with[i:i+size], s.target, s.operand, s.old)
			}
		}
	})
}

// TestInPlace: what is fetched may go where the operand came from.
func TestInPlace(t *testing.T) {
	for typ := range types {
		if Size(typ) == 0 {
			continue
		}
		for _, alone := range []bool{false, true} {
			prior, with := pairs(typ)
			target, both := bytes.Clone(prior), bytes.Clone(with)
			if alone {
				FetchAlone(Sum, typ, target, both, both)
			} else {
				Fetch(Sum, typ, target, both, both)
			}
			want := bytes.Clone(prior)
			Apply(Sum, typ, want, with)
			if !bytes.Equal(both, prior) || !bytes.Equal(target, want) {
				t.Errorf("%s: sum fetched into its operand", typeNames[typ])
			}
			target, both = bytes.Clone(prior), bytes.Clone(with)
			SwapApply(Swap, typ, target, both, nil, both)
			if !bytes.Equal(both, prior) || !bytes.Equal(target, with) {
				t.Errorf("%s: swap fetched into its origin", typeNames[typ])
			}
		}
	}
}

func TestEmpty(t *testing.T) {
	for typ := range types {
		if Size(typ) > 0 {
			Apply(Sum, typ, nil, nil)
			ApplyAlone(Sum, typ, nil, nil)
			Fetch(Sum, typ, nil, nil, nil)
			FetchAlone(Sum, typ, nil, nil, nil)
			SwapApply(Swap, typ, nil, nil, nil, nil)
		}
	}
}

func TestIllegalPanics(t *testing.T) {
	panics := func(name string, f func()) {
		defer func() {
			if recover() == nil {
				t.Errorf("%s did not panic", name)
			}
		}()
		f()
	}
	a, b, c := make([]byte, 16), make([]byte, 16), make([]byte, 16)
	for op := range ops + 1 {
		for typ := range types + 1 {
			name := fmt.Sprintf("operation %d type %d", op, typ)
			if !Legal(op, typ, false) {
				panics(name, func() { Apply(op, typ, a, b) })
				panics(name, func() { ApplyAlone(op, typ, a, b) })
				panics(name, func() { Fetch(op, typ, a, b, c) })
				panics(name, func() { FetchAlone(op, typ, a, b, c) })
			}
			if !Legal(op, typ, true) {
				panics(name, func() { SwapApply(op, typ, a, b, b, c) })
			}
		}
	}
	panics("a short operand", func() { Apply(Sum, Int64, a, b[:8:8]) })
	panics("a short place for old values", func() { Fetch(Sum, Int64, a, b, c[:8:8]) })
}

// TestCoherent: what the program adds by sync/atomic while operations run is not lost, and every intermediate value is whole.
func TestCoherent(t *testing.T) {
	const rounds = 20000
	mem := make([]uint64, 4)
	target := unsafe.Slice((*byte)(unsafe.Pointer(&mem[0])), 32)
	small := make([]uint32, 4)
	target32 := unsafe.Slice((*byte)(unsafe.Pointer(&small[0])), 16)
	var ones, ones32 []byte
	for range 4 {
		ones = binary.NativeEndian.AppendUint64(ones, 1)
		ones32 = binary.NativeEndian.AppendUint32(ones32, 1)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range rounds {
			atomic.AddUint64(&mem[i&3], 1)
			atomic.AddUint32(&small[i&3], 1)
		}
	})
	wg.Go(func() {
		old := make([]byte, 32)
		for range rounds {
			Fetch(Sum, Uint64, target, ones, old)
			Fetch(Sum, Uint32, target32, ones32, old)
		}
	})
	wg.Go(func() {
		for range rounds {
			Apply(Sum, Int64, target, ones)
			Apply(Sum, Int32, target32, ones32)
		}
	})
	wg.Go(func() { // swaps that change nothing
		old, zero := make([]byte, 8), make([]byte, 8)
		for range rounds {
			SwapApply(MSwap, Uint64, target[:8], ones[:8], zero, old)
			SwapApply(CSwapLT, Uint32, target32[:4], ones32[:4], bytes.Repeat([]byte{255}, 4), old)
		}
	})
	wg.Wait()
	for i, v := range small {
		if v != rounds*2+rounds/4 {
			t.Errorf("uint32 %d: %d of %d additions", i, v, rounds*2+rounds/4)
		}
	}
	for i, v := range mem {
		if v != rounds*2+rounds/4 {
			t.Errorf("uint64 %d: %d of %d additions", i, v, rounds*2+rounds/4)
		}
	}
}

func TestAllocs(t *testing.T) {
	n := testing.AllocsPerRun(100, func() {
		var target, operand, old [64]byte
		for typ := range types {
			if Size(typ) > 0 {
				Apply(Sum, typ, target[:], operand[:])
				Apply(Sum, typ, target[1:49], operand[:48])
				ApplyAlone(Sum, typ, target[:], operand[:])
				Fetch(Prod, typ, target[:], operand[:], old[:])
				FetchAlone(Prod, typ, target[:], operand[:], old[:])
				SwapApply(CSwap, typ, target[:Size(typ)], operand[:], operand[:], old[:])
			}
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
