package ompi

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/internal/invariants"
	"github.com/ompi-go/ompi-go/progress"
)

// Request is a small value: slot and generation. The zero, a retired and a stale one behave as MPI_REQUEST_NULL: empty
// Status, nil error, skipped by the Any and Some forms. Wait, or Test returning true, retires it; persistent ones become inactive
// and are retired by Free. Nothing is allocated per operation. Of several goroutines that wait for one request, one gets the outcome,
// and to the others it is a null request.
type Request struct {
	h core.Handle
	c *Comm // for errors
}

// loneOp owns requests that are done from the start: from ProcNull, or failed before they began.
type loneOp struct {
	st   Status
	told bool // the error handler has seen st.Err
}

// Start implements core.Operation: a persistent one is done again at once.
func (o *loneOp) Start(r *core.Request) error {
	r.Reset()
	r.SetActive(true)
	r.Status = o.st
	r.Finish()
	return nil
}

// Cancel implements core.Operation.
func (o *loneOp) Cancel(*core.Request) error { return nil }

func loneRequest(c *Comm, op string, owner core.Operation) *core.Request {
	r := &core.Request{Owner: owner}
	r.Renew(nil, op, Undefined, Buffer{})
	if c != nil && c.inst != nil {
		r.Engine = c.inst.engine
		r.Comm = c.c
	} else {
		r.Engine = progress.New(progress.Config{Cores: 1, LocalRanks: 1})
	}
	return r
}

func lone(c *Comm, op string, o *loneOp) Request {
	r := loneRequest(c, op, o)
	r.Status = o.st
	r.SetDone() // nobody holds the token here, and nobody can be waiting
	return Request{r.Handle(), c}
}

// doneRequest is an operation with nothing to do, such as one with ProcNull at every border of a grid: its slot comes from a pool.
func doneRequest(c *Comm, op string, st Status) Request {
	i := c.inst
	i.engine.Lock()
	p := i.pairs.get(i)
	p.RenewDone()
	p.Comm, p.Op, p.Peer, p.Buf, p.Status = c.c, op, ProcNull, Buffer{}, st
	i.engine.Unlock()
	return Request{p.Handle(), c}
}

func nullPersistent(c *Comm, op string, st Status) Request {
	r := loneRequest(c, op, &loneOp{st: st})
	r.Persistent = true
	return Request{r.Handle(), c}
}

// failedRequest is an operation that failed before it began, with an error that has been through the error handler.
func failedRequest(c *Comm, op string, err error) Request {
	st := core.EmptyStatus()
	st.Err = err
	return lone(c, op, &loneOp{st: st, told: true})
}

// take consumes a completed request and gives its outcome; ok is false when another goroutine has it. n is the position in the list
// that the call was given, -1 when there is none.
func (r Request) take(n int) (st Status, ok bool, err error) {
	if !r.h.Claim() {
		return core.EmptyStatus(), false, nil
	}
	q := r.h.R
	st = q.Status
	op, final := q.Op, q.Final
	r.h.Release()
	if final != nil || st.Err != nil {
		st = r.conclude(op, final, st, n)
	}
	return st, true, st.Err
}

// takeErr is take without the status.
func (r *Request) takeErr(n int) error {
	if !r.h.Claim() {
		return nil
	}
	q := r.h.R
	if q.Status.Err == nil && q.Final == nil {
		r.h.Release()
		return nil
	}
	st, op, final := q.Status, q.Op, q.Final
	r.h.Release()
	return r.conclude(op, final, st, n).Err
}

// conclude completes an outcome that is not plain: it asks who makes the status, and explains the error.
func (r Request) conclude(op string, final core.Outcome, st Status, n int) Status {
	if final != nil {
		before := st.Err
		query := final.Query(&st)
		st.Err = before // the status's error is not the query's business (MPI-3.1 §12.2)
		if err := final.Retire(); err != nil {
			query = err // the last callback's error counts
		}
		if st.Err == nil {
			st.Err = query
		}
	}
	if st.Err != nil {
		st.Err = r.failure(op, st.Err, n)
	}
	return st
}

