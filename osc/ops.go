package osc

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// At is where an operation lands.
type At struct {
	Rank  int // ProcNull is legal: nothing happens
	Disp  int64
	Count int64
	Type  *datatype.Type
}

// alike reports whether origin has the elements that the target has, in one piece.
func alike(origin *core.Buffer, at *At) bool {
	return origin.Type() == at.Type && origin.Count() == at.Count
}

// Put writes origin to the target.
func (w *Win) Put(origin core.Buffer, at At) error {
	if mem, n := w.short(&at); mem != nil && alike(&origin, &at) {
		move(mem, origin.Addr(), n)
		return nil
	}
	return w.issue(Put, origin, core.Buffer{}, core.Buffer{}, at, nil)
}

// Get reads from the target.
func (w *Win) Get(origin core.Buffer, at At) error {
	if mem, n := w.short(&at); mem != nil && alike(&origin, &at) {
		move(origin.Addr(), mem, n)
		return nil
	}
	return w.issue(Get, origin, core.Buffer{}, core.Buffer{}, at, nil)
}

// Accumulate combines origin into the target.
func (w *Win) Accumulate(origin core.Buffer, at At, acc *core.Op) error {
	return w.issue(Accumulate, origin, core.Buffer{}, core.Buffer{}, at, acc)
}

// GetAccumulate is Accumulate that fetches what was there; FetchAndOp is this of one element. Origin is the zero Buffer where acc is NoOp.
func (w *Win) GetAccumulate(origin, result core.Buffer, at At, acc *core.Op) error {
	return w.issue(GetAccumulate, origin, core.Buffer{}, result, at, acc)
}

// CompareAndSwap puts the element origin in the place of one that equals compare.
func (w *Win) CompareAndSwap(origin, compare, result core.Buffer, at At) error {
	return w.issue(CompareAndSwap, origin, compare, result, at, nil)
}

func (w *Win) issue(kind OpKind, origin, compare, result core.Buffer, at At, acc *core.Op) error {
	e := w.Engine
	e.Lock()
	err := w.allow(at.Rank, false)
	if err == nil {
		_, err = w.begin(kind, origin, compare, result, at, acc, nil)
	}
	e.Unlock()
	return err
}

// Request begins an operation with a request (MPI-3.1 §11.3.5), which completes when the operation is complete at the origin. name is MPI's name of the
// call. An error without a request is one of arguments and epochs.
func (w *Win) Request(name string, kind OpKind, origin, result core.Buffer, at At, acc *core.Op) (core.Handle, error) {
	e := w.Engine
	e.Lock()
	defer e.Unlock()
	if err := w.allow(at.Rank, true); err != nil {
		return core.Handle{}, err
	}
	buf := origin
	if kind == GetAccumulate {
		buf = result
	}
	r := w.reqs.get(name, at.Rank, buf)
	h := r.Handle()
	done, err := w.begin(kind, origin, core.Buffer{}, result, at, acc, &r.Request)
	switch {
	case err != nil:
		r.FinishErr(err)
	case done:
		r.Finish()
	}
	return h, nil
}

// allow checks that an access epoch lets operations to rank through.
func (w *Win) allow(rank int, passive bool) error {
	if e := &w.epochs; passive || !e.lets(rank) {
		if err := e.operation(rank, passive); err != nil {
			return err
		}
	}
	if f := w.Comm.Fault(); f != nil {
		return w.fault(f, rank)
	}
	return nil
}

// fault is the error of an operation on a window whose communicator has one. With the hint of lock recovery, survivors go on among themselves.
func (w *Win) fault(f *core.Fault, rank int) error {
	if !w.Hints.Recover || f.Fatal {
		return f.Err
	}
	if rank != AllTargets && w.Comm.Procs[rank].Failed() != nil {
		return w.Comm.DeathOf(w.Comm.Procs[rank])
	}
	return nil
}

// begin locates an operation and gives it to the module. The token is held.
func (w *Win) begin(kind OpKind, origin, compare, result core.Buffer, at At, acc *core.Op, r *core.Request) (done bool, err error) {
	s := w.spare
	if s == nil {
		s = new(scratch)
	} else {
		w.spare = s.next
	}
	s.Op = Op{Kind: kind, Origin: origin, Compare: compare, Result: result, Rank: at.Rank, Count: at.Count, Type: at.Type, Acc: acc, Request: r}
	if err = w.locate(&s.Op, at.Disp); err == nil {
		if s.Low == s.High {
			done = true
		} else {
			s.Local = w.localOf(&s.Op)
			if done, err = w.module.Issue(&s.Op); !done && err == nil {
				w.issued++
				w.track()
			}
		}
	}
	s.Op = Op{} // its buffers are the program's
	s.next = w.spare
	w.spare = s
	return done, err
}
