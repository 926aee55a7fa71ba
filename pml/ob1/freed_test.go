package ob1

import (
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
