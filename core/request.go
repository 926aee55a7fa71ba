package core

import (
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

// Hook is told that a request completed, with the token held, before anybody who waits can see it.
type Hook interface{ RequestDone(r *Request) }

// Request is the state of one operation. It lives in its owner's pool for ever and is reused; who holds it from outside holds
// a Handle, whose generation tells an operation from the next one in the same slot. The generation is odd while the operation
// has a user; who takes its outcome makes it even, which is all it takes to give the slot back: the owner finds it (Retired).
//
// Fields without a note are written by the owner with the token held before completion, and read by the waiter after it.
type Request struct {
	progress.Completion
	gen    uint32 // atomic
	Engine *progress.Engine
	Owner  Operation
	Hook   Hook // nil for most

	Comm   *Comm
	Op     string // MPI's name of the call, for errors
	Peer   int    // rank the caller named, for errors
	Buf    Buffer // keeps the user's memory alive
	Status Status // valid when done

	Persistent bool
	active     atomic.Bool // persistent requests: started and not yet completed towards the user
	orphan     bool        // freed by the user while pending; guarded by the token
}

// Handle names one operation. The zero Handle is MPI_REQUEST_NULL.
type Handle struct {
	R   *Request
	Gen uint32
}

// Handle gives the handle of the operation that now occupies r.
func (r *Request) Handle() Handle { return Handle{r, atomic.LoadUint32(&r.gen)} }

// Live reports whether h still names an operation.
func (h Handle) Live() bool { return h.R != nil && atomic.LoadUint32(&h.R.gen) == h.Gen }

// Active reports whether h names an operation that Wait must wait for: live, and started if it is persistent.
func (h Handle) Active() bool {
	return h.Live() && (!h.R.Persistent || h.R.active.Load())
}

// SetActive marks a persistent request as started or not.
func (r *Request) SetActive(on bool) { r.active.Store(on) }

// Take consumes a completed operation: a persistent one becomes inactive, any other is retired. ok is false when somebody else has
// taken it before.
func (h Handle) Take() (st Status, ok bool) {
	st = h.R.Status
	return st, h.Drop()
}

// Drop is Take for who has no use for the status.
func (h Handle) Drop() bool {
	r := h.R
	if r.Persistent {
		return r.active.CompareAndSwap(true, false)
	}
	return atomic.CompareAndSwapUint32(&r.gen, h.Gen, h.Gen+1)
}

// Retired reports whether nobody holds the request any more, so that its owner may use the slot again.
func (r *Request) Retired() bool { return atomic.LoadUint32(&r.gen)&1 == 0 }

// Finish completes r with its status set; the caller holds the token.
func (r *Request) Finish() {
	if r.Hook != nil {
		r.Hook.RequestDone(r)
	}
	if r.orphan {
		r.orphan = false
		atomic.AddUint32(&r.gen, 1)
		return
	}
	r.Engine.Complete(&r.Completion)
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
	if !h.Live() {
		return
	}
	over := r.Done() || (r.Persistent && !r.active.Load())
	r.active.Store(false) // or the next operation in the slot would look started
	if over {
		r.Persistent = false
		atomic.AddUint32(&r.gen, 1)
		return
	}
	r.Persistent = false
	atomic.AddUint32(&r.gen, 2)
	r.orphan = true
}

// Renew prepares a request from a pool for a new operation.
func (r *Request) Renew(c *Comm, op string, peer int, buf Buffer) {
	r.Reset()
	r.live()
	r.Comm, r.Op, r.Peer, r.Buf = c, op, peer, buf
	r.Hook = nil
	r.Persistent = false
	r.Status = Status{Source: AnySource, Tag: AnyTag}
}

// RenewDone prepares a request from a pool for an operation that is over already, without error and with an empty status.
func (r *Request) RenewDone() {
	r.SetDone()
	r.live()
	r.Hook = nil
	r.Persistent = false
	r.Status = Status{Source: AnySource, Tag: AnyTag}
}

// live makes the generation odd.
func (r *Request) live() {
	if g := atomic.LoadUint32(&r.gen); g&1 == 0 {
		relaxed.Store32(&r.gen, g+1)
	}
}
