// Package rcachetest is the conformance suite of the rcache framework: what every component must do. It is for tests; those of
// components outside of this module may use it, too.
//
//	func TestConformance(t *testing.T) { rcachetest.Run(t, component{}) }
package rcachetest

import (
	"errors"
	"fmt"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/rcache"
)

// Run runs the suite on a component.
func Run(t *testing.T, c rcache.Component) {
	open := func(t testing.TB, cfg rcache.Config, b rcache.Backend) rcache.Cache {
		t.Helper()
		o, err := Open(c, cfg, b)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	t.Run("HitsAndMisses", func(t *testing.T) { hitsAndMisses(t, open) })
	t.Run("NotPinned", func(t *testing.T) { notPinned(t, open) })
	t.Run("Limits", func(t *testing.T) { limits(t, open) })
	t.Run("Full", func(t *testing.T) { full(t, open) })
	t.Run("Forget", func(t *testing.T) { forget(t, open) })
	t.Run("Pages", func(t *testing.T) { pages(t, open) })
	t.Run("BadRanges", func(t *testing.T) { badRanges(t, open) })
	t.Run("Close", func(t *testing.T) { closes(t, open) })
	t.Run("HitAllocatesNothing", func(t *testing.T) { allocations(t, open) })
	t.Run("KeepsMemory", func(t *testing.T) { keepsMemory(t, open) })
	t.Run("Model", func(t *testing.T) { model(t, open) })
}

type opener func(t testing.TB, cfg rcache.Config, b rcache.Backend) rcache.Cache

// Open opens a cache of c with default parameters; their limits must be above a few megabytes.
func Open(c rcache.Component, cfg rcache.Config, b rcache.Backend) (rcache.Cache, error) {
	reg, err := mca.NewRegistry()
	if err != nil {
		return nil, err
	}
	params, err := mca.Load(reg, mca.Input{})
	if err != nil {
		return nil, err
	}
	return c.Open(params, cfg, b)
}

// Backend is a transport that remembers what is registered.
type Backend struct {
	Room    int // registrations that fit; 0: any number
	Refuse  error
	Live    map[uint64]Range
	Made    []Range // by all calls of Register
	Dropped []Range // likewise
	Faults  []string
	next    uint64
}

// Range is registered memory.
type Range struct {
	ID   uint64
	Addr uintptr
	Len  int64
}

// Covers reports whether n bytes at addr lie in r.
func (r Range) Covers(addr uintptr, n int64) bool {
	return r.Addr <= addr && addr+uintptr(n) <= r.Addr+uintptr(r.Len)
}

// Overlaps reports whether one of n bytes at addr lies in r.
func (r Range) Overlaps(addr uintptr, n int64) bool {
	return r.Addr < addr+uintptr(n) && addr < r.Addr+uintptr(r.Len)
}

// NewBackend is a Backend without limits.
func NewBackend() *Backend { return &Backend{Live: make(map[uint64]Range)} }

// Register implements rcache.Backend.
func (b *Backend) Register(addr uintptr, n int64) ([2]uint64, error) {
	switch {
	case b.Refuse != nil:
		return [2]uint64{}, b.Refuse
	case b.Room > 0 && len(b.Live) >= b.Room:
		return [2]uint64{}, fmt.Errorf("%w: %d there", rcache.ErrFull, len(b.Live))
	}
	b.next++
	r := Range{b.next, addr, n}
	b.Live[r.ID] = r
	b.Made = append(b.Made, r)
	return [2]uint64{r.ID, ^r.ID}, nil
}

// Deregister implements rcache.Backend.
func (b *Backend) Deregister(h [2]uint64) {
	r, ok := b.Live[h[0]]
	if !ok || h[1] != ^h[0] {
		b.Faults = append(b.Faults, fmt.Sprintf("deregistered %x, which is not registered", h))
		return
	}
	delete(b.Live, r.ID)
	b.Dropped = append(b.Dropped, r)
}

const base = 1 << 40

func acquire(t testing.TB, c rcache.Cache, addr uintptr, n int64) *rcache.Registration {
	t.Helper()
	r, err := c.Acquire(addr, n, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Addr > addr || addr+uintptr(n) > r.Addr+uintptr(r.Len) {
		t.Fatalf("[%#x,+%d) is answered by [%#x,+%d)", addr, n, r.Addr, r.Len)
	}
	return r
}

func touch(t testing.TB, c rcache.Cache, addr uintptr, n int64) {
	t.Helper()
	c.Release(acquire(t, c, addr, n))
}

func want(t testing.TB, c rcache.Cache, what string, ok bool) {
	t.Helper()
	if !ok {
		t.Fatalf("%s; %+v", what, c.Stats())
	}
}

func hitsAndMisses(t *testing.T, open opener) {
	b := NewBackend()
	c := open(t, rcache.Config{Pinned: true}, b)
	r := acquire(t, c, base, 1000)
	want(t, c, "two users of one buffer have two registrations", acquire(t, c, base, 1000) == r)
	want(t, c, "a part of a buffer is registered again", acquire(t, c, base+500, 500) == r)
	for range 3 {
		c.Release(r)
	}
	want(t, c, "an unused one is not found again", acquire(t, c, base, 1000) == r)
	want(t, c, "beyond the end it is another", acquire(t, c, base+500, 501) != r)
	s := c.Stats()
	want(t, c, "the counts are wrong", s.Hits == 3 && s.Misses == 2 && s.Entries == 2 && s.Bytes == 1501 && s.Overlaps == 1 && s.Made == 2 && s.MadeBytes == 1501)
}

func notPinned(t *testing.T, open opener) {
	b := NewBackend()
	c := open(t, rcache.Config{}, b)
	r := acquire(t, c, base, 10)
	acquire(t, c, base, 10)
	c.Release(r)
	want(t, c, "it went before its last user", len(b.Live) == 1)
	c.Release(r)
	want(t, c, "it outlives its last user", len(b.Live) == 0 && c.Stats().Evictions == 0)
	defer func() {
		if recover() == nil {
			t.Error("a release too many went unnoticed")
		}
	}()
	c.Release(r)
}

func limits(t *testing.T, open opener) {
	b := NewBackend()
	c := open(t, rcache.Config{Pinned: true, Entries: 3}, b)
	for i := range 3 {
		touch(t, c, base+uintptr(i)*100, 10)
	}
	touch(t, c, base, 10) // now the second is the oldest
	touch(t, c, base+300, 10)
	want(t, c, "the one unused for longest should go", len(b.Dropped) == 1 && b.Dropped[0].Addr == base+100)
	var used []*rcache.Registration
	for i := range 5 {
		used = append(used, acquire(t, c, base+4096+uintptr(i)*100, 10))
	}
	want(t, c, "what is in use may exceed the limit, and takes the unused ones' place", c.Stats().Entries == 5 && c.Stats().Evictions == 4)
	for _, r := range used {
		c.Release(r)
	}
	want(t, c, "as its users leave it falls to the limit", c.Stats().Entries == 3)

	b = NewBackend()
	c = open(t, rcache.Config{Pinned: true, Bytes: 1000}, b)
	touch(t, c, base, 600)
	touch(t, c, base+4096, 300)
	touch(t, c, base+8192, 500)
	want(t, c, "600 bytes should go for 500", c.Stats().Bytes == 800 && b.Dropped[0].Len == 600)
	touch(t, c, base+16384, 5000)
	want(t, c, "what is above the limit is not kept", c.Stats().Bytes == 0)
}

func full(t *testing.T, open opener) {
	b := NewBackend()
	b.Room = 2
	c := open(t, rcache.Config{Pinned: true}, b)
	touch(t, c, base, 10)
	r := acquire(t, c, base+100, 10)
	s := acquire(t, c, base+200, 10)
	want(t, c, "the unused one should make room", len(b.Dropped) == 1 && b.Dropped[0].Addr == base)
	if _, err := c.Acquire(base+300, 10, nil); !errors.Is(err, rcache.ErrFull) {
		t.Fatalf("without unused ones: %v, want ErrFull", err)
	}
	want(t, c, "it is no failure", c.Stats().Failures == 1 && c.Stats().Entries == 2)
	c.Release(r)
	acquire(t, c, base+300, 10)
	c.Release(s)
	b.Refuse = errors.New("no such memory")
	if _, err := c.Acquire(base+400, 10, nil); !errors.Is(err, b.Refuse) {
		t.Fatalf("got %v, want the transport's error", err)
	}
}

func forget(t *testing.T, open opener) {
	b := NewBackend()
	c := open(t, rcache.Config{Pinned: true}, b)
	touch(t, c, base, 100)
	touch(t, c, base+100, 100)
	r := acquire(t, c, base+200, 100)
	c.Forget(base+150, 100)
	want(t, c, "the unused one it touches goes at once, no other", len(b.Dropped) == 1 && b.Dropped[0].Addr == base+100)
	q := acquire(t, c, base+200, 100)
	want(t, c, "a forgotten one is found", q != r && len(b.Live) == 3)
	c.Release(r)
	want(t, c, "the forgotten one goes with its last user", len(b.Live) == 2 && c.Stats().Entries == 2)
	c.Release(q)
	c.Forget(0, 10)
	c.Forget(base, 0)
	c.Forget(base, -1)
	c.Forget(^uintptr(0)-5, 100)
	want(t, c, "others are forgotten", len(b.Live) == 2)
}

func pages(t *testing.T, open opener) {
	b := NewBackend()
	c := open(t, rcache.Config{Pinned: true, Page: 4096}, b)
	r := acquire(t, c, base+5000, 100)
	want(t, c, "it is not its page", r.Addr == base+4096 && r.Len == 4096)
	want(t, c, "its page is registered again", acquire(t, c, base+4096, 4096) == r)
	touch(t, c, base+8191, 2)
	if err := (&rcache.Config{Page: 100}).Validate(); err == nil {
		t.Error("a page of 100 bytes is accepted")
	}
}

func badRanges(t *testing.T, open opener) {
	c := open(t, rcache.Config{Pinned: true}, NewBackend())
	acquire(t, c, base, 100)
	for _, r := range []struct {
		addr uintptr
		n    int64
	}{{base, 0}, {base, -1}, {base, -1 << 63}, {^uintptr(0), 2}, {base + 50, 0}} {
		if _, err := c.Acquire(r.addr, r.n, nil); err == nil {
			t.Errorf("[%#x,+%d) is registered", r.addr, r.n)
		}
	}
}

func closes(t *testing.T, open opener) {
	b := NewBackend()
	c := open(t, rcache.Config{Pinned: true}, b)
	touch(t, c, base, 10)
	r := acquire(t, c, base+100, 10)
	s := acquire(t, c, base+200, 10)
	c.Forget(base+200, 10)
	c.Close()
	c.Close()
	want(t, c, "something is left", len(b.Live) == 0 && c.Stats().Entries == 0 && c.Stats().Bytes == 0)
	c.Release(r)
	c.Release(s)
	c.Forget(base, 10)
	if _, err := c.Acquire(base, 10, nil); err == nil {
		t.Error("a closed cache registers")
	}
	if len(b.Faults) > 0 {
		t.Error(b.Faults)
	}
}

func allocations(t *testing.T, open opener) {
	c := open(t, rcache.Config{Pinned: true}, NewBackend())
	mem := make([]byte, 4096)
	addr, keep := uintptr(unsafe.Pointer(&mem[0])), unsafe.Pointer(&mem[0])
	for i := range uintptr(16) {
		r, _ := c.Acquire(addr+i*200, 100, keep)
		c.Release(r)
	}
	i := uintptr(0)
	if n := testing.AllocsPerRun(100, func() {
		i++
		r, _ := c.Acquire(addr+i%16*200, 90+int64(i&1)*10, keep)
		c.Release(r)
	}); n != 0 {
		t.Errorf("a hit allocates %v times", n)
	}
}
