package btltest

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
)

// memory is n bytes that the rank can register.
func (cfg Config) memory(t testing.TB, r *Rank, n int64) []byte {
	if cfg.Memory == nil {
		return make([]byte, n)
	}
	return cfg.Memory(t, r, n)
}

// testGet reads a peer's registered memory, and memory that is not, or no longer, registered.
func testGet(t *testing.T, cfg Config) {
	p := newPair(t, cfg)
	g, ok := p.ep.(btl.Getter)
	if !ok {
		t.Skip("no Get")
	}
	p.connect(t)
	reg, ok := p.to.Module.(btl.Registrar)
	if !ok {
		t.Skip("Get without registration")
	}
	const size = 3<<20 + 17
	src := cfg.memory(t, p.to, size)
	pattern(src, 1)
	var h btl.MemHandle
	var err error
	p.to.Do(func() { h, err = reg.Register(unsafe.Pointer(&src[0]), size) })
	if err != nil {
		t.Fatalf("Register: %v", err)
	}
	shared := false
	get := func(h btl.MemHandle, off, n int64) ([]byte, error) {
		dst := cfg.memory(t, p.from, n+1)
		dst[n] = 0xa5
		err := p.transfer(t, &btl.Transfer{Local: unsafe.Pointer(&dst[0]), N: n, Remote: h, Off: off, Shared: shared}, g.Get)
		if dst[n] != 0xa5 {
			t.Errorf("Get(%d, +%d) wrote behind its end", off, n)
		}
		return dst[:n], err
	}
	if _, err := get(h, 0, size); errors.Is(err, btl.ErrNotSupported) {
		t.Skipf("Get between these ranks: %v", err)
	}
	for _, r := range [][2]int64{{0, size}, {0, 0}, {1, 1}, {4095, 4098}, {size - 1, 1}, {size, 0}, {100, 1 << 20}} {
		b, err := get(h, r[0], r[1])
		if err != nil {
			t.Errorf("Get(%d, +%d): %v", r[0], r[1], err)
		} else if !bytes.Equal(b, src[r[0]:r[0]+r[1]]) {
			t.Errorf("Get(%d, +%d): wrong bytes", r[0], r[1])
		}
	}
	if least := p.from.Module.Limits().MinShared; least > 0 {
		shared = true
		p.testShared(t, get, h, src, least)
	}
	for _, r := range [][2]int64{{0, size + 1}, {size, 1}, {-1, 1}, {1 << 62, 1}} {
		if _, err := get(h, r[0], r[1]); err == nil {
			t.Errorf("Get(%d, +%d) of %d registered bytes succeeded", r[0], r[1], size)
		}
	}
	if cfg.RawHandles {
		return
	}
	bad := []btl.MemHandle{{}, {A: h.A + 1000, B: h.B}, {A: ^uint64(0), B: ^uint64(0)}}
	p.to.Do(func() { reg.Deregister(h) })
	for _, h := range append(bad, h) {
		if _, err := get(h, 0, 1); err == nil {
			t.Errorf("Get with handle %x, which names nothing, succeeded", h)
		}
	}
	var again btl.MemHandle
	p.to.Do(func() {
		again, err = reg.Register(unsafe.Pointer(&src[0]), 10)
		if err == nil {
			reg.Deregister(h) // stale: must not touch the new one
		}
	})
	if err != nil {
		t.Fatalf("Register again: %v", err)
	}
	if again == h {
		t.Error("a handle was given out twice")
	}
	if b, err := get(again, 2, 8); err != nil || !bytes.Equal(b, src[2:10]) {
		t.Errorf("Get from memory registered again: %v", err)
	}
	p.to.Do(func() { reg.Deregister(again) })
}

// testShared gets with the peer's help, while the peer polls on its own and while it does not.
func (p *pair) testShared(t *testing.T, get func(h btl.MemHandle, off, n int64) ([]byte, error), h btl.MemHandle, src []byte, least int64) {
	size := int64(len(src))
	for _, polls := range []bool{false, true} {
		stop, over := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(over)
			for polls {
				select {
				case <-stop:
					return
				default:
					p.to.Poll()
					runtime.Gosched()
				}
			}
		}()
		for _, r := range [][2]int64{{0, size}, {0, size}, {0, 0}, {1, 1}, {3, min(least, size-3)}, {4097, min(least+1, size-4097)}, {size / 2, size - size/2}, {100, 1 << 20}} {
			b, err := get(h, r[0], r[1])
			if err != nil {
				t.Errorf("shared Get(%d, +%d): %v", r[0], r[1], err)
			} else if !bytes.Equal(b, src[r[0]:r[0]+r[1]]) {
				t.Errorf("shared Get(%d, +%d): wrong bytes", r[0], r[1])
			}
		}
		close(stop)
		<-over
	}
}

