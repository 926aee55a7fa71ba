package btltest

import (
	"encoding/binary"
	"errors"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
)

// testAtomics changes words of a peer's registered memory, and nothing beside them.
func testAtomics(t *testing.T, cfg Config) {
	p := newPair(t, cfg)
	a, ok := p.ep.(btl.Atomics)
	if !ok {
		t.Skip("no Atomics")
	}
	p.connect(t)
	reg := p.to.Module.(btl.Registrar)
	mem := cfg.memory(t, p.to, 64)
	for i := range mem {
		mem[i] = 0xa5
	}
	var h btl.MemHandle
	var err error
	p.to.Do(func() { h, err = reg.Register(unsafe.Pointer(&mem[0]), 64) })
	if err != nil {
		t.Fatalf("Register: %v", err)
	}
	result := cfg.memory(t, p.from, 9)
	// on carries an operation out on the word at off, and gives what it brought.
	on := func(n, off int64, start func(x *btl.Transfer) (bool, error)) (uint64, error) {
		clear(result)
		err := p.transfer(t, &btl.Transfer{Local: unsafe.Pointer(&result[0]), N: n, Remote: h, Off: off}, start)
		return binary.NativeEndian.Uint64(result), err
	}
	const start = 0xfffffff0
	for _, n := range []int64{4, 8} {
		off := 2 * n
		put := func(v uint64) {
			if n == 4 {
				binary.NativeEndian.PutUint32(mem[off:], uint32(v))
			} else {
				binary.NativeEndian.PutUint64(mem[off:], v)
			}
		}
		get := func() uint64 {
			if n == 4 {
				return uint64(binary.NativeEndian.Uint32(mem[off:]))
			}
			return binary.NativeEndian.Uint64(mem[off:])
		}
		mask := ^uint64(0) >> (64 - 8*n)
		for _, c := range []struct {
			op             btl.AtomicOp
			old, operand   uint64
			result         uint64
			compare, value uint64
			swap           bool
		}{
			{op: btl.AtomicAdd, old: start, operand: 0x20, result: start + 0x20},
			{op: btl.AtomicAdd, old: 5, operand: ^uint64(0), result: 4},
			{op: btl.AtomicAnd, old: 0xff0, operand: 0x0ff, result: 0x0f0},
			{op: btl.AtomicOr, old: 0xff0, operand: 0x00f, result: 0xfff},
			{op: btl.AtomicXor, old: 0xff0, operand: 0x0ff, result: 0xf0f},
			{op: btl.AtomicMin, old: 3, operand: ^uint64(0), result: ^uint64(0)},
			{op: btl.AtomicMax, old: 3, operand: ^uint64(0), result: 3},
			{op: btl.AtomicMax, old: ^uint64(6), operand: 9, result: 9},
			{op: btl.AtomicSwap, old: 7, operand: 1<<63 | 8, result: 1<<63 | 8},
			{swap: true, old: 7, compare: 7, value: 9, result: 9},
			{swap: true, old: 7, compare: 8, value: 9, result: 7},
		} {
			put(c.old)
			got, err := on(n, off, func(x *btl.Transfer) (bool, error) {
				if c.swap {
					return a.CompareSwap(x, c.compare, c.value)
				}
				return a.FetchOp(x, c.op, c.operand)
			})
			if errors.Is(err, btl.ErrNotSupported) {
				t.Skipf("atomic operations between these ranks: %v", err)
			}
			if err != nil || got != c.old&mask || get() != c.result&mask {
				t.Errorf("%d bytes, %+v: brought %#x and left %#x, %v", n, c, got, get(), err)
			}
		}
		put(0xa5a5a5a5a5a5a5a5)
	}
	for i, b := range mem {
		if b != 0xa5 {
			t.Errorf("byte %d was written", i)
		}
	}
	for _, r := range [][2]int64{{8, 57}, {8, -8}, {8, 64}, {4, 61}, {2, 0}, {16, 0}, {0, 0}} {
		if _, err := on(min(r[0], 8), r[1], func(x *btl.Transfer) (bool, error) {
			x.N = r[0]
			return a.FetchOp(x, btl.AtomicAdd, 1)
		}); err == nil {
			t.Errorf("an operation on %d bytes at %d succeeded", r[0], r[1])
		}
	}
	p.to.Do(func() { reg.Deregister(h) })
	if _, err := on(8, 0, func(x *btl.Transfer) (bool, error) { return a.CompareSwap(x, 0, 1) }); err == nil && !cfg.RawHandles {
		t.Error("an operation on memory that is not registered any more succeeded")
	}
}
