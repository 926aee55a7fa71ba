package sm

import (
	"bytes"
	"errors"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl"
)

// burstGet has the receiver Get inside a message that another one follows, from a peer that has helped before.
type burstGet struct {
	c    *coop
	x    *btl.Transfer
	done bool
	err  error
	n    int
}

// Receive implements btl.Handler.
func (b *burstGet) Receive(int, []byte, []byte) {
	if b.n++; b.n == 1 {
		b.done, b.err = b.c.ep.Get(b.x)
	}
}

// leave has rank 0 begin a Get of which it leaves the second half to the helper.
func (c *coop) leave(t testing.TB) *pull {
	t.Helper()
	b := &burstGet{c: c, x: &c.x}
	c.Ranks[0].Dispatch.Handlers[tag] = b
	back := c.Ranks[1].Endpoints[0].(*endpoint)
	m := c.ep.m
	c.Until(t, "the ring back", func() bool { return len(m.rings) == 1 })
	c.Ranks[1].Do(func() {
		for range 3 {
			if !back.SendInline(tag, 0, 0, nil, 0) {
				t.Fatal("no room")
			}
		}
	})
	c.ep.helped = true
	c.Ranks[0].Do(func() { m.Poll() })
	if b.n != 3 || b.done || b.err != nil || len(m.pulls) != 1 || !m.pulls[0].left {
		t.Fatalf("%d messages; Get: %v, %v; %d transfers wait", b.n, b.done, b.err, len(m.pulls))
	}
	if !bytes.Equal(c.dst[:coopN/3], c.src[:coopN/3]) || !bytes.Equal(c.dst[coopN*2/3:], make([]byte, coopN-coopN*2/3)) {
		t.Error("the receiver has not copied its half, and nothing else")
	}
	return m.pulls[0]
}

func (c *coop) ended(t testing.TB, ok bool) {
	t.Helper()
	if c.end.n != 1 || (c.end.err == nil) != ok || !c.ep.m.Flush() {
		t.Errorf("the transfer ended %d times, %v", c.end.n, c.end.err)
	}
	if ok {
		c.check(t)
	}
}

// TestLeave: in a burst the second half is left to the helper; what that does not begin the receiver copies when it is idle.
func TestLeave(t *testing.T) {
	worlds(t, func(t *testing.T, cfg world) {
		for pieces := range 3 {
			c := newCoop(t, cfg)
			p := c.leave(t)
			c.Ranks[0].Do(func() { c.ep.m.reap(false) })
			if c.end.n != 0 {
				t.Fatal("it is over before anybody has copied the rest")
			}
			c.Ranks[1].Do(func() {
				for range pieces {
					c.to.Poll()
				}
			})
			if _, got, _ := doneAt(p); pieces > 0 && got != p.units-p.low {
				t.Errorf("the helper has done %d units, not all that is left to it", got)
			}
			c.Ranks[0].Do(func() { c.ep.m.Poll() })
			c.ended(t, true)
			if c.ep.helped != (pieces > 0) {
				t.Errorf("with %d pieces the helper counts as one: %v", pieces, c.ep.helped)
			}
		}
	})
}

// TestLeftWhileBusy: what is left is taken back also by a receiver for whom there is always something else to do.
func TestLeftWhileBusy(t *testing.T) {
	worlds(t, func(t *testing.T, cfg world) {
		c := newCoop(t, cfg)
		c.leave(t)
		back := c.Ranks[1].Endpoints[0].(*endpoint)
		passes := 0
		for ; c.end.n == 0 && passes < 100; passes++ {
			c.Ranks[1].Do(func() { back.SendInline(tag, 0, 0, nil, 0) })
			c.Ranks[0].Do(func() { c.ep.m.Poll() })
		}
		if passes < 2 || passes > busyMax+1 {
			t.Errorf("taken back after %d passes", passes)
		}
		c.ended(t, true)
	})
}

// TestLeftToDead: what is left to a process that ends does not stay behind.
func TestLeftToDead(t *testing.T) {
	worlds(t, func(t *testing.T, cfg world) {
		c := newCoop(t, cfg)
		c.leave(t)
		c.Ranks[0].Do(func() { c.ep.m.ended(c.ep.proc, errors.New("gone")) })
		c.ended(t, true) // its memory can be read still, in this test
	})
}

// TestLeftUnreadable: what neither end can copy ends with an error.
func TestLeftUnreadable(t *testing.T) {
	worlds(t, func(t *testing.T, cfg world) {
		for _, helper := range []bool{false, true} {
			c := newCoop(t, cfg)
			p := c.leave(t)
			if !cfg.RawHandles {
				c.Ranks[1].Do(func() { c.to.Deregister(c.h) })
			} else {
				// As if the memory had been unmapped meanwhile.
				p.t.Remote.A = p.t.Remote.A&^handleMask | 8
				slot := c.to.rings[0].slots
				*(*uint64)(unsafe.Add(slot, helpA)) = p.t.Remote.A
			}
			if helper {
				c.Ranks[1].Do(func() { c.to.Poll() })
			}
			c.Ranks[0].Do(func() { c.ep.m.Poll() })
			c.ended(t, false)
			if cfg.RawHandles && !errors.Is(c.end.err, unix.EFAULT) {
				t.Errorf("error %v", c.end.err)
			}
		}
	})
}

// TestBoardsRunOut: a burst that is longer than the boards last goes on without help.
func TestBoardsRunOut(t *testing.T) {
	worlds(t, func(t *testing.T, cfg world) {
		c := newCoop(t, cfg)
		c.ep.helped = true
		const n = 2 * boards
		over := make([]ends, n)
		dst := make([][]byte, n)
		xs := make([]btl.Transfer, n)
		later := 0
		c.Ranks[0].Do(func() {
			m := c.ep.m
			// A ring that always has another message.
			fake := new(consumer)
			ring := make([]uint64, 2*line/8)
			fake.slots = unsafe.Pointer(&ring[0])
			fake.pos = ^uint32(0) // the next is 0, which slot 0 holds
			ring[0] = 1
			m.reading = fake
			for i := range xs {
				dst[i] = make([]byte, coopN)
				xs[i] = c.x
				xs[i].Owner, xs[i].Local = &over[i], unsafe.Pointer(&dst[i][0])
				done, err := c.ep.Get(&xs[i])
				if err != nil {
					t.Fatal(err)
				}
				if !done {
					later++
				}
			}
			m.reading = nil
		})
		if later != boards {
			t.Errorf("%d of %d transfers end later, with %d boards", later, n, boards)
		}
		c.Until(t, "the ends", func() bool { return len(c.ep.m.pulls) == 0 })
		sum := 0
		for i := range xs {
			sum += over[i].n
			if over[i].err != nil || !bytes.Equal(dst[i], c.src) {
				t.Errorf("transfer %d: %v, or wrong bytes", i, over[i].err)
			}
		}
		if sum != boards {
			t.Errorf("%d ends of transfers", sum)
		}
	})
}