// transfer carries t out, with the local memory registered, and returns how it ended.
func (p *pair) transfer(t testing.TB, x *btl.Transfer, start func(*btl.Transfer) (bool, error)) (err error) {
	t.Helper()
	reg := p.from.Module.(btl.Registrar)
	p.from.Do(func() { x.Mem, err = reg.Register(x.Local, x.N+1) })
	if err != nil {
		t.Fatalf("Register of local memory: %v", err)
	}
	over := &transferEnd{}
	x.Owner = over
	p.Until(t, "room for a transfer", func() bool {
		var done bool
		p.from.Do(func() { done, err = start(x) })
		if done || (err != nil && !errors.Is(err, btl.ErrAgain)) {
			over.n = 1
		}
		return !errors.Is(err, btl.ErrAgain)
	})
	if err == nil {
		p.Until(t, "the end of a transfer", func() bool { return over.n > 0 })
		err = over.err
	}
	p.from.Do(func() { reg.Deregister(x.Mem) })
	if over.n != 1 {
		t.Errorf("a transfer ended %d times", over.n)
	}
	return err
}

type transferEnd struct {
	n   int
	err error
}

// TransferDone implements btl.Transferrer.
func (e *transferEnd) TransferDone(_ *btl.Transfer, err error) { e.n, e.err = e.n+1, err }

// testPut writes a peer's registered memory, and nothing beside it.
func testPut(t *testing.T, cfg Config) {
	p := newPair(t, cfg)
	w, ok := p.ep.(btl.Putter)
	if !ok {
		t.Skip("no Put")
	}
	p.connect(t)
	reg := p.to.Module.(btl.Registrar)
	const size, guard = 1<<20 + 17, 64
	dst := cfg.memory(t, p.to, guard+size+guard)
	var h btl.MemHandle
	var err error
	p.to.Do(func() { h, err = reg.Register(unsafe.Pointer(&dst[guard]), size) })
	if err != nil {
		t.Fatalf("Register: %v", err)
	}
	src := cfg.memory(t, p.from, size+1)
	want := make([]byte, len(dst))
	put := func(off, n int64) error {
		pattern(src, uint64(off+n))
		return p.transfer(t, &btl.Transfer{Local: unsafe.Pointer(&src[0]), N: n, Remote: h, Off: off}, w.Put)
	}
	if errors.Is(put(0, 1), btl.ErrNotSupported) {
		t.Skip("Put between these ranks")
	}
	copy(want[guard:], src[:1])
	for _, r := range [][2]int64{{0, size}, {0, 0}, {1, 1}, {4095, 4098}, {size - 1, 1}, {size, 0}, {100, 1 << 16}} {
		if err := put(r[0], r[1]); err != nil {
			t.Errorf("Put(%d, +%d): %v", r[0], r[1], err)
		}
		copy(want[guard+r[0]:], src[:r[1]])
		if !bytes.Equal(dst, want) {
			t.Fatalf("Put(%d, +%d): wrong bytes", r[0], r[1])
		}
	}
	for _, r := range [][2]int64{{0, size + 1}, {size, 1}, {-1, 1}, {1 << 62, 1}} {
		if r[1] > size {
			src = cfg.memory(t, p.from, r[1]+1)
		}
		if err := put(r[0], r[1]); err == nil {
			t.Errorf("Put(%d, +%d) into %d registered bytes succeeded", r[0], r[1], size)
		}
	}
	p.to.Do(func() { reg.Deregister(h) })
	if !cfg.RawHandles && put(0, 1) == nil {
		t.Error("Put to memory that is not registered any more succeeded")
	}
	if !bytes.Equal(dst, want) {
		t.Error("a Put that was refused has written")
	}
}
