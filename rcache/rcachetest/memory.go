package rcachetest

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/rcache"
)

// block is what the tests of the collector allocate: large enough to have a size class that nobody else fills.
const block = 26 << 10

//go:noinline
func newBlock() *[block]byte { return new([block]byte) }

// register registers fresh memory, of which only the cache knows afterwards.
//
//go:noinline
func register(t *testing.T, c rcache.Cache) uintptr {
	mem := newBlock()
	r, err := c.Acquire(uintptr(unsafe.Pointer(mem)), block, unsafe.Pointer(mem))
	if err != nil {
		t.Fatal(err)
	}
	c.Release(r)
	return r.Addr
}

// comesBack allocates until the address is given out again; false when it is not in many rounds.
func comesBack(addr uintptr, rounds int) bool {
	for range rounds {
		var all [64]*[block]byte
		for i := range all {
			if all[i] = newBlock(); uintptr(unsafe.Pointer(all[i])) == addr {
				return true
			}
		}
		runtime.KeepAlive(&all)
		runtime.GC()
	}
	return false
}

// keepsMemory shows that a hit cannot be stale: while the cache would answer for an address, Go gives it to nobody; once the
// registration has gone, it may.
func keepsMemory(t *testing.T, open opener) {
	b := NewBackend()
	c := open(t, rcache.Config{Pinned: true}, b)
	var addrs []uintptr
	for range 8 {
		addrs = append(addrs, register(t, c))
	}
	runtime.GC()
	runtime.GC()
	for _, a := range addrs {
		if comesBack(a, 4) {
			t.Fatalf("%#x is given out though the cache has it", a)
		}
	}
	want(t, c, "nothing should have gone", len(b.Live) == len(addrs))
	c.Forget(0, 1<<62)
	want(t, c, "all should have gone", len(b.Live) == 0)
	runtime.GC()
	runtime.GC()
	for _, a := range addrs {
		if comesBack(a, 50) {
			return
		}
	}
	t.Error("the memory is kept though no registration is left")
}
