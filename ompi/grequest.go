package ompi

import (
	"github.com/ompi-go/ompi-go/core"
)

// GrequestFuncs are the callbacks of a generalized request (MPI-3.1 §12.2); each may be nil. They run on goroutines that are inside
// an MPI call of the program, without locks, and may call MPI themselves.
type GrequestFuncs struct {
	// Query fills in the status of the complete operation: for each call that gives it, whether the caller wants a status or not. What
	// it does to st.Err is ignored.
	Query func(st *Status) error
	// Free is called once: when the request has been waited for or tested, after Query, or freed and complete.
	Free func() error
	// Cancel is called by Request.Cancel; complete tells whether GrequestComplete has been called.
	Cancel func(complete bool) error
}

// grequest is a generalized request. It has a core.Request of its own, which is never reused: so GrequestComplete finds the operation
// also after Request.Free.
type grequest struct {
	f    GrequestFuncs
	r    *core.Request
	inst *Instance
	ends bool // complete, or failed with the instance; guarded by the token
	free bool // freed by the user before that; likewise
}

// Start implements core.Operation; a generalized request is never started.
func (g *grequest) Start(*core.Request) error { return nil }

// Cancel implements core.Operation; Request.Cancel calls the callback, without the token.
func (g *grequest) Cancel(*core.Request) error { return nil }

// Query implements core.Outcome.
func (g *grequest) Query(st *Status) error {
	if g.f.Query == nil {
		return nil
	}
	return g.f.Query(st)
}

// Retire implements core.Outcome.
func (g *grequest) Retire() error {
	if g.f.Free == nil {
		return nil
	}
	return g.f.Free()
}

func (g *grequest) cancel(r Request) error {
	g.r.Engine.Lock()
	done := g.ends
	g.r.Engine.Unlock()
	if g.f.Cancel == nil {
		return nil
	}
	if err := g.f.Cancel(done); err != nil {
		return r.failure("Cancel", err, -1)
	}
	return nil
}

// freed is told of Request.Free, with the token held, and gives what to call without it.
func (g *grequest) freed() func() error {
	if g.ends {
		return g.Retire
	}
	g.free = true
	return nil
}

// cancelled implements pendingOp: the instance is no more.
func (g *grequest) cancelled(err *core.Error) {
	g.ends = true
	g.r.FinishErr(err)
}

// GrequestStart makes a generalized request: an operation of the program, which calls GrequestComplete when it is complete. Until then
// waits for it wait as they do for messages.
func (i *Instance) GrequestStart(f GrequestFuncs) Request {
	c := i.world
	if i.intercept != nil {
		r, _ := observed(c, "Grequest_start", Undefined, 0, func() (Request, error) { return i.grequestStart(f), nil })
		return r
	}
	return i.grequestStart(f)
}

func (i *Instance) grequestStart(f GrequestFuncs) Request {
	const op = "Grequest_start"
	c := i.world
	if err := c.check(op); err != nil {
		return c.refused(op, err)
	}
	g := &grequest{f: f, inst: i}
	g.r = loneRequest(c, op, g)
	g.r.Final = g
	h := g.r.Handle()
	i.engine.Lock()
	if err := i.fatal.Load(); err != nil {
		g.cancelled(err)
	} else {
		i.ops.add(g)
	}
	i.engine.Unlock()
	return Request{h, c}
}

// GrequestComplete tells that the operation of a generalized request is complete. Any goroutine may call it, once; also after the
// request has been freed, when it calls the Free callback.
func (r Request) GrequestComplete() error {
	if r.seen() {
		return r.c.call("Grequest_complete", Undefined, 0, r.grequestComplete)
	}
	return r.grequestComplete()
}

func (r Request) grequestComplete() error {
	const op = "Grequest_complete"
	if r.h.R == nil {
		return r.bad(op, "the request is null")
	}
	g, ok := r.h.R.Owner.(*grequest)
	if !ok {
		return r.bad(op, "the request is not a generalized one")
	}
	e := g.r.Engine
	e.Lock()
	first := !g.ends
	failed := !first && g.r.Status.Err != nil // with the instance; the program cannot know
	free := (first || failed) && g.free
	g.free = false
	if first {
		g.ends = true
		g.inst.ops.remove(g)
		g.r.Finish()
	}
	e.Unlock()
	switch {
	case !first && !failed:
		return r.bad(op, "the request is complete already")
	case free:
		if err := g.Retire(); err != nil {
			return r.failure(op, err, -1)
		}
	}
	return nil
}
