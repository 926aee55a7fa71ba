package ompi

import (
	"errors"
	"sync/atomic"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/internal/attr"
	"github.com/ompi-go/ompi-go/pml"
)

// Comm is a communicator (MPI-3.1 §6.4). All methods may be called from many goroutines.
type Comm struct {
	c     *core.Comm
	inst  *Instance
	pml   pml.Module
	coll  *coll.Table
	size  int // how many ranks messages can name: of an intercommunicator, the size of the remote group
	tagUB int
	odd   bool        // calls take the long way: an interceptor is set
	freed atomic.Bool // or not usable yet
	errh  atomic.Pointer[Errhandler]
	parts partComm // guarded by the token

	local   *Comm         // of an intercommunicator: its local group's own, which programs do not see
	union   []int         // of an intercommunicator: the job ranks of both groups, in an order on which all members agree
	over    *Comm         // of a window's: the one that the window was made over, which programs know
	win     *Win          // likewise the window, once it is made
	made    atomic.Uint64 // creations on this communicator that all its members have begun
	pending atomic.Bool   // the request of the Idup that makes it is not done
	attrs   attr.Set
	info    atomic.Pointer[core.Info] // hints; never changed, only replaced
}

// prepare makes the local part of a communicator that all members of g make at the same time, but for its context.
func (i *Instance) prepare(g *core.Group, name string) *Comm {
	return i.dress(core.NewComm(i.engine, 0, g, i.procs, name))
}

// dress gives a communicator its public face.
func (i *Instance) dress(cc *core.Comm) *Comm {
	c := &Comm{c: cc, inst: i, pml: i.pml, size: cc.Peers(), tagUB: i.tagUB, odd: i.intercept != nil}
	c.errh.Store(i.errh.Load())
	return c
}

// enable makes a prepared communicator work, with the contexts that its members agreed on: one, and for an intercommunicator a second
// one for the local group. It gives them back with an error.
func (i *Instance) enable(c *Comm, ks []uint32) (err error) {
	defer func() {
		if err != nil {
			i.giveContexts(ks...)
		}
	}()
	if c.local != nil {
		if err := i.enableOne(c.local, ks[1]); err != nil {
			return err
		}
	}
	if err = i.enableOne(c, ks[0]); err != nil && c.local != nil {
		i.forget(c.local)
		err = also(err, c.local.coll.Close())
	}
	return err
}

func (i *Instance) enableOne(c *Comm, k uint32) error {
	c.c.SetContext(k)
	if err := i.pml.AddComm(c.c); err != nil {
		return err
	}
	i.mu.Lock()
	i.comms[c] = struct{}{}
	i.mu.Unlock()
	i.tellFaults(c.c)
	var err error
	if c.coll, err = coll.Select(i.coll, c.c); err != nil {
		i.forget(c)
		return err
	}
	return nil
}

// tellFaults tells a new communicator what went wrong while it was made: who looked for communicators then did not find it.
func (i *Instance) tellFaults(cc *core.Comm) {
	i.engine.Lock()
	defer i.engine.Unlock()
	for _, p := range i.procs {
		if p.Failed() != nil && cc.Has(p.Rank) {
			cc.SetFault(&core.Fault{Err: cc.DeathOf(p)})
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

// face is the communicator that programs know.
func (c *Comm) face() *Comm {
	if c.over != nil {
		return c.over
	}
	return c
}

// Rank is the caller's rank.
func (c *Comm) Rank() int { return c.c.MyRank }

// Size is the number of ranks; of an intercommunicator, of the local group.
func (c *Comm) Size() int { return c.c.Size() }

// TagUB is the largest tag: agreed at init, the least over all ranks' PMLs.
func (c *Comm) TagUB() int { return c.tagUB }

// Instance is the instance that the communicator belongs to.
func (c *Comm) Instance() *Instance { return c.inst }

// Group is the communicator's group; of an intercommunicator, the local one.
func (c *Comm) Group() *Group { return c.c.Group() }

// Name is the communicator's name, for people: empty until SetName, but for the predefined ones. Errors of one without a name say
// "communicator 3", the number that its members agreed on.
func (c *Comm) Name() string { return c.c.Name() }

// SetName names the communicator.
func (c *Comm) SetName(name string) { c.c.SetName(name) }

// Abort ends the job with an exit code; see Instance.Abort.
func (c *Comm) Abort(code int) { c.inst.Abort(code) }

// Compare tells how two communicators relate: Ident is the same one, Congruent the same group in the same order. Of intercommunicators
// both groups count; an intercommunicator and an intracommunicator are Unequal.
func (c *Comm) Compare(other *Comm) Comparison {
	switch {
	case c == other:
		return Ident
	case c == nil || other == nil || c.IsInter() != other.IsInter():
		return Unequal
	}
	r := c.c.Group().Compare(other.c.Group())
	if c.IsInter() {
		r = max(r, c.c.Remote().Compare(other.c.Remote()))
	}
	if r == Ident {
		return Congruent
	}
	return r
}

// usable is the long check at the entrance of calls that are not hot.
func (c *Comm) usable(op string) error {
	switch {
	case c == nil:
		return &core.Error{Class: ErrComm, Op: op, Peer: Undefined, Index: -1, Err: errors.New("the communicator is nil")}
	case c.inst.finalized.Load():
		return c.fail(op, core.NewError(ErrOther, "called after Finalize"))
	case c.pending.Load():
		return c.fail(op, core.NewError(ErrComm, "the request that makes it is not complete"))
	case c.freed.Load():
		return c.fail(op, core.NewError(ErrComm, "it has been freed"))
	}
	return nil
}