// failure completes an error and lets the error handler decide, unless it has done so when the operation was to start.
func (r Request) failure(op string, err error, n int) error {
	err = r.c.explain(op, err)
	if n >= 0 {
		err = indexed(err, n)
	}
	if o, ok := r.h.R.Owner.(*loneOp); r.c == nil || ok && o.told {
		return err
	}
	return r.c.fail(op, err)
}

// seen reports whether an interceptor is called around calls on the request.
func (r Request) seen() bool { return r.c != nil && r.c.odd }

// null is the outcome of a request that names nothing to wait for.
func (r Request) null(op string) error {
	if invariants.On && r.h.Stale() {
		return r.bad(op, "the operation is over, and another has its place")
	}
	return nil
}

// Wait returns when the operation is complete, and retires the request (MPI-3.1 §3.7.3).
func (r Request) Wait() (Status, error) {
	if r.seen() {
		return observed(r.c, "Wait", Undefined, 0, r.wait)
	}
	return r.wait()
}

func (r Request) wait() (Status, error) {
	if !r.h.Active() {
		return core.EmptyStatus(), r.null("Wait")
	}
	if !r.h.R.Done() {
		r.h.Wait()
	}
	st, _, err := r.take(-1)
	return st, err
}

// WaitContext is Wait that gives up when ctx ends, with ctx's cause; the operation goes on and the request stays valid.
func (r Request) WaitContext(ctx context.Context) (Status, error) {
	if r.seen() {
		return observed(r.c, "Wait", Undefined, 0, func() (Status, error) { return r.waitContext(ctx) })
	}
	return r.waitContext(ctx)
}

func (r Request) waitContext(ctx context.Context) (Status, error) {
	if !r.h.Active() {
		return core.EmptyStatus(), r.null("Wait")
	}
	if !r.h.R.Done() && r.h.Hold() {
		done := waitContext(ctx, r.h.R.Engine, &r.h.R.Completion)
		var op string
		if !done {
			op = r.h.R.Op
		}
		r.h.Let()
		if !done {
			return core.EmptyStatus(), &core.Error{Class: ErrPending, Op: op, Peer: Undefined, Index: -1, Err: context.Cause(ctx)}
		}
	}
	st, _, err := r.take(-1)
	return st, err
}

// waitContext waits for c or the end of ctx and reports whether c is done.
func waitContext(ctx context.Context, e *progress.Engine, c progress.Cond) bool {
	if ctx.Done() == nil {
		e.Wait(c)
		return true
	}
	var stop atomic.Bool
	cancel := context.AfterFunc(ctx, func() {
		stop.Store(true)
		e.Kick()
	})
	defer cancel()
	return e.WaitStop(c, &stop)
}

// Test reports whether the operation is complete, and retires the request if so.
func (r Request) Test() (Status, bool, error) {
	if r.seen() {
		return observedBool(r.c, "Test", Undefined, 0, r.test)
	}
	return r.test()
}

func (r Request) test() (Status, bool, error) {
	if !r.h.Active() {
		return core.EmptyStatus(), true, r.null("Test")
	}
	if !r.done() {
		return core.EmptyStatus(), false, nil
	}
	st, _, err := r.take(-1)
	return st, true, err
}

// done looks, makes some progress if need be, and looks again.
func (r Request) done() bool {
	q := r.h.R
	if q.Done() {
		return true
	}
	poll(q.Engine)
	return q.Done() || !r.h.Active()
}

func poll(e *progress.Engine) {
	e.Lock()
	n := e.TryPoll()
	e.Unlock()
	if n == 0 {
		e.Yield()
	}
}

// Status reports whether the operation is complete without retiring the request (MPI_Request_get_status).
func (r Request) Status() (Status, bool, error) {
	if r.seen() {
		return observedBool(r.c, "Request_get_status", Undefined, 0, r.status)
	}
	return r.status()
}

