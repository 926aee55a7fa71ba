package ompi

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/osc"
)

// Target is where an operation lands. Count and Type zero: as the origin's; of a fetching operation without an origin, as the result's.
type Target struct {
	Rank  int   // ProcNull: the operation does nothing
	Disp  int64 // in displacement units of the target; in a dynamic window, an Address with an offset in bytes
	Count int
	Type  *datatype.Type
}

// At is the target at a displacement of a rank, with the origin's count and type.
func At(rank int, disp int64) Target { return Target{Rank: rank, Disp: disp} }

// Put writes origin into the target's window (MPI-3.1 §11.3.1). Like all operations it needs an open access epoch, returns at once, and is complete when the
// call that ends the epoch, or a flush, has returned: until then origin must not be changed. A target outside of the window is ErrRMARange, and
// nothing is touched.
func (w *Win) Put(origin Buffer, at Target) error {
	if w == nil || w.c.odd || !origin.Plain() || uint(at.Rank) >= uint(w.c.size) || at.Type != nil || at.Count != 0 || origin.Addr() == nil || w.freed.Load() {
		return w.operate("Put", osc.Put, origin, Buffer{}, Buffer{}, at, nil)
	}
	if err := w.w.Put(origin, osc.At{Rank: at.Rank, Disp: at.Disp, Count: origin.Count(), Type: origin.Type()}); err != nil {
		return w.c.fail("Put", err)
	}
	return nil
}

// Get reads the target's window into origin (MPI-3.1 §11.3.2), which has the data when the operation is complete.
func (w *Win) Get(origin Buffer, at Target) error {
	if w == nil || w.c.odd || !origin.Plain() || uint(at.Rank) >= uint(w.c.size) || at.Type != nil || at.Count != 0 || origin.Addr() == nil || w.freed.Load() {
		return w.operate("Get", osc.Get, origin, Buffer{}, Buffer{}, at, nil)
	}
	if err := w.w.Get(origin, osc.At{Rank: at.Rank, Disp: at.Disp, Count: origin.Count(), Type: origin.Type()}); err != nil {
		return w.c.fail("Get", err)
	}
	return nil
}

// Accumulate combines origin into the target's window by op, a predefined operation, Replace included; each element changes as a whole, whoever else
// accumulates to it (MPI-3.1 §11.3.4). All elements are of one predefined type.
func (w *Win) Accumulate(origin Buffer, at Target, op *Op) error {
	if op != NoOp && w.small(origin, at) && w.w.ShortAccumulate(origin, Buffer{}, here(origin, at), op) {
		return nil
	}
	return w.operate("Accumulate", osc.Accumulate, origin, Buffer{}, Buffer{}, at, op)
}

// GetAccumulate is Accumulate that gives in result what was there before. With NoOp nothing changes, and origin is not looked at.
func (w *Win) GetAccumulate(origin, result Buffer, at Target, op *Op) error {
	if w.small(result, at) && (op == NoOp || origin.Plain()) && w.w.ShortAccumulate(origin, result, here(result, at), op) {
		return nil
	}
	return w.operate("Get_accumulate", osc.GetAccumulate, origin, Buffer{}, result, at, op)
}

// FetchAndOp is GetAccumulate of one element of a predefined type, or a pair.
func (w *Win) FetchAndOp(origin, result Buffer, at Target, op *Op) error {
	if w.small(result, at) && result.Count() == 1 && (op == NoOp || origin.Plain()) && w.w.ShortAccumulate(origin, result, here(result, at), op) {
		return nil
	}
	return w.operate("Fetch_and_op", osc.GetAccumulate, origin, Buffer{}, result, at, op)
}

// CompareAndSwap puts the element origin into the target's window if compare is there; result gets what was there. The element is an integer, a bool or a
// byte.
func (w *Win) CompareAndSwap(origin, compare, result Buffer, at Target) error {
	if w.small(result, at) && result.Count() == 1 && swappable(result.Type().Kind()) && one(origin, result) && one(compare, result) &&
		w.w.ShortSwap(origin, compare, result, here(result, at)) {
		return nil
	}
	return w.operate("Compare_and_swap", osc.CompareAndSwap, origin, compare, result, at, nil)
}

