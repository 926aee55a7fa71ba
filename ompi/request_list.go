package ompi

import (
	"errors"
	"slices"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
)

// Calls on lists of requests (MPI-3.1 §3.7.5). The requests of a list belong to one instance.

// inStatus is the failure of several requests of a list.
type inStatus []error

// Error implements error.
func (e inStatus) Error() string { return errors.Join(e...).Error() }

// Unwrap gives the failures, as errors.Join does.
func (e inStatus) Unwrap() []error { return e }

// Is reports whether target is ErrInStatus; what a single failure is, errors.Is looks up itself.
func (e inStatus) Is(target error) bool { return target == ErrInStatus }

func join(errs []error) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return inStatus(errs)
}

// watched gives the communicator whose interceptor sees a call on reqs, nil when there is none.
func watched(reqs []Request) *Comm {
	for i := range reqs {
		if c := reqs[i].c; c != nil {
			if c.odd {
				return c
			}
			return nil
		}
	}
	return nil
}

// StartAll starts all persistent requests, in order; it stops at the first that cannot be started, which the error names.
func StartAll(reqs ...Request) error {
	if c := watched(reqs); c != nil {
		own := slices.Clone(reqs) // what the interceptor sees must not make every caller's list escape
		return c.call("Startall", Undefined, 0, func() error { return startAll(own) })
	}
	return startAll(reqs)
}

func startAll(reqs []Request) error {
	for n, r := range reqs {
		if err := r.start(n); err != nil {
			return err
		}
	}
	return nil
}

// watch is the condition that one, or all, of some requests are complete. It holds a copy of the list, so that lists can live on
// stacks.
type watch struct {
	inst *Instance
	reqs []Request
	all  bool
	next progress.Mark // all: those before are complete
}

// over reports whether r needs no waiting for: it is complete, or another goroutine has taken the outcome.
func (r *Request) over() bool { return !r.h.Active() || r.h.R.Done() }

// Done implements progress.Cond.
func (w *watch) Done() bool {
	if !w.all {
		for i := range w.reqs {
			if w.reqs[i].over() {
				return true
			}
		}
		return false
	}
	from := int(w.next.Load())
	n := from
	for n < len(w.reqs) && w.reqs[n].over() {
		n++
	}
	if n != from {
		w.next.Store(uint32(n)) // whoever sees an older one looks at more
	}
	return n == len(w.reqs) || w.inst.engine.Alarmed() && lost(w.reqs)
}

// lost reports whether one of the requests failed so that others may never complete.
func lost(reqs []Request) bool {
	for i := range reqs {
		c := reqs[i].c
		if c != nil && !c.inst.engine.Alarmed() {
			return false // nothing has failed in the instance
		}
		if h := reqs[i].h; h.Active() && h.R.Done() && h.R.Lost() {
			return true
		}
	}
	return false
}

// waitFor waits until all of the active requests are complete or one is lost, or until any is complete. One is active at least.
func waitFor(reqs []Request, all bool) {
	var i *Instance
	var w *watch
	for _, r := range reqs {
		if r.c == nil || !r.h.Active() { // without a communicator it is complete
			continue
		}
		if w == nil {
			i = r.c.inst
			if w, _ = i.watches.Get().(*watch); w == nil {
				w = new(watch)
			}
			w.inst = i
		}
		if r.c.inst == i {
			w.reqs = append(w.reqs, r)
		}
	}
	if w == nil {
		return // other goroutines have taken the outcomes meanwhile
	}
	w.all = all
	w.next.Store(0)
	i.engine.Wait(w)
	clear(w.reqs)
	w.reqs = w.reqs[:0]
	i.watches.Put(w)
}

// settle waits until all requests are complete. It reports false when one failed so that the others may never be.
func settle(reqs []Request) bool {
	for n := 0; n < len(reqs); n++ {
		r := &reqs[n]
		if r.over() {
			continue
		}
		if lost(reqs) {
			return false
		}
		waitFor(reqs, true)
		n-- // it is over, or one is lost
	}
	return true
}

// WaitAll waits for all requests. A failure is an *Error with its Index, and several are joined. When a process has failed, requests
// beside the one that tells so may never end; those that have not are left alone, and reported with ErrPending.
func WaitAll(reqs ...Request) error {
	if c := watched(reqs); c != nil {
		own := slices.Clone(reqs)
		return c.call("Waitall", Undefined, 0, func() error { return waitAll(own) })
	}
	return waitAll(reqs)
}

