package ob1

import (
	"errors"
	"testing"

	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/pml"
)

// TestDeathAfterFree: a long message that outlives its communicator ends when its peer dies, at either end.
func TestDeathAfterFree(t *testing.T) {
	afterFree(t, core.ErrProcFailed, (*rank).die)
}

// TestCancelAfterFree: and when the instance is cancelled.
func TestCancelAfterFree(t *testing.T) {
	afterFree(t, core.ErrProcAborted, func(r *rank, _ int) {
		r.Do(func() { r.o.Cancelled(core.NewError(core.ErrProcAborted, "cancelled")) })
	})
}

func afterFree(t *testing.T, want core.ErrorClass, end func(r *rank, peer int)) {
	for _, dying := range []int{0, 1} {
		s := btltest.NewScript()
		w := newWorld(t, 2, s, Options{Depth: 4}, false)
		q := w.ranks[0].send(newMemory(t, 9000, 1, false), 1, 1, pml.Standard)
		r := w.ranks[1].recv(newMemory(t, 9000, -1, false), 0, 1)
		s.Deliver(s.Frames()[0]) // RNDV; the ACK is on its way
		alive, pending := w.ranks[1-dying], q
		if dying == 0 {
			pending = r
		}
		alive.o.DelComm(alive.comms[0])
		delete(alive.comms, 0)
		alive.addComm(t, 0) // another communicator has its context
		end(alive, dying)
		if !pending.Done() || core.ClassOf(pending.Status.Err) != want {
			t.Errorf("end of rank %d: done %v, %v", dying, pending.Done(), pending.Status.Err)
		}
		if alive.o.ids.live != 0 {
			t.Errorf("end of rank %d: %d names are left", dying, alive.o.ids.live)
		}
	}
}

// TestPlacedAfterFree: a receive whose payload is being written when its communicator is let go, after the death of another member, ends
// when it is written.
func TestPlacedAfterFree(t *testing.T) {
	for _, broken := range []error{nil, errors.New("broken")} {
		w := newWorld(t, 3, btltest.NewScript(), Options{Depth: 4}, false)
		r := w.ranks[1]
		q := r.recv(newMemory(t, 100, -1, false), 0, 1)
		hdr := matchHeader(typeMatch, 0, 0, 0, 0, 1)
		r.Do(func() {
			if r.o.matchH.Place(0, hdr, 100) == nil {
				t.Fatal("it was not placed")
			}
		})
		r.die(2)
		r.o.DelComm(r.comms[0])
		delete(r.comms, 0)
		if q.Done() {
			t.Error("it is over while it is written")
		}
		r.Do(func() { r.o.matchH.Placed(0, hdr, 100, broken) })
		if !q.Done() || (q.Status.Err == nil) != (broken == nil) || broken == nil && q.Status.Bytes() != 100 {
			t.Errorf("done %v, %+v", q.Done(), q.Status)
		}
	}
}

// TestLongAfterRevoke: a long message that has announced itself is not waited for once its communicator is of no use: its sender
// has given up. That holds for a receive posted then, and for one of a message that a probe has taken before.
func TestLongAfterRevoke(t *testing.T) {
	for _, probed := range []bool{false, true} {
		s := btltest.NewScript()
		w := newWorld(t, 2, s, Options{Depth: 4}, false)
		w.ranks[0].send(newMemory(t, 9000, 1, false), 1, 1, pml.Standard)
		s.Deliver(s.Frames()[0]) // RNDV
		r := w.ranks[1]
		m := newMemory(t, 9000, -1, false)
		var q *core.Request
		if probed {
			msg, err := r.o.Improbe(r.channel(0, false), 0, 1)
			if msg == nil || err != nil {
				t.Fatalf("%v, %v", msg, err)
			}
			r.revoke(0)
			q = r.o.Imrecv(msg, m.buf)
		} else {
			r.revoke(0)
			q = r.recv(m, 0, 1)
		}
		if !q.Done() || core.ClassOf(q.Status.Err) != core.ErrRevoked {
			t.Errorf("probed %v: done %v, %v", probed, q.Done(), q.Status.Err)
		}
	}
}