// small tells operations with nothing to be completed or looked into: they may have a short way.
func (w *Win) small(local Buffer, at Target) bool {
	return w != nil && !w.c.odd && local.Plain() && uint(at.Rank) < uint(w.c.size) && at.Type == nil && at.Count == 0 && local.Addr() != nil && !w.freed.Load()
}

// here is the target of a small operation.
func here(local Buffer, at Target) osc.At {
	return osc.At{Rank: at.Rank, Disp: at.Disp, Count: local.Count(), Type: local.Type()}
}

// one tells a buffer of an element of the same type.
func one(b, other Buffer) bool {
	return b.Plain() && b.Count() == 1 && b.Type() == other.Type() && b.Addr() != nil
}

// Rput is Put with a request that tells when origin may be changed again (MPI-3.1 §11.3.5). Operations with requests need a lock. The request must be
// completed; it cannot be cancelled.
func (w *Win) Rput(origin Buffer, at Target) Request {
	return w.request("Rput", osc.Put, origin, Buffer{}, at, nil)
}

// Rget is Get with a request that tells when the data is there.
func (w *Win) Rget(origin Buffer, at Target) Request {
	return w.request("Rget", osc.Get, origin, Buffer{}, at, nil)
}

// Raccumulate is Accumulate with a request that tells when origin may be changed again.
func (w *Win) Raccumulate(origin Buffer, at Target, op *Op) Request {
	return w.request("Raccumulate", osc.Accumulate, origin, Buffer{}, at, op)
}

// RgetAccumulate is GetAccumulate with a request that tells when result is there.
func (w *Win) RgetAccumulate(origin, result Buffer, at Target, op *Op) Request {
	return w.request("Rget_accumulate", osc.GetAccumulate, origin, result, at, op)
}

// operate is the long way of an operation without a request.
func (w *Win) operate(name string, kind osc.OpKind, origin, compare, result Buffer, at Target, op *Op) error {
	if err := w.usable(name); err != nil {
		return err
	}
	if w.c.odd {
		return w.c.call(name, at.Rank, origin.Bytes(), func() error { return w.operateUnseen(name, kind, origin, compare, result, at, op) })
	}
	return w.operateUnseen(name, kind, origin, compare, result, at, op)
}

func (w *Win) operateUnseen(name string, kind osc.OpKind, origin, compare, result Buffer, at Target, op *Op) error {
	t, err := w.check(name, kind, &origin, compare, result, at, op)
	if err == nil && at.Rank != ProcNull {
		switch kind {
		case osc.Put:
			err = w.w.Put(origin, t)
		case osc.Get:
			err = w.w.Get(origin, t)
		case osc.Accumulate:
			err = w.w.Accumulate(origin, t, op)
		case osc.GetAccumulate:
			err = w.w.GetAccumulate(origin, result, t, op)
		case osc.CompareAndSwap:
			err = w.w.CompareAndSwap(origin, compare, result, t)
		}
	}
	return w.outcome(name, err)
}

// request is the way of an operation with one.
func (w *Win) request(name string, kind osc.OpKind, origin, result Buffer, at Target, op *Op) Request {
	if err := w.usable(name); err != nil {
		if w == nil {
			return failedRequest(nil, name, err)
		}
		return failedRequest(w.c, name, err)
	}
	if w.c.odd {
		return observedStart(w.c, name, at.Rank, origin.Bytes(), func() Request { return w.requestUnseen(name, kind, origin, result, at, op) })
	}
	return w.requestUnseen(name, kind, origin, result, at, op)
}

func (w *Win) requestUnseen(name string, kind osc.OpKind, origin, result Buffer, at Target, op *Op) Request {
	t, err := w.check(name, kind, &origin, Buffer{}, result, at, op)
	if err != nil {
		return w.c.refused(name, err)
	}
	if at.Rank == ProcNull {
		return doneRequest(w.c, name, core.EmptyStatus())
	}
	h, err := w.w.Request(name, kind, origin, result, t, op)
	if err != nil {
		return w.c.refused(name, err)
	}
	return Request{h, w.c}
}