func waitAll(reqs []Request) error {
	driveAll(reqs)
	var errs []error
	gone := false // one has failed so that others may never end
	for n := range reqs {
		r := &reqs[n]
		if !r.h.Active() {
			continue
		}
		if !r.h.R.Done() {
			r.waitUnlessAlarmed()
			gone = gone || !r.h.R.Done() && !settle(reqs[n:])
			if err := pending(r, n); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		gone = gone || r.lost()
		if err := r.takeErr(n); err != nil {
			errs = append(errs, err)
		}
	}
	return join(errs)
}

// driveAll waits for requests in order, in one hold of the token, unless another goroutine drives or something has failed.
func driveAll(reqs []Request) {
	n := 0
	for n < len(reqs) && (reqs[n].c == nil || reqs[n].over()) {
		n++
	}
	if n == len(reqs) {
		return
	}
	e := reqs[n].h.R.Engine
	if !e.TryDriver() {
		return
	}
	for ; n < len(reqs) && !e.Alarmed(); n++ {
		if r := &reqs[n]; !r.over() && r.h.R.Engine == e {
			r.h.WaitLocked((*unlessAlarmed)(r.h.R))
		}
	}
	e.Unlock()
}

// waitUnlessAlarmed waits for r, but not when something has failed: r may never end then.
func (r *Request) waitUnlessAlarmed() {
	if r.h.Hold() {
		r.h.R.Engine.Wait((*unlessAlarmed)(r.h.R))
		r.h.Let()
	}
}

// unlessAlarmed is the condition that a request is complete, or that the engine is alarmed.
type unlessAlarmed core.Request

// Done implements progress.Cond.
func (u *unlessAlarmed) Done() bool { return (*core.Request)(u).Done() || u.Engine.Alarmed() }

// lost reports whether r, which is complete, failed so that others may never end.
func (r *Request) lost() bool {
	return (r.c == nil || r.c.inst.engine.Alarmed()) && r.h.R.Lost()
}

// pending is the error of a request that others' failure left unfinished; nil when it is complete.
func pending(r *Request, n int) error {
	if r.over() {
		return nil
	}
	return &core.Error{Class: ErrPending, Op: "Waitall", Peer: Undefined, Index: n}
}

// WaitAllStatus is WaitAll that gives the statuses, too; st has room for all.
func WaitAllStatus(reqs []Request, st []Status) error {
	if len(st) < len(reqs) {
		return noRoom("Waitall", reqs, len(st))
	}
	if c := watched(reqs); c != nil {
		own, out := slices.Clone(reqs), make([]Status, len(reqs))
		err := c.call("Waitall", Undefined, 0, func() error { return waitAllStatus(own, out) })
		copy(st, out)
		return err
	}
	return waitAllStatus(reqs, st)
}

func noRoom(op string, reqs []Request, n int) error {
	err := error(&core.Error{Class: ErrArg, Op: op, Peer: Undefined, Index: -1, Err: core.NewError(ErrArg, "room for %d of %d requests", n, len(reqs)).Err})
	for _, r := range reqs {
		if r.c != nil {
			return r.c.fail(op, err)
		}
	}
	return err
}

func waitAllStatus(reqs []Request, st []Status) error {
	driveAll(reqs)
	settle(reqs)
	var errs []error
	for n := range reqs {
		r := &reqs[n]
		st[n] = core.EmptyStatus()
		if !r.h.Active() {
			continue
		}
		if st[n].Err = pending(r, n); st[n].Err == nil {
			st[n], _, _ = r.take(n)
		}
		if st[n].Err != nil {
			errs = append(errs, st[n].Err)
		}
	}
	return join(errs)
}

// active is the engine of the first active request; nil when none is.
func active(reqs []Request) *progress.Engine {
	for i := range reqs {
		if reqs[i].h.Active() {
			return reqs[i].h.R.Engine
		}
	}
	return nil
}

// WaitAny waits for one of the requests and gives its position, Undefined when none is active.
func WaitAny(reqs ...Request) (int, Status, error) {
	if c := watched(reqs); c != nil {
		own := slices.Clone(reqs)
		n, st := Undefined, core.EmptyStatus()
		err := c.call("Waitany", Undefined, 0, func() (err error) {
			n, st, err = waitAny(own)
			return err
		})
		return n, st, err
	}
	return waitAny(reqs)
}

func waitAny(reqs []Request) (int, Status, error) {
	for {
		if n, st, ok, err := takeAny(reqs); ok {
			return n, st, err
		}
		if active(reqs) == nil {
			return Undefined, core.EmptyStatus(), nil
		}
		waitFor(reqs, false)
	}
}

func takeAny(reqs []Request) (int, Status, bool, error) {
	for n := range reqs {
		if r := &reqs[n]; r.h.Active() && r.h.R.Done() {
			if st, ok, err := r.take(n); ok {
				return n, st, true, err
			}
		}
	}
	return Undefined, core.EmptyStatus(), false, nil
}

// WaitSome waits until at least one request is complete and gives the positions and statuses of all that are, as far as idx and st
// have room; their number is Undefined when none is active. st may be nil. Failures are reported as WaitAll does.
func WaitSome(reqs []Request, idx []int, st []Status) (int, error) {
	if c := watched(reqs); c != nil {
		return someSeen(c, "Waitsome", reqs, idx, st, waitSome)
	}
	return waitSome(reqs, idx, st)
}

// someSeen runs a Some call through the interceptor, on copies of its lists.
func someSeen(c *Comm, name string, reqs []Request, idx []int, st []Status, f func([]Request, []int, []Status) (int, error)) (int, error) {
	own, at := slices.Clone(reqs), make([]int, len(idx))
	var out []Status
	if st != nil {
		out = make([]Status, len(st))
	}
	k := Undefined
	err := c.call(name, Undefined, 0, func() (err error) {
		k, err = f(own, at, out)
		return err
	})
	if k > 0 {
		copy(idx, at[:k])
		if st != nil {
			copy(st, out[:k])
		}
	}
	return k, err
}

func waitSome(reqs []Request, idx []int, st []Status) (int, error) {
	for {
		if active(reqs) == nil {
			return Undefined, nil
		}
		if len(idx) == 0 || st != nil && len(st) == 0 {
			return 0, noRoom("Waitsome", reqs, 0)
		}
		if k, err := takeSome(reqs, idx, st); k > 0 {
			return k, err
		}
		waitFor(reqs, false)
	}
}

func takeSome(reqs []Request, idx []int, st []Status) (int, error) {
	k := 0
	var errs []error
	for n := range reqs {
		if k == len(idx) || (st != nil && k == len(st)) {
			break
		}
		r := &reqs[n]
		if !r.h.Active() || !r.h.R.Done() {
			continue
		}
		s, ok, err := r.take(n)
		if !ok {
			continue
		}
		if err != nil {
			errs = append(errs, err)
		}
		idx[k] = n
		if st != nil {
			st[k] = s
		}
		k++
	}
	return k, join(errs)
}

// TestAll reports whether all requests are complete, and retires them only if so. When a process has failed, it may be false with an
// error: see WaitAll.
func TestAll(reqs ...Request) (bool, error) {
	if c := watched(reqs); c != nil {
		own := slices.Clone(reqs)
		return allSeen(c, func() (bool, error) { return testAll(own) })
	}
	return testAll(reqs)
}

func allSeen(c *Comm, f func() (bool, error)) (ok bool, err error) {
	err = c.call("Testall", Undefined, 0, func() (err error) {
		ok, err = f()
		return err
	})
	return ok, err
}

func testAll(reqs []Request) (bool, error) {
	all := allDone(reqs)
	if !all && !lost(reqs) {
		return false, nil
	}
	return all, waitAll(reqs)
}

// TestAllStatus is TestAll that gives the statuses, too.
func TestAllStatus(reqs []Request, st []Status) (bool, error) {
	if len(st) < len(reqs) {
		return false, noRoom("Testall", reqs, len(st))
	}
	if c := watched(reqs); c != nil {
		own, out := slices.Clone(reqs), slices.Clone(st[:len(reqs)])
		ok, err := allSeen(c, func() (bool, error) { return testAllStatus(own, out) })
		copy(st, out)
		return ok, err
	}
	return testAllStatus(reqs, st)
}

func testAllStatus(reqs []Request, st []Status) (bool, error) {
	all := allDone(reqs)
	if !all && !lost(reqs) {
		return false, nil
	}
	return all, waitAllStatus(reqs, st)
}

func allDone(reqs []Request) bool {
	polled := false
	for n := range reqs {
		r := &reqs[n]
		if r.over() {
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
	if c := watched(reqs); c != nil {
		own := slices.Clone(reqs)
		n, st, ok := Undefined, core.EmptyStatus(), false
		err := c.call("Testany", Undefined, 0, func() (err error) {
			n, st, ok, err = testAny(own)
			return err
		})
		return n, st, ok, err
	}
	return testAny(reqs)
}

func testAny(reqs []Request) (int, Status, bool, error) {
	if n, st, ok, err := takeAny(reqs); ok {
		return n, st, true, err
	}
	e := active(reqs)
	if e == nil {
		return Undefined, core.EmptyStatus(), true, nil
	}
	poll(e)
	return takeAny(reqs)
}

// TestSome is WaitSome that does not wait: the number is 0 when none is complete.
func TestSome(reqs []Request, idx []int, st []Status) (int, error) {
	if c := watched(reqs); c != nil {
		return someSeen(c, "Testsome", reqs, idx, st, testSome)
	}
	return testSome(reqs, idx, st)
}

func testSome(reqs []Request, idx []int, st []Status) (int, error) {
	e := active(reqs)
	if e == nil {
		return Undefined, nil
	}
	if len(idx) == 0 || st != nil && len(st) == 0 {
		return 0, noRoom("Testsome", reqs, 0)
	}
	if k, err := takeSome(reqs, idx, st); k > 0 {
		return k, err
	}
	poll(e)
	return takeSome(reqs, idx, st)
}
