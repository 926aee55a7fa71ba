package mtltest

import (
	"testing"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mtl"
)

// ended checks that an operation ended with an error of a class.
func (o *Op) ended(t testing.TB, what string, class core.ErrorClass) {
	t.Helper()
	if o.over != 1 || core.ClassOf(o.err) != class {
		t.Fatalf("%s: over %d times with the error %v, want one of class %v", what, o.over, o.err, class)
	}
}

func testReceiverDies(t *testing.T, w *World) {
	a, c := w.Ranks[0], w.Ranks[2]
	ch := &a.World.P2P
	w.wait(t, "a first message", a.send(ch, newMemory(t, 8, 0, false), 1, 0, false))
	long := a.send(ch, newMemory(t, w.Long, 1, false), 1, 1, true)
	short := a.send(ch, newMemory(t, 8, 2, false), 1, 2, true)
	other := a.send(ch, newMemory(t, w.Long, 3, false), 2, 3, true)
	w.Settle(t)
	w.Ranks[1].silent = true
	late := a.send(ch, newMemory(t, w.Long, 4, false), 1, 4, true)
	if other.done() || long.done() || short.done() || late.done() {
		t.Fatal("a synchronous send was over before it was matched")
	}
	w.Die(1)
	w.wait(t, "sends to the dead", long, short, late)
	for _, o := range []*Op{long, short, late} {
		o.ended(t, "a send to the dead", core.ErrProcFailed)
	}
	in := newMemory(t, w.Long, -1, false)
	r := c.recv(&c.World.P2P, in, 0, 3)
	w.wait(t, "a message among the living", r, other)
	r.got(t, in, 0, 3, w.Long, 3)
	w.quiet(t)
}

func testSenderDies(t *testing.T, w *World) {
	a, b := w.Ranks[0], w.Ranks[1]
	ch := &a.World.P2P
	b.send(&b.World.P2P, newMemory(t, 8, 1, false), 0, 1, false)
	b.send(&b.World.P2P, newMemory(t, w.Long, 2, false), 0, 2, false)
	b.send(&b.World.P2P, newMemory(t, w.Long, 3, false), 0, 3, false)
	w.Settle(t)
	b.silent = true
	in2 := newMemory(t, w.Long, -1, false)
	long := a.recv(ch, in2, 1, 2)
	posted := a.recv(ch, newMemory(t, 8, -1, false), 1, 9)
	for range 10 {
		w.Poll()
	}
	w.Die(1)
	in1 := newMemory(t, 8, -1, false)
	short := &Op{rank: a, Request: mtl.Request{Ch: ch, Buf: in1.buf, Peer: 1, Tag: 1}}
	short.Owner = short
	a.Do(func() {
		m, _, ok := a.Module.Improbe(ch, 1, 1)
		if !ok {
			t.Fatal("a message that came whole before its sender died is gone")
		}
		a.Module.RecvMessage(m, &short.Request)
	})
	w.wait(t, "what had come before", short, long)
	short.got(t, in1, 1, 1, 8, 1)
	if long.err != nil { // its data may have been there to be read
		long.ended(t, "a message whose sender died", core.ErrProcFailed)
	} else {
		long.got(t, in2, 1, 2, w.Long, 2)
	}
	if posted.over == 0 {
		a.Do(func() {
			if !a.Module.Cancel(&posted.Request) {
				t.Error("a receive from the dead that nothing has matched could not be cancelled")
			}
		})
	} else {
		posted.ended(t, "a receive from the dead", core.ErrProcFailed)
	}
	// An announced message that nobody had matched is gone, or its receive ends all the same.
	in3 := newMemory(t, w.Long, -1, false)
	last := &Op{rank: a, Request: mtl.Request{Ch: ch, Buf: in3.buf, Peer: 1, Tag: 3}}
	last.Owner = last
	begun := false
	a.Do(func() {
		if m, _, ok := a.Module.Improbe(ch, 1, 3); ok {
			begun = true
			a.Module.RecvMessage(m, &last.Request)
			a.Module.ProcFailed(a.Env.Procs[1])
		}
	})
	if begun {
		w.wait(t, "an announced message of the dead", last)
		if last.err == nil {
			last.got(t, in3, 1, 3, w.Long, 3)
		}
	}
	in := newMemory(t, w.Long, -1, false)
	r := a.recv(ch, in, 2, 1)
	s := w.Ranks[2].send(&w.Ranks[2].World.P2P, newMemory(t, w.Long, 5, false), 0, 1, false)
	w.wait(t, "a message among the living", r, s)
	r.got(t, in, 2, 1, w.Long, 5)
	w.quiet(t)
}

func testCommFails(t *testing.T, w *World) {
	a, b := w.Ranks[0], w.Ranks[1]
	ca, cb := a.Comm(t, 6), b.Comm(t, 6)
	long := a.send(&ca.P2P, newMemory(t, w.Long, 1, false), 1, 1, true)
	short := a.send(&ca.Inner, newMemory(t, 8, 2, false), 1, 2, true)
	other := a.send(&a.World.P2P, newMemory(t, w.Long, 3, false), 1, 3, true)
	posted := a.recv(&ca.P2P, newMemory(t, 8, -1, false), 1, 9)
	w.Settle(t)
	for _, x := range []struct {
		r *Rank
		c *core.Comm
	}{{a, ca}, {b, cb}} {
		x.r.Do(func() {
			x.c.SetFault(&core.Fault{Err: core.NewError(core.ErrRevoked, "revoked"), Fatal: true})
			x.r.Module.CommFailed(x.c)
		})
	}
	w.wait(t, "sends on the communicator that failed", long, short)
	long.ended(t, "a long send", core.ErrRevoked)
	short.ended(t, "a short send", core.ErrRevoked)
	if posted.over == 0 {
		a.Do(func() {
			if !a.Module.Cancel(&posted.Request) {
				t.Error("a receive that nothing has matched could not be cancelled")
			}
		})
	} else {
		posted.ended(t, "a receive", core.ErrRevoked)
	}
	in := newMemory(t, w.Long, -1, false)
	r := b.recv(&b.World.P2P, in, 0, 3)
	w.wait(t, "a message on another communicator", r, other)
	r.got(t, in, 0, 3, w.Long, 3)
	a.Do(func() { a.Module.DelComm(ca) })
	b.Do(func() { b.Module.DelComm(cb) })
	w.quiet(t)
}
