package btltest

import (
	"errors"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
)

// testMapper has a peer's registered memory in this address space, and changes a word of it from both sides at once.
func testMapper(t *testing.T, cfg Config) {
	p := newPair(t, cfg)
	a, ok := p.ep.(btl.Mapper)
	if !ok {
		t.Skip("no Mapper")
	}
	p.connect(t)
	reg := p.to.Module.(btl.Registrar)
	mem := cfg.memory(t, p.to, 64)
	word := unsafe.Pointer(&mem[8])
	var h btl.MemHandle
	var err error
	p.to.Do(func() { h, err = reg.Register(unsafe.Pointer(&mem[0]), 64) })
	if err != nil {
		t.Fatalf("Register: %v", err)
	}
	var r *core.Region
	p.from.Do(func() { r, err = a.Map(h, 64) })
	if errors.Is(err, btl.ErrNotSupported) {
		t.Skipf("memory of these ranks: %v", err)
	}
	if err != nil {
		t.Fatalf("Map: %v", err)
	}
	const n = 1000
	over := make(chan struct{})
	go func() {
		defer close(over)
		for range n {
			atomic.AddUint64((*uint64)(word), 1)
		}
	}()
	at, old := (*uint64)(unsafe.Add(r.Base(), 8)), cfg.memory(t, p.from, 9)
	c, coherent := p.ep.(btl.Coherent)
	for range n {
		atomic.AddUint64(at, 1)
		if !coherent {
			continue
		}
		x := &btl.Transfer{Local: unsafe.Pointer(&old[0]), N: 8, Remote: h, Off: 8}
		if err := p.transfer(t, x, func(x *btl.Transfer) (bool, error) { return c.FetchOp(x, btl.AtomicAdd, 1) }); err != nil {
			t.Fatalf("FetchOp: %v", err)
		}
	}
	<-over
	want := uint64(2 * n)
	if coherent {
		want += n
	}
	if got := atomic.LoadUint64((*uint64)(word)); got != want {
		t.Errorf("the word is %d, want %d", got, want)
	}
	p.from.Do(func() {
		a.Ring()
		if _, err := a.Map(h, 65); err == nil {
			t.Error("65 of 64 bytes were mapped")
		}
		if _, err := a.Map(h, -1); err == nil {
			t.Error("-1 bytes were mapped")
		}
		if err := r.Unref(); err != nil {
			t.Error(err)
		}
	})
	p.to.Do(func() { reg.Deregister(h) })
}
