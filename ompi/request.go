package ompi

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
)

// Request is a small value: slot and generation. The zero, a retired and a stale one behave as MPI_REQUEST_NULL: empty
// Status, nil error, skipped by the Any and Some forms. Wait, or Test returning true, retires it; persistent ones become inactive
// and are retired by Free. Nothing is allocated per operation.
type Request struct {
	h core.Handle
	c *Comm // for errors
}

// loneOp owns requests that are done from the start: from ProcNull, or failed before they began.
type loneOp struct{ st Status }

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

func loneRequest(c *Comm, op string, st Status) *core.Request {
	r := &core.Request{Owner: &loneOp{st}}
	r.Renew(nil, op, Undefined, Buffer{})
	r.Status = st
	if c != nil && c.inst != nil {
		r.Engine = c.inst.engine
		r.Comm = c.c
	} else {
		r.Engine = progress.New(progress.Config{Cores: 1, LocalRanks: 1})
	}
	return r
}

func doneRequest(c *Comm, op string, st Status) Request {
	r := loneRequest(c, op, st)
	r.SetDone() // nobody holds the token here, and nobody can be waiting
	return Request{r.Handle(), c}
}

func nullPersistent(c *Comm, op string, st Status) Request {
	r := loneRequest(c, op, st)
	r.Persistent = true
	return Request{r.Handle(), c}
}

func failedRequest(c *Comm, op string, err error) Request {
	st := core.EmptyStatus()
	st.Err = err
	return doneRequest(c, op, st)
}

// take consumes a completed request and gives its outcome.
func (r Request) take() (Status, error) {
	op := r.h.R.Op
	st, ok := r.h.Take()
	if !ok || st.Err == nil {
		return st, nil
	}
	err := st.Err
	if r.c != nil {
		err = r.c.fail(op, err)
	}
	st.Err = err
	return st, err
}

// Wait returns when the operation is complete, and retires the request (MPI-3.1 §3.7.3).
func (r Request) Wait() (Status, error) {
	if !r.h.Active() {
		return core.EmptyStatus(), nil
	}
	if !r.h.R.Done() {
		r.h.R.Engine.Wait(&r.h.R.Completion)
	}
	return r.take()
}

// WaitContext is Wait that gives up when ctx ends, with ctx's cause; the operation goes on and the request stays valid.
func (r Request) WaitContext(ctx context.Context) (Status, error) {
	if !r.h.Active() {
		return core.EmptyStatus(), nil
	}
	if !r.h.R.Done() && !waitContext(ctx, r.h.R.Engine, &r.h.R.Completion) {
		return core.EmptyStatus(), &core.Error{Class: ErrPending, Op: r.h.R.Op, Peer: Undefined, Index: -1, Err: context.Cause(ctx)}
	}
	return r.take()
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
	if !r.h.Active() {
		return core.EmptyStatus(), true, nil
	}
	if !r.done() {
		return core.EmptyStatus(), false, nil
	}
	st, err := r.take()
	return st, true, err
}

// done looks, makes some progress if need be, and looks again.
func (r Request) done() bool {
	q := r.h.R
	if q.Done() {
		return true
	}
	poll(q.Engine)
	return q.Done()
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
	if !r.h.Active() {
		return core.EmptyStatus(), true, nil
	}
	if !r.done() {
		return core.EmptyStatus(), false, nil
	}
	return r.h.R.Status, true, nil
}

// Cancel asks for the operation to be given up; Wait tells in Status.Cancelled whether it was. Receives that have not matched can
// be cancelled, sends complete as usual.
func (r Request) Cancel() error {
	if !r.h.Active() {
		return r.bad("Cancel", "the request is not active")
	}
	q := r.h.R
	q.Engine.Lock()
	defer q.Engine.Unlock()
	if q.Done() {
		return nil
	}
	return q.Owner.Cancel(q)
}

// Free lets go of the request; an operation under way goes on to its end (MPI-3.1 §3.7.3).
func (r Request) Free() error {
	if !r.h.Live() {
		return r.bad("Request_free", "the request is not valid")
	}
	e := r.h.R.Engine
	e.Lock()
	r.h.Abandon()
	e.Unlock()
	return nil
}

// Start starts a persistent request.
func (r Request) Start() error {
	if !r.h.Live() || !r.h.R.Persistent {
		return r.bad("Start", "the request is not persistent")
	}
	if r.h.Active() {
		return r.bad("Start", "the request is active already")
	}
	e := r.h.R.Engine
	e.Lock()
	defer e.Unlock()
	return r.h.R.Owner.Start(r.h.R)
}

func (r Request) bad(op, why string) error {
	err := &core.Error{Class: ErrRequest, Op: op, Peer: Undefined, Index: -1, Err: errors.New(why)}
	if r.c != nil {
		return r.c.fail(op, err)
	}
	return err
}