func (r Request) status() (st Status, ok bool, err error) {
	if !r.h.Active() {
		return core.EmptyStatus(), true, r.null("Request_get_status")
	}
	if !r.done() {
		return core.EmptyStatus(), false, nil
	}
	q := r.h.R
	q.Engine.Lock() // slots get new lives with the token held
	if !r.h.Active() {
		q.Engine.Unlock()
		return core.EmptyStatus(), true, nil
	}
	st, op, final := q.Status, q.Op, q.Final
	q.Engine.Unlock()
	st.Err = r.c.explain(op, st.Err) // the error handler learns of it when the request is waited for
	if final != nil {
		if err := final.Query(&st); err != nil {
			return st, true, r.failure(op, err, -1)
		}
	}
	return st, true, nil
}

// Cancel asks for the operation to be given up; Wait tells in Status.Cancelled whether it was. Receives that have not matched can
// be cancelled, sends complete as usual, and a generalized request's callback decides. Partitioned operations cannot be cancelled.
func (r Request) Cancel() error {
	if r.seen() {
		return r.c.call("Cancel", Undefined, 0, r.cancel)
	}
	return r.cancel()
}

func (r Request) cancel() error {
	if !r.h.Active() {
		return r.bad("Cancel", "the request is not active")
	}
	q := r.h.R
	switch o := q.Owner.(type) {
	case *grequest:
		return o.cancel(r)
	case *psend, *precv:
		return r.bad("Cancel", "a partitioned operation cannot be cancelled")
	}
	q.Engine.Lock()
	defer q.Engine.Unlock()
	if !r.h.Active() || q.Done() {
		return nil
	}
	return q.Owner.Cancel(q)
}

// Free lets go of the request; an operation under way goes on to its end (MPI-3.1 §3.7.3), but a partitioned one must not be under
// way (MPI-4 §4.2).
func (r Request) Free() error {
	if r.seen() {
		return r.c.call("Request_free", Undefined, 0, r.free)
	}
	return r.free()
}

func (r Request) free() error {
	if !r.h.Live() {
		return r.bad("Request_free", "the request is not valid")
	}
	q := r.h.R
	q.Engine.Lock()
	live := r.h.Live()
	var after func() error
	if live {
		switch o := q.Owner.(type) {
		case *grequest:
			after = o.freed()
		case *psend:
			live = r.h.Idle()
			if live {
				o.free()
			}
		case *precv:
			live = r.h.Idle()
			if live {
				o.free()
			}
		}
	}
	if live {
		r.h.Abandon()
	}
	q.Engine.Unlock()
	if !live {
		return r.bad("Request_free", "the request is not valid, or a partitioned operation is under way")
	}
	if after != nil {
		if err := after(); err != nil {
			return r.failure("Request_free", err, -1)
		}
	}
	return nil
}

// Start starts a persistent request.
func (r Request) Start() error {
	if r.seen() {
		return r.c.call("Start", Undefined, 0, func() error { return r.start(-1) })
	}
	return r.start(-1)
}

func (r Request) start(n int) error {
	if !r.h.Live() || !r.h.Lasting() {
		if r.h.Live() {
			if o, ok := r.h.R.Owner.(*loneOp); ok && o.st.Err != nil {
				return o.st.Err // it could not be made
			}
		}
		return r.badAt("Start", "the request is not persistent", n)
	}
	if r.c != nil && r.c.freed.Load() {
		return r.c.badArg("Start", ErrComm, "the communicator has been freed")
	}
	e := r.h.R.Engine
	e.Lock()
	idle := r.h.Idle()
	var err error
	if idle {
		err = r.h.R.Owner.Start(r.h.R)
	}
	e.Unlock()
	if !idle {
		return r.badAt("Start", "the request is active already", n)
	}
	if err != nil {
		return r.failure("Start", err, n)
	}
	return nil
}

func (r Request) bad(op, why string) error { return r.badAt(op, why, -1) }

func (r Request) badAt(op, why string, n int) error {
	var err error = &core.Error{Class: ErrRequest, Op: op, Peer: Undefined, Index: n, Err: errors.New(why)}
	if r.c != nil {
		err = r.c.fail(op, err)
	}
	return err
}

// indexed adds a position in a list of requests to an error.
func indexed(err error, n int) error {
	var e *core.Error
	if !errors.As(err, &e) || e != err {
		return fmt.Errorf("request %d: %w", n, err)
	}
	full := *e
	full.Index = n
	return &full
}
