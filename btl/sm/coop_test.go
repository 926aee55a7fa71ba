package sm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/shm"
)

// ends counts how transfers end.
type ends struct {
	n   int
	err error
}

// TransferDone implements btl.Transferrer.
func (e *ends) TransferDone(_ *btl.Transfer, err error) { e.n, e.err = e.n+1, err }

// coop is two ranks, and memory of the second that the first gets.
type coop struct {
	*duo
	world
	src, dst []byte
	h        btl.MemHandle
	end      ends
	x        btl.Transfer
}

const (
	coopN    = 100<<10 + 17
	coopUnit = 1 << 10
)

// world is how two ranks meet. In some, their buffers are memory that the other can map.
type world struct {
	btltest.Config
	maps [2]bool
}

// worlds are what the tests run in: goroutine ranks, and mapped memory with system calls to copy, at both ends, one of them, or none.
func worlds(t *testing.T, f func(t *testing.T, cfg world)) {
	params := map[string]string{"btl_sm_coop_limit": "4k", "btl_sm_coop_chunk": "1k"}
	t.Run("Heap", func(t *testing.T) { f(t, world{Config: btltest.Config{Params: params}}) })
	for name, maps := range map[string][2]bool{"Mapped": {}, "SharedDst": {true, false}, "SharedSrc": {false, true}, "Shared": {true, true}} {
		t.Run(name, func(t *testing.T) {
			f(t, world{btltest.Config{Params: params, Shm: mapped(shm.Options{Attach: "auto"}), RawHandles: true}, maps})
		})
	}
}

func newCoop(t testing.TB, cfg world) *coop {
	t.Helper()
	c := &coop{duo: newDuo(t, cfg.Config, geometry{}), world: cfg}
	c.src, c.dst = c.memory(t, 1, coopN), c.memory(t, 0, coopN)
	for _, m := range []*module{c.ep.m, c.to} {
		if m.opt.CoopLimit == 0 {
			m.opt.CoopLimit = 4 << 10 // the machine has one core
		}
	}
	c.connect(t)
	for i := range c.src {
		c.src[i] = byte(i*7 + i>>8)
	}
	c.register(t, c.src)
	return c
}

// memory is a buffer of a rank.
func (c *coop) memory(t testing.TB, rank, n int) []byte {
	t.Helper()
	if !c.maps[rank] {
		return make([]byte, n)
	}
	m, err := c.Ranks[rank].Env.Shm.NewMemory(int64(n), 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		base, n := m.Range()
		if err := errors.Join(m.Free(), unix.MunmapPtr(base, uintptr(n))); err != nil {
			t.Error(err)
		}
	})
	return unsafe.Slice((*byte)(m.Base()), n)
}

func (c *coop) register(t testing.TB, src []byte) {
	t.Helper()
	c.Ranks[1].Do(func() {
		var err error
		if c.h, err = c.to.Register(unsafe.Pointer(&src[0]), int64(len(src))); err != nil {
			t.Fatal(err)
		}
	})
	c.x = btl.Transfer{Owner: &c.end, Local: unsafe.Pointer(&c.dst[0]), N: int64(len(src)), Remote: c.h, Shared: true}
	c.Ranks[0].Do(func() {
		var err error
		if c.x.Mem, err = c.ep.m.Register(c.x.Local, c.x.N); err != nil {
			t.Fatal(err)
		}
	})
}

// ask asks for help with the transfer and copies nothing.
func (c *coop) ask(t testing.TB) (p *pull, low int) {
	t.Helper()
	c.Ranks[0].Do(func() {
		var board int
		if p, board = c.ep.mayAsk(&c.x); p == nil {
			t.Fatal("no help is asked for")
		}
		low = p.ask(&c.x, board, false)
	})
	return p, low
}

// copyRest is what a receiver does after it has asked.
func (c *coop) copyRest(t testing.TB, p *pull, low int) (over bool, err error) {
	t.Helper()
	c.Ranks[0].Do(func() {
		var from source
		if from, err = c.ep.source(&c.x); err != nil {
			return
		}
		p.copyFromLow(from, 0, low)
		if over, err = p.settle(false); over {
			p.end()
		} else {
			c.ep.m.pulls = append(c.ep.m.pulls, p)
		}
	})
	return over, err
}

func (c *coop) check(t testing.TB) {
	t.Helper()
	if !bytes.Equal(c.src, c.dst) {
		t.Error("wrong bytes")
	}
}

