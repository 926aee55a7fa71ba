package unimem

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

// pair is two devices that know each other.
type pair struct {
	dev  [2]*Device
	peer [2]*Peer // of each device, the other
	base [2]unsafe.Pointer
}

func newPair(t testing.TB, cfg Config) *pair {
	t.Helper()
	p := &pair{}
	for i := range p.dev {
		mem := make([]byte, cfg.Size()+line)
		p.base[i] = unsafe.Add(unsafe.Pointer(&mem[0]), -uintptr(unsafe.Pointer(&mem[0]))&(line-1))
		var err error
		if p.dev[i], err = New(p.base[i], cfg); err != nil {
			t.Fatal(err)
		}
	}
	for i, d := range p.dev {
		p.peer[i] = d.Connect(p.base[1-i], cfg, i, 1-i)
	}
	return p
}

func small() Config {
	return Config{Peers: 2, Slots: 8, Memory: 16 * Page, Routes: 3, Burst: 1000}
}

func TestConfig(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.Peers = 0 },
		func(c *Config) { c.Slots = 4 },
		func(c *Config) { c.Slots = 12 },
		func(c *Config) { c.Slots = 1 << 20 },
		func(c *Config) { c.Memory = 0 },
		func(c *Config) { c.Memory = Page + 1 },
		func(c *Config) { c.Memory = 1 << 50 },
	} {
		c := small()
		change(&c)
		if c.Check() == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
	c := small()
	c.Routes = 0
	if _, err := New(nil, c); err == nil {
		t.Error("a device without routes was made")
	}
}

// TestMailboxModel holds a queue against a list.
func TestMailboxModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := small()
		mem := make([]uint64, cfg.Size()/8+16)
		d, err := New(unsafe.Pointer(&mem[0]), cfg)
		if err != nil {
			t.Fatal(err)
		}
		p := d.Connect(unsafe.Pointer(&mem[0]), cfg, 1, 1) // both ends of one queue
		var want []Message
		next := uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				if !p.Out.Room(1) {
					// What was taken is told by quarters.
					if len(want) <= int(cfg.Slots)/2 {
						t.Fatalf("no room beside %d messages", len(want))
					}
					return
				}
				next++
				m := Message{next, ^next, next << 32}
				p.Out.Put(&m)
				want = append(want, m)
			},
			"take": func(t *rapid.T) {
				var m Message
				if got := p.In.Take(&m); got != (len(want) > 0) {
					t.Fatalf("took %v of %d messages", got, len(want))
				} else if got {
					if m != want[0] {
						t.Fatalf("got %v, want %v", m, want[0])
					}
					want = want[1:]
				}
			},
			"": func(t *rapid.T) {
				if len(want) > int(cfg.Slots) {
					t.Fatalf("%d messages in %d slots", len(want), cfg.Slots)
				}
			},
		})
	})
}

// TestMailboxWhole: a message is seen as a whole, in order, by another thread.
func TestMailboxWhole(t *testing.T) {
	p := newPair(t, small())
	const n = 20000
	go func() {
		for i := uint64(1); i <= n; i++ {
			for !p.peer[0].Out.Room(1) {
				runtime.Gosched()
			}
			p.peer[0].Out.Put(&Message{i, i, i})
		}
	}()
	var m Message
	for i := uint64(1); i <= n; i++ {
		for !p.peer[1].In.Take(&m) {
			runtime.Gosched()
		}
		if m != (Message{i, i, i}) {
			t.Fatalf("message %d is %v", i, m)
		}
	}
}

// TestMailboxLies: a receiver that says it has taken what was never sent stops the queue, and nothing is overwritten.
func TestMailboxLies(t *testing.T) {
	p := newPair(t, small())
	out := &p.peer[0].Out
	for range 8 {
		out.Put(&Message{})
	}
	(*atomic.Uint32)(out.box).Store(9)
	if out.Room(1) || !out.Bad() || out.Room(1) {
		t.Error("the queue goes on")
	}
}

