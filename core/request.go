package core

import (
	"runtime"
	"sync/atomic"

	"github.com/ompi-go/ompi-go/internal/relaxed"
	"github.com/ompi-go/ompi-go/progress"
)

// Operation is the component-side owner of a request: what it takes to start and cancel it. Both are called with the engine's
// token held.
type Operation interface {
	Start(r *Request) error  // persistent requests only
	Cancel(r *Request) error // may or may not succeed; the status tells
}

// Hook is told that a request completed, with the token held, before anybody who waits can see it. It must not start r again.
type Hook interface{ RequestDone(r *Request) }

// Outcome makes the status of a completed operation when its user asks, and is told when the user has taken it: generalized
// requests (MPI-3.1 §12.2). Both run on the user's goroutine, without the token.
type Outcome interface {
	Query(st *Status) error
	Retire() error
}

// Request is the state of one operation. It lives in its owner's pool for ever and is reused; who holds it from outside holds
// a Handle, whose generation tells an operation from the next one in the same slot. Who takes the outcome ends the generation, which
// is all it takes to give the slot back: the owner finds it (Retired).
//
// Fields without a note are written by the owner with the token held before completion, and read after it by who has claimed the
// outcome (Handle.Claim), or holds the token while the handle is active. Nobody else may read them: the slot may have a new life.
type Request struct {
	progress.Completion
	waiters atomic.Int32 // goroutines that wait for Completion; while there are any the slot is not reused
	driven  int32        // likewise those that drive or did when they began; guarded by the token
	word    uint64       // atomic: the generation, and the flags below
	stamp   uint64       // atomic: the engine's ordinal of the completion; 0: done from the start
	lost    uint32       // atomic: see Lost

	Engine *progress.Engine // for ever the same
	Owner  Operation        // for ever the same
	Hook   Hook             // nil for most
	Final  Outcome          // nil for most

	Comm   *Comm
	Op     string // MPI's name of the call, for errors
	Peer   int    // rank the caller named, for errors
	Buf    Buffer // keeps the user's memory alive; of a persistent request it may be changed between starts
	Status Status // valid when done

	Persistent bool // set before Handle
	orphan     bool // freed by the user while pending; guarded by the token
}

// Flags of Request.word. The generation is what lies above them.
const (
	held    = 1 << iota // somebody has the handle
	claimed             // somebody reads the outcome and will release it
	active              // persistent: started, and not yet completed towards the user
	lasting             // only in handles: the request is persistent
	step                // from one generation to the next
)

// Handle names one operation. The zero Handle is MPI_REQUEST_NULL.
type Handle struct {
	R   *Request
	Gen uint64
}

// Handle gives the handle of the operation that now occupies r. It is for who has just made it.
func (r *Request) Handle() Handle {
	g := atomic.LoadUint64(&r.word) &^ (claimed | active)
	if r.Persistent {
		g |= lasting
	}
	return Handle{r, g}
}

// Lasting reports whether h names a persistent request.
func (h Handle) Lasting() bool { return h.Gen&lasting != 0 }

// ready is the word of a request whose outcome can be waited for.
func (h Handle) ready() uint64 { return h.Gen&^lasting | (h.Gen&lasting)>>1 }

// over is the word when the generation has ended.
func (h Handle) over() uint64 { return h.Gen&^lasting - held + step }

// taken is the word when the outcome has been taken.
func (h Handle) taken() uint64 {
	if h.Gen&lasting != 0 {
		return h.Gen &^ lasting
	}
	return h.Gen - held + step
}

// Live reports whether h still names an operation.
func (h Handle) Live() bool {
	if h.R == nil {
		return false
	}
	w := atomic.LoadUint64(&h.R.word)
	if h.Gen&lasting != 0 {
		w &^= claimed | active
	}
	return w == h.Gen&^lasting
}

// Active reports whether h names an operation that Wait must wait for: live, and started if it is persistent.
func (h Handle) Active() bool { return h.R != nil && atomic.LoadUint64(&h.R.word) == h.ready() }

// Idle reports whether h names a persistent request that can be started.
func (h Handle) Idle() bool {
	return h.R != nil && h.Gen&lasting != 0 && atomic.LoadUint64(&h.R.word) == h.Gen&^lasting
}

// Stale reports whether h names an operation that is over, in a slot that serves another.
func (h Handle) Stale() bool {
	if h.R == nil {
		return false
	}
	w := atomic.LoadUint64(&h.R.word) &^ (claimed | active)
	return w != h.Gen&^lasting && w != h.over()
}

// SetActive marks a persistent request as started or not. The caller holds the token.
func (r *Request) SetActive(on bool) {
	w := atomic.LoadUint64(&r.word) &^ active
	if on {
		w |= active
		r.found()
	}
	relaxed.Store64(&r.word, w) // giving back the token is the barrier
}

// Claim wins the outcome of a completed operation: of all who try, one. The winner may read r's fields, and must Release at once.
func (h Handle) Claim() bool {
	w := h.ready()
	return atomic.CompareAndSwapUint64(&h.R.word, w, w|claimed)
}

// Release ends what Claim began: a persistent request becomes inactive, any other is retired.
func (h Handle) Release() { relaxed.Store64(&h.R.word, h.taken()) }