// TestMeet: the helper takes pieces from the end, the receiver what is left.
func TestMeet(t *testing.T) {
	worlds(t, func(t *testing.T, cfg world) {
		for helped := range 14 {
			c := newCoop(t, cfg)
			p, low := c.ask(t)
			c.Ranks[1].Do(func() {
				c.to.Poll() // the first piece
				for range helped {
					c.to.help()
				}
			})
			_, got, state := doneAt(p)
			if got == 0 || state != helpGoesOn || !bytes.Equal(c.dst[coopN-17:], c.src[coopN-17:]) {
				t.Fatalf("after %d pieces %d units are done, state %d", helped+1, got, state)
			}
			if bytes.Equal(c.dst[:1024], c.src[:1024]) {
				t.Fatal("the helper has pushed the receiver's part")
			}
			if over, err := c.copyRest(t, p, low); !over || err != nil {
				t.Fatalf("over %v, %v", over, err)
			}
			c.check(t)
			if helped == 13 && p.taken != low {
				t.Errorf("a helper that goes on did not do all but the first %d units: %d", low, p.taken)
			}
			c.Ranks[1].Do(func() {
				if c.to.Poll(); len(c.to.helps) != 0 {
					t.Error("the helper keeps a request that is over")
				}
			})
		}
	})
}

func doneAt(p *pull) (seq uint32, units int, state uint64) {
	d := p.b.done.Load()
	return uint32(d >> 32), int(d >> 16 & 0xffff), d & 0xffff
}

// TestLateHelper: a helper that looks when all is over writes nothing, and a peer that never looks is not asked for ever.
func TestLateHelper(t *testing.T) {
	worlds(t, func(t *testing.T, cfg world) {
		c := newCoop(t, cfg)
		asked := c.ep.ring.pos
		for range 20 * boards {
			clear(c.dst)
			c.Ranks[0].Do(func() {
				if done, err := c.ep.Get(&c.x); !done || err != nil {
					t.Fatalf("Get: %v, %v", done, err)
				}
			})
			c.check(t)
		}
		if n := c.ep.ring.pos - asked; n != boards {
			t.Errorf("a peer that does not look was asked %d times, with %d boards", n, boards)
		}
		clear(c.dst)
		c.Ranks[1].Do(func() {
			for range 10 {
				c.to.Poll()
			}
		})
		if !bytes.Equal(c.dst, make([]byte, coopN)) || len(c.to.helps) != 0 {
			t.Error("a late helper has written, or helps still")
		}
		c.ep.skip = 0
		if p, low := c.ask(t); p == nil {
			t.Error("a peer that looks again is not asked again")
		} else if over, err := c.copyRest(t, p, low); !over || err != nil {
			t.Errorf("over %v, %v", over, err)
		}
	})
}

// TestHelperKeepsPiece: a Get waits for a piece that the helper has begun, in progress passes.
func TestHelperKeepsPiece(t *testing.T) {
	worlds(t, func(t *testing.T, cfg world) {
		c := newCoop(t, cfg)
		p, low := c.ask(t)
		var h *help
		var k int
		c.Ranks[1].Do(func() {
			slot, _, full := c.to.rings[0].peek()
			if !full || !c.to.helpAsked(c.to.rings[0], slot) {
				t.Fatal("no request")
			}
			c.to.consumed(c.to.rings[0])
			h = &c.to.helps[0]
			k = h.take()
		})
		if over, err := c.copyRest(t, p, low); over || err != nil {
			t.Fatalf("over %v, %v", over, err)
		}
		c.Ranks[0].Do(func() {
			if c.ep.m.Poll() != 0 || c.end.n != 0 || c.ep.m.Flush() {
				t.Error("the transfer is over before its last piece")
			}
		})
		// Others go on meanwhile.
		var other ends
		y := c.x
		dst := make([]byte, coopN)
		y.Owner, y.Local = &other, unsafe.Pointer(&dst[0])
		c.Ranks[0].Do(func() {
			if done, err := c.ep.Get(&y); !done || err != nil || !bytes.Equal(dst, c.src) {
				t.Errorf("another Get: %v, %v", done, err)
			}
		})
		c.Ranks[1].Do(func() {
			if state, ok := c.to.push(h, k); !ok {
				t.Errorf("push: state %d", state)
			}
			h.high -= k
			h.tell(c.to, helpGoesOn)
		})
		c.Ranks[0].Do(func() { c.ep.m.Poll() })
		if c.end.n != 1 || c.end.err != nil || !c.ep.m.Flush() {
			t.Errorf("the transfer ended %d times, %v", c.end.n, c.end.err)
		}
		c.check(t)
	})
}

