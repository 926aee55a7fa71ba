package btltest

import (
	"bytes"
	"errors"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
)

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
	src := make([]byte, size)
	pattern(src, 1)
	var h btl.MemHandle
	var err error
	p.to.Do(func() { h, err = reg.Register(unsafe.Pointer(&src[0]), size) })
	if err != nil {
		t.Fatalf("Register: %v", err)
	}
	get := func(h btl.MemHandle, off, n int64) ([]byte, error) {
		dst := make([]byte, n+1)
		dst[n] = 0xa5
		var err error
		p.from.Do(func() { err = g.Get(unsafe.Pointer(&dst[0]), n, h, off) })
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