// StartAll starts all persistent requests.
func StartAll(reqs ...Request) error {
	for n, r := range reqs {
		if err := r.Start(); err != nil {
			return indexed(err, n)
		}
	}
	return nil
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

// WaitAll waits for all requests. Several failures come as errors.Join of *Error with Index.
func WaitAll(reqs ...Request) error {
	var errs []error
	for n := range reqs {
		r := &reqs[n]
		if !r.h.Active() {
			continue
		}
		q := r.h.R
		if !q.Done() {
			q.Engine.Wait(&q.Completion)
		}
		if q.Status.Err == nil {
			r.h.Drop()
			continue
		}
		if _, err := r.take(); err != nil {
			errs = append(errs, indexed(err, n))
		}
	}
	return join(errs)
}

func join(errs []error) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return errors.Join(errs...)
}

// WaitAllStatus is WaitAll that gives the statuses, too; st has room for all.
func WaitAllStatus(reqs []Request, st []Status) error {
	if len(st) < len(reqs) {
		return core.NewError(ErrArg, "room for %d statuses of %d requests", len(st), len(reqs))
	}
	var errs []error
	for n, r := range reqs {
		var err error
		if st[n], err = r.Wait(); err != nil {
			errs = append(errs, indexed(err, n))
		}
	}
	return join(errs)
}

// active is the engine of the first active request; nil when none is.
func active(reqs []Request) *progress.Engine {
	for _, r := range reqs {
		if r.h.Active() {
			return r.h.R.Engine
		}
	}
	return nil
}

// anyDone is the condition that one of some requests is complete.
type anyDone []Request

// Done implements progress.Cond.
func (a *anyDone) Done() bool {
	for _, r := range *a {
		if r.h.Active() && r.h.R.Done() {
			return true
		}
	}
	return false
}

// WaitAny waits for one of the requests and gives its position, Undefined when none is active.
func WaitAny(reqs ...Request) (int, Status, error) {
	e := active(reqs)
	if e == nil {
		return Undefined, core.EmptyStatus(), nil
	}
	a := anyDone(reqs)
	if !a.Done() {
		e.Wait(&a)
	}
	n, st, _, err := takeAny(reqs)
	return n, st, err
}

func takeAny(reqs []Request) (int, Status, bool, error) {
	for n, r := range reqs {
		if r.h.Active() && r.h.R.Done() {
			st, err := r.take()
			if err != nil {
				err = indexed(err, n)
			}
			return n, st, true, err
		}
	}
	return Undefined, core.EmptyStatus(), false, nil
}

// WaitSome waits until at least one request is complete and gives the positions and statuses of all that are; their number is
// Undefined when none is active. st may be nil.
func WaitSome(reqs []Request, idx []int, st []Status) (int, error) {
	e := active(reqs)
	if e == nil {
		return Undefined, nil
	}
	a := anyDone(reqs)
	if !a.Done() {
		e.Wait(&a)
	}
	return takeSome(reqs, idx, st)
}

func takeSome(reqs []Request, idx []int, st []Status) (int, error) {
	k := 0
	var errs []error
	for n, r := range reqs {
		if k == len(idx) || (st != nil && k == len(st)) {
			break
		}
		if !r.h.Active() || !r.h.R.Done() {
			continue
		}
		s, err := r.take()
		if err != nil {
			errs = append(errs, indexed(err, n))
		}
		idx[k] = n
		if st != nil {
			st[k] = s
		}
		k++
	}
	return k, join(errs)
}

// TestAll reports whether all requests are complete, and retires them only if so.
func TestAll(reqs ...Request) (bool, error) {
	if !allDone(reqs) {
		return false, nil
	}
	return true, WaitAll(reqs...)
}

// TestAllStatus is TestAll that gives the statuses, too.
func TestAllStatus(reqs []Request, st []Status) (bool, error) {
	if !allDone(reqs) {
		return false, nil
	}
	return true, WaitAllStatus(reqs, st)
}

func allDone(reqs []Request) bool {
	polled := false
	for _, r := range reqs {
		if !r.h.Active() || r.h.R.Done() {
			continue
		}
		if polled {
			return false
		}
		polled = true
		if !r.done() {
			return false
		}
	}
	return true
}

// TestAny reports whether one of the requests is complete, or none is active (position Undefined).
func TestAny(reqs ...Request) (int, Status, bool, error) {
	e := active(reqs)
	if e == nil {
		return Undefined, core.EmptyStatus(), true, nil
	}
	if n, st, ok, err := takeAny(reqs); ok {
		return n, st, true, err
	}
	poll(e)
	return takeAny(reqs)
}

// TestSome is WaitSome that does not wait: the number is 0 when none is complete.
func TestSome(reqs []Request, idx []int, st []Status) (int, error) {
	e := active(reqs)
	if e == nil {
		return Undefined, nil
	}
	if a := anyDone(reqs); !a.Done() {
		poll(e)
	}
	return takeSome(reqs, idx, st)
}

// Result is the outcome of one request.
type Result struct {
	Status Status
	Err    error
}

// Completed yields the requests' positions and outcomes in order of completion. It ends when all are done or ctx is.
func Completed(ctx context.Context, reqs ...Request) iter.Seq2[int, Result] {
	return func(yield func(int, Result) bool) {
		for {
			e := active(reqs)
			if e == nil {
				return
			}
			a := anyDone(reqs)
			if !a.Done() && !waitContext(ctx, e, &a) {
				return
			}
			n, st, ok, err := takeAny(reqs)
			if ok && !yield(n, Result{st, err}) {
				return
			}
		}
	}
}