// TestHeapModel holds the allocator against a map of bytes.
func TestHeapModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 16 * Page
		var h heap
		h.init(size)
		type piece struct{ off, n int64 }
		var have []piece
		t.Repeat(map[string]func(*rapid.T){
			"alloc": func(t *rapid.T) {
				n := rapid.Int64Range(0, 3*Page).Draw(t, "n")
				off, err := h.alloc(n)
				if err != nil {
					return
				}
				unit := int64(line)
				if n >= Page {
					unit = Page
				}
				if off%unit != 0 || off < 0 || off+n > size {
					t.Fatalf("%d bytes at %d", n, off)
				}
				for _, p := range have {
					if off < p.off+max(p.n, 1) && p.off < off+max(n, 1) {
						t.Fatalf("%d bytes at %d overlap %+v", n, off, p)
					}
				}
				have = append(have, piece{off, n})
			},
			"free": func(t *rapid.T) {
				if len(have) == 0 {
					if h.free(0) {
						t.Fatal("nothing was freed")
					}
					return
				}
				i := rapid.IntRange(0, len(have)-1).Draw(t, "i")
				if !h.free(have[i].off) || h.free(have[i].off) {
					t.Fatal("a piece was not freed, or twice")
				}
				have = slices.Delete(have, i, i+1)
			},
			"": func(t *rapid.T) {
				if len(have) == 0 && (len(h.spare) != 1 || h.spare[0] != (span{0, size})) {
					t.Fatalf("with nothing taken the heap is %v", h.spare)
				}
			},
		})
	})
}

func TestHeapFull(t *testing.T) {
	p := newPair(t, small())
	for _, n := range []int64{-1, 17 * Page, 1 << 62} {
		if _, err := p.dev[0].Alloc(n); err == nil {
			t.Errorf("%d bytes were given", n)
		}
	}
}

type ends struct{ n int }

func (e *ends) Transferred(*Transfer) { e.n++ }

