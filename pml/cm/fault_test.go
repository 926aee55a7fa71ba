package cm

import (
	"testing"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mtl"
	"github.com/ompi-go/ompi-go/pml"
)

// TestDeath: what waits for a dead process ends, what had come of it can be received, and the living go on.
func TestDeath(t *testing.T) {
	w := newWorld(t, 3)
	a, b, c := w.ranks[0], w.ranks[1], w.ranks[2]
	buf := func() core.Buffer { return bytesOf(make([]byte, 4*eager)) }
	came := bytesOf([]byte("came"))
	if err := b.o.Send(b.p, came, 0, 1, pml.Standard); err != nil {
		t.Fatal(err)
	}
	b.o.Isend(b.p, buf(), 0, 2, pml.Standard) // announced, to be matched before the death
	b.o.Isend(b.p, buf(), 0, 3, pml.Standard) // and after
	w.Settle(t)
	toDead := a.o.Isend(a.p, buf(), 1, 4, pml.Standard)
	fromDead, fromAny, inner := a.o.Irecv(a.p, buf(), 1, 9), a.o.Irecv(a.p, buf(), mtl.AnySource, 9), a.o.Irecv(&a.World.Inner, buf(), 2, 9)
	living := a.o.Irecv(a.p, buf(), 2, 9)
	a.Do(func() { a.Engine.PollAll() })
	started := a.o.Irecv(a.p, buf(), 1, 2) // matched; its data will not come
	var probed error
	over := make(chan struct{})
	go func() {
		_, probed = a.o.Probe(a.p, 1, 9)
		close(over)
	}()
	for parked := false; !parked; {
		a.Do(func() { parked = len(a.o.probes) == 1 })
	}
	a.die(1)
	<-over
	class(t, "a probe of the dead", probed, core.ErrProcFailed, 1)
	w.until(t, "what waits for the dead", toDead, fromDead, fromAny, inner, started)
	for what, r := range map[string]*core.Request{"a send to the dead": toDead, "a receive from the dead": fromDead, "a receive from any": fromAny, "a receive of the library's own": inner, "a matched receive": started} {
		class(t, what, r.Status.Err, core.ErrProcFailed, 1)
	}
	if living.Done() {
		t.Errorf("a receive from a living rank has ended: %+v", living.Status)
	}
	// What comes afterwards.
	class(t, "a send", a.o.Send(a.p, came, 1, 1, pml.Standard), core.ErrProcFailed, 1)
	in := make([]byte, 4)
	if st, err := a.o.Recv(a.p, bytesOf(in), 1, 1); err != nil || string(in) != "came" || st.Source != 1 {
		t.Errorf("what came before: %q, %+v, %v", in, st, err)
	}
	_, err := a.o.Recv(a.p, buf(), 1, 3)
	class(t, "a receive of an announced message", err, core.ErrProcFailed, 1)
	_, err = a.o.Recv(a.p, buf(), mtl.AnySource, 3)
	class(t, "a receive from any", err, core.ErrProcFailed, 1)
	_, _, err = a.o.Iprobe(a.p, 1, 3)
	class(t, "Iprobe", err, core.ErrProcFailed, 1)
	if m, err := a.o.Improbe(a.p, mtl.AnySource, 3); m != nil {
		t.Error("Improbe found something")
	} else {
		class(t, "Improbe", err, core.ErrProcFailed, 1)
	}
	s := c.o.Isend(c.p, buf(), 0, 9, pml.Standard)
	w.until(t, "a message of the living", s, living)
	if living.Status.Err != nil {
		t.Error(living.Status.Err)
	}
	if !a.o.Quiet() || a.o.Pending() != "" {
		t.Errorf("left: %s", a.o.Pending())
	}
}

// TestRevoked: everything on a communicator ends with its fault.
func TestRevoked(t *testing.T) {
	w := newWorld(t, 2)
	a, b := w.ranks[0], w.ranks[1]
	buf := func() core.Buffer { return bytesOf(make([]byte, 4*eager)) }
	b.o.Isend(b.p, buf(), 0, 1, pml.Standard)
	b.o.Isend(b.p, buf(), 0, 1, pml.Standard)
	w.Settle(t)
	taken, err := a.o.Improbe(a.p, 1, 1)
	if err != nil || taken == nil {
		t.Fatal(err)
	}
	ops := []*core.Request{a.o.Isend(a.p, buf(), 1, 4, pml.Standard), a.o.Irecv(a.p, buf(), 1, 9), a.o.Irecv(&a.World.Inner, buf(), 1, 9), a.o.Irecv(a.p, buf(), 1, 1)}
	a.revoke()
	ops = append(ops, a.o.Imrecv(taken, buf()), a.o.Irecv(a.p, buf(), 1, 1), a.o.Isend(a.p, buf(), 1, 4, pml.Standard), a.o.Isend(a.p, bytesOf(nil), 1, 4, pml.Standard))
	for i, r := range ops {
		if !r.Done() || core.ClassOf(r.Status.Err) != core.ErrRevoked {
			t.Errorf("operation %d: done %v, %v", i, r.Done(), r.Status.Err)
		}
	}
	if _, err := a.o.Probe(a.p, 1, 9); core.ClassOf(err) != core.ErrRevoked {
		t.Errorf("a probe: %v", err)
	}
	a.o.SentOn(a.World)
	a.o.Settle(a.World, nil)
	if !a.o.Quiet() || a.o.Pending() != "" {
		t.Errorf("left: %s", a.o.Pending())
	}
}

// canceller cancels another receive when its own is over.
type canceller struct{ other *core.Request }

func (c canceller) RequestDone(*core.Request) { _ = c.other.Owner.Cancel(c.other) }

// TestDeathEndsAll: the end of one receive may take another out of the list, such as the rest of a schedule.
func TestDeathEndsAll(t *testing.T) {
	w := newWorld(t, 2)
	a := w.ranks[0]
	buf := func() core.Buffer { return bytesOf(make([]byte, 4)) }
	first, second, third := a.o.Irecv(a.p, buf(), 1, 1), a.o.Irecv(a.p, buf(), 1, 2), a.o.Irecv(a.p, buf(), 1, 3)
	third.Hook, first.Hook = canceller{second}, canceller{second} // whatever the order of the list is
	a.die(1)
	w.until(t, "receives from the dead", first, second, third)
	if !second.Status.Cancelled && second.Status.Err == nil || first.Status.Err == nil || third.Status.Err == nil {
		t.Errorf("%+v, %+v, %+v", first.Status, second.Status, third.Status)
	}
}