// Take consumes a completed operation: a persistent one becomes inactive, any other is retired. ok is false when somebody else has
// taken it before; the status is empty then.
func (h Handle) Take() (st Status, ok bool) {
	if !h.Claim() {
		return EmptyStatus(), false
	}
	st = h.R.Status
	h.Release()
	return st, true
}

// Drop is Take for who has no use for the status.
func (h Handle) Drop() bool { return atomic.CompareAndSwapUint64(&h.R.word, h.ready(), h.taken()) }

// Hold keeps the slot from being reused until Let, so that the caller can wait for its Completion though another goroutine may take
// the outcome first. It is false when there is nothing to wait for.
func (h Handle) Hold() bool {
	h.R.waiters.Add(1) // a barrier: who retires the operation after the look below leads the owner to see this
	if h.Active() {
		return true
	}
	h.R.waiters.Add(-1)
	return false
}

// Let ends what Hold began.
func (h Handle) Let() { h.R.waiters.Add(-1) }

// Wait returns when the operation is complete, or another goroutine has taken its outcome. The caller does not hold the token.
func (h Handle) Wait() {
	r := h.R
	e := r.Engine
	if !e.TryDriver() {
		if h.Hold() {
			e.Wait(&r.Completion)
			h.Let()
		}
		return
	}
	h.WaitLocked(&r.Completion)
	e.Unlock()
}

// WaitLocked returns when c holds, which is true when the operation is complete, unless another goroutine has taken its outcome. The
// caller holds the token, and holds it again on return.
func (h Handle) WaitLocked(c progress.Cond) {
	if r := h.R; h.Active() { // with the token: no need of Hold's barrier
		r.driven++
		r.Engine.WaitLocked(c)
		r.driven--
	}
}

// Retired reports whether nobody holds the request any more, so that its owner may use the slot again. The caller holds the token.
func (r *Request) Retired() bool {
	return atomic.LoadUint64(&r.word)&held == 0 && r.driven == 0 && r.waiters.Load() == 0
}

// Stamp tells in which order the requests of an engine completed: a larger one was later.
func (r *Request) Stamp() uint64 { return atomic.LoadUint64(&r.stamp) }

// Lost reports whether the operation failed so that operations beside it may never end: a process has died, or the communicator is
// of no use any more. It may be asked at any time.
func (r *Request) Lost() bool { return atomic.LoadUint32(&r.lost) != 0 }

// found takes back Lost.
func (r *Request) found() {
	if atomic.LoadUint32(&r.lost) != 0 {
		atomic.StoreUint32(&r.lost, 0)
	}
}

// Finish completes r with its status set; the caller holds the token.
func (r *Request) Finish() {
	if r.Hook != nil {
		r.Hook.RequestDone(r)
	}
	if r.Status.Err != nil {
		switch ClassOf(r.Status.Err) {
		case ErrProcFailed, ErrProcAborted, ErrRevoked:
			atomic.StoreUint32(&r.lost, 1)
		}
	}
	relaxed.Store64(&r.stamp, r.Engine.Ordinal())
	r.Engine.Complete(&r.Completion)
	if r.orphan {
		r.orphan = false
		atomic.StoreUint64(&r.word, atomic.LoadUint64(&r.word)-held+step)
	}
}

// FinishErr completes r with an error; the caller holds the token.
func (r *Request) FinishErr(err error) {
	r.Status.Err = err
	r.Finish()
}

// Abandon is MPI_Request_free: the handle dies now, the operation goes on, the slot is recycled when it is done. The caller
// holds the token.
func (h Handle) Abandon() {
	r := h.R
	for r != nil && (h.Live() || h.beingTaken()) {
		w := atomic.LoadUint64(&r.word)
		if w&claimed != 0 {
			runtime.Gosched() // whoever has claimed the outcome is copying it
			continue
		}
		pending := !r.Done() && w == h.ready()
		next := h.over()
		if pending {
			next += held
		}
		if atomic.CompareAndSwapUint64(&r.word, w, next) {
			r.Persistent, r.orphan = false, pending
			return
		}
	}
}

// beingTaken reports whether somebody is taking the outcome just now.
func (h Handle) beingTaken() bool { return atomic.LoadUint64(&h.R.word) == h.ready()|claimed }

// Renew prepares a request from a pool for a new operation.
func (r *Request) Renew(c *Comm, op string, peer int, buf Buffer) {
	r.Reset()
	r.live()
	r.found()
	r.Comm, r.Op, r.Peer, r.Buf = c, op, peer, buf
	r.Hook, r.Final = nil, nil
	r.Persistent = false
	r.Status = Status{Source: AnySource, Tag: AnyTag}
}

// RenewDone prepares a request from a pool for an operation that is over already, without error and with an empty status. The
// caller holds the token.
func (r *Request) RenewDone() {
	r.SetDone()
	r.live()
	r.found()
	r.Hook, r.Final = nil, nil
	r.Persistent = false
	r.Status = Status{Source: AnySource, Tag: AnyTag}
	relaxed.Store64(&r.stamp, r.Engine.Ordinal())
}

// live begins a generation, unless one is held that nobody outside has seen.
func (r *Request) live() {
	if w := atomic.LoadUint64(&r.word); w&held == 0 {
		relaxed.Store64(&r.word, w|held)
	}
}
