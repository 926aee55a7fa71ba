package ompi

import (
	"errors"
	"sync/atomic"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/pml"
)

// Comm is a communicator (MPI-3.1 §6.4). All methods may be called from many goroutines.
type Comm struct {
	c     *core.Comm
	inst  *Instance
	pml   pml.Module
	coll  *coll.Table
	size  int
	tagUB int
	odd   bool // calls take the long way: an interceptor is set
	freed atomic.Bool
	errh  atomic.Pointer[Errhandler]
	parts partComm // guarded by the token
}

// newComm makes the local part of a communicator that all members of g make at the same time with the same k.
func (i *Instance) newComm(k uint32, g *core.Group, name string) (*Comm, error) {
	cc := core.NewComm(i.engine, k, g, i.procs, name)
	c := &Comm{c: cc, inst: i, pml: i.pml, size: g.Size(), tagUB: i.tagUB, odd: i.intercept != nil}
	c.errh.Store(i.errh.Load())
	if err := i.pml.AddComm(cc); err != nil {
		return nil, err
	}
	i.mu.Lock()
	i.comms[c] = struct{}{}
	i.mu.Unlock()
	i.tellFaults(cc)
	var err error
	if c.coll, err = coll.Select(i.coll, cc); err != nil {
		i.forget(c)
		return nil, err
	}
	return c, nil
}

// tellFaults tells a new communicator what went wrong while it was made: who looked for communicators then did not find it.
func (i *Instance) tellFaults(cc *core.Comm) {
	i.engine.Lock()
	defer i.engine.Unlock()
	for r, p := range cc.Procs {
		if f := p.Failed(); f != nil {
			err := *f
			err.Peer = r
			cc.SetFault(&core.Fault{Err: &err})
		}
	}
	if err := i.fatal.Load(); err != nil {
		cc.SetFault(&core.Fault{Err: err, Fatal: true})
		i.pml.CommFailed(cc)
	}
}

func (i *Instance) forget(c *Comm) {
	i.mu.Lock()
	delete(i.comms, c)
	i.mu.Unlock()
	i.pml.DelComm(c.c)
}

// Rank is the caller's rank.
func (c *Comm) Rank() int { return c.c.MyRank }

// Size is the number of ranks.
func (c *Comm) Size() int { return c.size }

// TagUB is the largest tag: agreed at init, the least over all ranks' PMLs.
func (c *Comm) TagUB() int { return c.tagUB }

// Instance is the instance that the communicator belongs to.
func (c *Comm) Instance() *Instance { return c.inst }

// Group is the communicator's group.
func (c *Comm) Group() *Group { return c.c.Group() }

// Name is the communicator's name, for people.
func (c *Comm) Name() string { return c.c.Name() }

// SetName names the communicator.
func (c *Comm) SetName(name string) { c.c.SetName(name) }

// Abort ends the job with an exit code; see Instance.Abort.
func (c *Comm) Abort(code int) { c.inst.Abort(code) }

// Compare tells how two communicators relate: Ident is the same one, Congruent the same group in the same order.
func (c *Comm) Compare(other *Comm) Comparison {
	if c == other {
		return Ident
	}
	switch r := c.c.Group().Compare(other.c.Group()); r {
	case Ident:
		return Congruent
	default:
		return r
	}
}

// IsInter reports whether this is an intercommunicator.
func (c *Comm) IsInter() bool { return false }

// usable is the long check at the entrance of calls that are not hot.
func (c *Comm) usable(op string) error {
	switch {
	case c == nil:
		return &core.Error{Class: ErrComm, Op: op, Peer: Undefined, Index: -1, Err: errors.New("the communicator is nil")}
	case c.inst.finalized.Load():
		return c.fail(op, core.NewError(ErrOther, "called after Finalize"))
	case c.freed.Load():
		return c.fail(op, core.NewError(ErrComm, "it has been freed"))
	}
	return nil
}

// Dup makes a communicator of the same group with a message space of its own. It is collective.
func (c *Comm) Dup() (*Comm, error) {
	if err := c.usable("Comm_dup"); err != nil {
		return nil, err
	}
	var out *Comm
	err := c.call("Comm_dup", Undefined, 0, func() error {
		k, err := c.agreeContext()
		if err != nil {
			return c.fail("Comm_dup", err)
		}
		if out, err = c.inst.newComm(k, c.c.Group(), ""); err != nil {
			c.inst.giveContext(k)
			return c.fail("Comm_dup", err)
		}
		out.errh.Store(c.errh.Load())
		return nil
	})
	return out, err
}

// Free lets go of the communicator. It is collective. What was sent on it arrives first; a receive that is still waiting then
// ends with ErrComm.
func (c *Comm) Free() error {
	if err := c.usable("Comm_free"); err != nil {
		return err
	}
	if c == c.inst.world || c == c.inst.self {
		return c.fail("Comm_free", core.NewError(ErrComm, "a predefined communicator cannot be freed"))
	}
	return c.call("Comm_free", Undefined, 0, func() error {
		// After this exchange no collective traffic is on its way to this rank, and it knows how many messages are.
		in := make([]int32, c.size)
		err := c.coll.Alltoall.Alltoall(int32s(c.pml.SentOn(c.c)), int32s(in))
		c.freed.Store(true)
		if err == nil {
			c.pml.Settle(c.c, in)
			if err = c.coll.Barrier.Barrier(); err == nil {
				err = c.coll.Close()
			}
		}
		// With an error, a member has failed: nothing can travel on c any more, so it is let go all the same.
		c.inst.forget(c)
		c.inst.giveContext(c.c.Context())
		return c.outcome("Comm_free", err)
	})
}