// TestNoHelp: whatever the helper cannot do the receiver does.
func TestNoHelp(t *testing.T) {
	worlds(t, func(t *testing.T, cfg world) {
		t.Run("Deregistered", func(t *testing.T) {
			if !cfg.RawHandles {
				t.Skip("nobody can read it either")
			}
			c := newCoop(t, cfg)
			p, low := c.ask(t)
			c.Ranks[1].Do(func() {
				c.to.Deregister(c.h)
				c.to.Deregister(c.h) // twice does no harm
				c.to.Poll()
			})
			if _, got, state := doneAt(p); got != 0 || state != helpStopped {
				t.Errorf("%d units of forgotten memory pushed, state %d", got, state)
			}
			if over, err := c.copyRest(t, p, low); !over || err != nil {
				t.Errorf("over %v, %v", over, err)
			}
			c.check(t)
		})
		for _, state := range []uint64{helpStopped, helpNever} {
			t.Run(fmt.Sprintf("State%d", state), func(t *testing.T) {
				c := newCoop(t, cfg)
				p, low := c.ask(t)
				c.Ranks[1].Do(func() {
					c.to.Poll()
					h := &c.to.helps[0]
					h.take()
					h.tell(c.to, state) // it could not do the second piece
				})
				if over, err := c.copyRest(t, p, low); !over || err != nil {
					t.Errorf("over %v, %v", over, err)
				}
				c.check(t)
				if (c.ep.noHelp || c.ep.noHelpMap) != (state == helpNever) || c.ep.noHelpMap && !c.maps[0] || c.ep.noHelp && c.maps[0] {
					t.Errorf("asks for no more help: %v", c.ep.noHelp)
				}
			})
		}
		t.Run("Stranger", func(t *testing.T) {
			c := newCoop(t, cfg)
			p, low := c.ask(t)
			c.Ranks[1].Do(func() { c.to.rings[0].peer = 1000 })
			c.Ranks[1].Do(func() { c.to.Poll() })
			if over, err := c.copyRest(t, p, low); !over || err != nil {
				t.Errorf("over %v, %v", over, err)
			}
			c.check(t)
			c.ep.skip = 0
			c.Ranks[0].Do(func() {
				if p, _ := c.ep.mayAsk(&c.x); p != nil || !c.ep.noHelp && !c.ep.noHelpMap {
					t.Error("it is asked again")
				}
			})
		})
	})
}