// TestDMA: what the engine moves, when it is over, and what it refuses.
func TestDMA(t *testing.T) {
	p := newPair(t, small())
	d, peer := p.dev[0], p.peer[0]
	here, _ := d.Alloc(2 * Page)
	there, _ := p.dev[1].Alloc(2 * Page)
	src := unsafe.Slice((*byte)(d.At(here)), 2*Page)
	dst := unsafe.Slice((*byte)(p.dev[1].At(there)), 2*Page)
	for i := range src {
		src[i] = byte(i * 7)
	}
	route, err := d.Register(peer, there+10, 20)
	if err != nil {
		t.Fatal(err)
	}
	e := &ends{}
	x := &Transfer{Owner: e, Route: route, Local: d.At(here), Remote: there, N: Page, Write: true}
	if done, err := d.Submit(x); done || err != nil || d.Idle() {
		t.Fatalf("a page in bursts of 1000 bytes: done %v, %v", done, err)
	}
	y := &Transfer{Owner: e, Route: route, Local: d.At(here + Page), Remote: there, N: 10}
	if done, err := d.Submit(y); done || err != nil {
		t.Fatalf("behind another: done %v, %v", done, err)
	}
	runs := 0
	for ; d.Run(); runs++ {
	}
	if e.n != 2 || runs != 4 || !bytes.Equal(dst[:Page], src[:Page]) || !bytes.Equal(src[Page:Page+10], dst[:10]) || !d.Idle() {
		t.Errorf("after %d runs %d transfers are over", runs, e.n)
	}
	if done, err := d.Submit(y); !done || err != nil || e.n != 2 {
		t.Errorf("10 bytes: done %v, %v, told %d", done, err, e.n)
	}
	user := make([]byte, Page)
	for name, x := range map[string]*Transfer{
		"beyond the page":    {Route: route, Local: d.At(here), Remote: there + Page - 1, N: 2},
		"before the page":    {Route: route, Local: d.At(here), Remote: there - 1, N: 2},
		"user memory":        {Route: route, Local: unsafe.Pointer(&user[0]), Remote: there, N: 2},
		"negative":           {Route: route, Local: d.At(here), Remote: there, N: -1},
		"no route":           {Local: d.At(here), Remote: there, N: 2},
		"half outside, here": {Route: route, Local: d.At(16*Page - 1), Remote: there, N: 2},
	} {
		if _, err := d.Submit(x); err == nil || d.Do(x) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	d.Deregister(route)
	d.Deregister(route)
	if _, err := d.Submit(y); err == nil {
		t.Error("a route was used after its end")
	}
	for _, r := range [][2]int64{{-1, 1}, {0, -1}, {16 * Page, 1}, {1 << 62, 1 << 62}} {
		if _, err := d.Register(peer, r[0], r[1]); err == nil {
			t.Errorf("range %v was registered", r)
		}
	}
	for range 3 {
		if _, err := d.Register(peer, 0, 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Register(peer, 0, 1); !errors.Is(err, ErrNoRoute) {
		t.Errorf("a fourth registration: %v", err)
	}
}

// TestRegisterCost: the time is spent, by whoever registers.
func TestRegisterCost(t *testing.T) {
	cfg := small()
	cfg.RegisterCost = 3 * time.Millisecond
	p := newPair(t, cfg)
	start := time.Now()
	if _, err := p.dev[0].Register(p.peer[0], 0, 1); err != nil || time.Since(start) < cfg.RegisterCost || p.dev[0].Registrations() != 1 {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

// TestAbandon: of several peers' transfers only one's are forgotten.
func TestAbandon(t *testing.T) {
	p := newPair(t, small())
	d, e := p.dev[0], &ends{}
	other := d.Connect(p.base[1], small(), 0, 1)
	a, _ := d.Register(p.peer[0], 0, 1)
	b, _ := d.Register(other, 0, 1)
	for i, r := range []Route{a, b, a, b, a} {
		if _, err := d.Submit(&Transfer{Owner: e, Route: r, Local: d.At(0), N: 2000 + int64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	d.Abandon(p.peer[0])
	for d.Run() {
	}
	if e.n != 2 {
		t.Errorf("%d transfers are over, want 2", e.n)
	}
}

// TestExports: keys name what they name, while they do; and what a hostile table says is checked.
func TestExports(t *testing.T) {
	p := newPair(t, small())
	d, peer := p.dev[1], p.peer[0]
	k, err := d.Export(100, 50)
	if err != nil {
		t.Fatal(err)
	}
	if off, err := peer.Exported(k, 10, 40); off != 110 || err != nil {
		t.Errorf("offset %d, %v", off, err)
	}
	for _, r := range [][2]int64{{-1, 1}, {0, 51}, {51, 0}, {0, -1}, {1 << 62, 1 << 62}} {
		if _, err := peer.Exported(k, r[0], r[1]); err == nil {
			t.Errorf("range %v is inside", r)
		}
	}
	for _, bad := range []Key{0, k + 1, k + 1<<32, ^Key(0)} {
		d.Unexport(bad)
		if _, err := peer.Exported(bad, 0, 1); err == nil {
			t.Errorf("key %#x names something", uint64(bad))
		}
	}
	if _, err := peer.Exported(k, 0, 50); err != nil {
		t.Error(err)
	}
	e := exportAt(peer.table, uint32(k))
	for _, lie := range [][2]uint64{{1 << 63, 1}, {0, 1 << 40}, {^uint64(0), 2}} {
		e.off.Store(lie[0])
		e.n.Store(lie[1])
		if _, err := peer.Exported(k, 0, 1); err == nil {
			t.Errorf("the table's %v was believed", lie)
		}
	}
	d.Unexport(k)
	again, _ := d.Export(0, 1)
	if again == k {
		t.Error("a key was given out twice")
	}
	if _, err := peer.Exported(k, 0, 1); err == nil {
		t.Error("a stale key names something")
	}
	for _, r := range [][2]int64{{-1, 1}, {0, -1}, {16 * Page, 1}} {
		if _, err := d.Export(r[0], r[1]); err == nil {
			t.Errorf("range %v was exported", r)
		}
	}
}

func TestCallsAndHeart(t *testing.T) {
	p := newPair(t, small())
	if p.dev[1].Calls() {
		t.Error("a call before any")
	}
	p.peer[0].Out.Put(&Message{})
	p.peer[0].Call()
	if !p.dev[1].Calls() || p.dev[1].Calls() || !p.dev[1].Waiting(0) || p.dev[1].Waiting(1) {
		t.Error("who called is not known")
	}
	p.dev[1].Beat()
	if p.peer[0].Heartbeat() != 1 {
		t.Error("no heartbeat")
	}
	p.dev[1].Leave()
	p.dev[1].Beat()
	if p.peer[0].Heartbeat() != Left {
		t.Error("it beats after it has left")
	}
}