// TestUnreadable: memory that the kernel does not read is nobody's to copy.
func TestUnreadable(t *testing.T) {
	worlds(t, func(t *testing.T, cfg world) {
		if !cfg.RawHandles || cfg.maps[0] {
			t.Skip("no kernel between") // the owner touches its memory as in any other send
		}
		page := os.Getpagesize()
		mem, err := unix.Mmap(-1, 0, 32*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Munmap(mem)
		for _, half := range []string{"first", "second"} {
			c := newCoop(t, cfg)
			c.dst = c.memory(t, 0, len(mem))
			c.register(t, mem)
			part := mem[:16*page]
			if half == "second" {
				part = mem[16*page:]
			}
			if err := unix.Mprotect(part, unix.PROT_NONE); err != nil {
				t.Fatal(err)
			}
			p, low := c.ask(t)
			c.Ranks[1].Do(func() { c.to.Poll() })
			if over, err := c.copyRest(t, p, low); !over || !errors.Is(err, btl.ErrNotSupported) {
				t.Errorf("the %s half cannot be read: over %v, %v", half, over, err)
			}
			if err := unix.Mprotect(part, unix.PROT_READ|unix.PROT_WRITE); err != nil {
				t.Fatal(err)
			}
			// What is left of the request is harmless.
			c.Ranks[1].Do(func() { c.to.Poll() })
			if len(c.to.helps) != 0 {
				t.Error("the helper keeps a request that is over")
			}
		}
	})
}

// TestHelperDies: a transfer whose helper ends in the middle of a piece ends.
func TestHelperDies(t *testing.T) {
	worlds(t, func(t *testing.T, cfg world) {
		for _, launcher := range []bool{false, true} {
			if launcher && !cfg.RawHandles {
				continue // goroutines do not stop half-way
			}
			c := newCoop(t, cfg)
			p, low := c.ask(t)
			c.Ranks[1].Do(func() {
				c.to.Poll()
				c.to.helps[0].take()
			})
			if over, err := c.copyRest(t, p, low); over || err != nil {
				t.Fatalf("over %v, %v", over, err)
			}
			c.Ranks[0].Do(func() {
				if launcher { // the kernel does not tell
					for _, w := range c.ep.m.pids {
						c.ep.m.engine.RemoveFD(w.reg)
						unix.Close(w.fd)
					}
					c.ep.m.pids = nil
					c.ep.proc.Fail(errors.New("the launcher says so"))
					c.ep.m.Poll()
					return
				}
				c.ep.m.ended(c.ep.proc, errors.New("gone"))
			})
			if c.end.n != 1 || len(c.ep.m.pulls) != 0 {
				t.Errorf("the transfer ended %d times; %d wait", c.end.n, len(c.ep.m.pulls))
			}
		}
	})
}

// TestReceiverDies: a helper forgets the requests of who is gone.
func TestReceiverDies(t *testing.T) {
	worlds(t, func(t *testing.T, cfg world) {
		c := newCoop(t, cfg)
		c.ask(t)
		c.Ranks[1].Do(func() {
			c.to.Poll()
			c.to.ended(c.to.env.Procs[0], errors.New("gone"))
			if len(c.to.helps) != 0 {
				t.Error("it helps a dead process")
			}
		})
	})
}

// TestSpoiledBoard: a helper that writes nonsense is given up, and the receiver's memory ends where it ends.
func TestSpoiledBoard(t *testing.T) {
	worlds(t, func(t *testing.T, cfg world) {
		for name, write := range map[string]func(p *pull, low int){
			"another sequence": func(p *pull, low int) { p.b.cursor.Store(cursorWord(p.seq+1, low, p.units)) },
			"low moved":        func(p *pull, low int) { p.b.cursor.Store(cursorWord(p.seq, low+1, p.units)) },
			"high beyond":      func(p *pull, low int) { p.b.cursor.Store(cursorWord(p.seq, low, p.units+1)) },
			"high below low":   func(p *pull, low int) { p.b.cursor.Store(cursorWord(p.seq, low, low-1)) },
			"taken, not seen":  func(p *pull, low int) { p.b.cursor.Store(cursorWord(p.seq, low, low+1)) },
			"more done than had": func(p *pull, low int) {
				p.b.cursor.Store(cursorWord(p.seq, low, p.units-1))
				p.b.done.Store(doneWord(p.seq, 2, 0))
			},
		} {
			c := newCoop(t, cfg)
			p, low := c.ask(t)
			write(p, low)
			over, err := c.copyRest(t, p, low)
			if !over || err == nil || !strings.Contains(err.Error(), "garbage") {
				t.Errorf("%s: over %v, %v", name, over, err)
			}
			c.Until(t, "the failure", func() bool { return len(c.Ranks[0].Failures()) == 1 })
		}
	})
}

// FuzzHelp: whatever a peer asks for, the helper pushes nothing but what it has registered, and ends.
func FuzzHelp(f *testing.F) {
	f.Add(int64(0), int64(coopN), uint32(coopUnit), uint32(0), uint64(10)<<16|100, uint64(0))
	f.Add(int64(1), int64(coopN), uint32(coopUnit), uint32(0), uint64(10)<<16|100, uint64(0))
	f.Add(int64(0), int64(1)<<62, uint32(1<<31), uint32(3), uint64(0)<<16|0xffff, uint64(0))
	f.Add(int64(-1), int64(coopN), uint32(0), uint32(4), uint64(0), uint64(1))
	f.Fuzz(func(t *testing.T, off, n int64, unit, index uint32, cursor, tamper uint64) {
		c := newCoop(t, world{Config: btltest.Config{Params: map[string]string{"btl_sm_coop_limit": "4k", "btl_sm_coop_chunk": "1k"}, Shm: mapped(shm.Options{Attach: "auto"})}})
		p, _ := c.ask(t)
		slot := c.to.rings[0].slots
		*(*uint64)(unsafe.Add(slot, helpA)) ^= tamper
		*(*int64)(unsafe.Add(slot, helpOff)) = off
		*(*int64)(unsafe.Add(slot, helpN)) = n
		*(*uint32)(unsafe.Add(slot, helpUnit)) = unit
		*(*uint32)(unsafe.Add(slot, helpBoard)) = index
		if n > coopN { // it would be written behind the receiver's memory
			*(*uint64)(unsafe.Add(slot, helpLocal)) = 0
		}
		if index < boards {
			c.ep.pulls[index].b.cursor.Store(uint64(p.seq)<<32 | cursor&0xffffffff)
		}
		c.Ranks[1].Do(func() {
			for range 100 {
				c.to.Poll()
			}
			if len(c.to.helps) != 0 {
				t.Error("the helper does not end")
			}
		})
		valid := off == 0 && n > 0 && n <= coopN && unit > 0 && tamper == 0
		if !valid && off >= 0 && off+n > coopN && n > 0 && !bytes.Equal(c.dst, make([]byte, coopN)) {
			t.Error("it has pushed what is not registered")
		}
	})
}

// TestTogether: with the owner polling on its own, both ends copy, and every byte comes.
func TestTogether(t *testing.T) {
	worlds(t, func(t *testing.T, cfg world) {
		c := newCoop(t, cfg)
		big := c.memory(t, 1, 8<<20+5)
		for i := range big {
			big[i] = byte(i ^ i>>9)
		}
		c.dst = c.memory(t, 0, len(big))
		c.register(t, big)
		var stop atomic.Bool
		over := make(chan struct{})
		go func() {
			defer close(over)
			for !stop.Load() {
				c.Ranks[1].Poll()
				runtime.Gosched()
			}
		}()
		helped := 0
		for i := range 40 {
			clear(c.dst)
			done := false
			var err error
			ends := c.end.n
			c.Ranks[0].Do(func() { done, err = c.ep.Get(&c.x) })
			if err != nil {
				t.Fatal(err)
			}
			for !done && c.end.n == ends {
				c.Ranks[0].Poll()
				runtime.Gosched()
			}
			if c.end.err != nil || !bytes.Equal(c.dst, big) {
				t.Fatalf("transfer %d: %v, or wrong bytes", i, c.end.err)
			}
			for k := range c.ep.pulls {
				if p := &c.ep.pulls[k]; p.taken < p.units {
					helped++
				}
			}
		}
		stop.Store(true)
		<-over
		if helped == 0 && runtime.GOMAXPROCS(0) > 1 {
			t.Log("the owner was never in time to help") // a busy machine
		}
	})
}

// TestWindows: names of registrations, as a model has them.
func TestWindows(t *testing.T) {
	mem := make([]byte, 1<<12)
	var w windows
	live := map[btl.MemHandle]bool{}
	var all []btl.MemHandle
	for i := range windowsMax {
		h, err := w.add(unsafe.Pointer(&mem[i%100]), int64(i+1))
		if err != nil || live[h] || w.find(h) == nil {
			t.Fatalf("registration %d: %x, %v", i, h, err)
		}
		live[h] = true
		all = append(all, h)
	}
	h, err := w.add(unsafe.Pointer(&mem[0]), 5)
	if addr, n := parseHandle(h); err != nil || w.find(h) != nil || addr != uint64(uintptr(unsafe.Pointer(&mem[0]))) || n != 5 || h.A>>handleBits != 0 {
		t.Errorf("one more than there is room for: %x, %v", h, err)
	}
	w.remove(h)
	for i, h := range all {
		w.remove(h)
		w.remove(h)
		if w.find(h) != nil {
			t.Fatalf("registration %d is there still", i)
		}
	}
	again, err := w.add(unsafe.Pointer(&mem[0]), 1)
	if err != nil || live[again] || len(w.free) != windowsMax-1 {
		t.Errorf("registered again: %x, %v; %d free", again, err, len(w.free))
	}
	if _, err := w.add(unsafe.Pointer(&mem[0]), 1<<48); err == nil {
		t.Error("a length of 49 bits")
	}
	for _, bad := range []btl.MemHandle{{}, {A: ^uint64(0), B: ^uint64(0)}, {A: again.A + 1, B: again.B}, {A: again.A, B: again.B + 1}, {A: again.A ^ 1<<63, B: again.B}} {
		if w.find(bad) != nil {
			t.Errorf("handle %x names something", bad)
		}
	}
}
