package ompi

import (
	"errors"

	"github.com/ompi-go/ompi-go/core"
)

// nextMatter is what the members agree about when they make the next communicator out of c. They do so in the same order, so the
// number is the same on all of them. The members are part of it: a death may leave messages over, which a later communicator of the
// same context, with the dead among its members no more, must not take for its own.
func (c *Comm) nextMatter() matter {
	return matter{scope: scopeComm, a: uint64(c.c.Context()), b: c.made.Add(1), c: groupHash(c.everybody())}
}

// everybody is the job ranks of all members, of both groups, in the same order on all.
func (c *Comm) everybody() []int {
	if c.IsInter() {
		return c.union
	}
	return c.c.Group().JobRanks()
}

// needs is how many contexts a communicator like c has.
func (c *Comm) needs() int {
	if c.IsInter() {
		return 2
	}
	return 1
}

// agreeContexts finds the contexts of a communicator to be made out of c; see startAgreement for veto.
func (c *Comm) agreeContexts(veto bool) ([]uint32, error) {
	ks, err := c.inst.agree(c.nextMatter(), c.everybody(), c.needs(), veto)
	return ks, c.peerIn(err)
}

// child prepares a communicator of group g made out of c, with what is inherited: the error handler.
func (c *Comm) child(g *core.Group) *Comm {
	out := c.inst.prepare(g, "")
	out.errh.Store(c.errh.Load())
	return out
}

// twin prepares a duplicate of c with everything but attributes.
func (c *Comm) twin(info *core.Info) *Comm {
	var out *Comm
	if c.IsInter() {
		out = c.childInter(c.c.Group(), c.c.Remote())
	} else {
		out = c.child(c.c.Group())
		out.c.SetTopology(c.c.Topology())
	}
	out.info.Store(info)
	return out
}

// Dup makes a communicator of the same group or groups with a message space of its own, and with what the copy callbacks make of c's
// attributes, the hints and the topology of c (MPI-3.1 §6.4.2). It is collective. A copy callback's error comes back wrapped, and
// the other ranks get one, too.
func (c *Comm) Dup() (*Comm, error) {
	const op = "Comm_dup"
	if err := c.usable(op); err != nil {
		return nil, err
	}
	return c.dup(op, c.info.Load())
}

// DupWithInfo is Dup with the hints of info instead of c's.
func (c *Comm) DupWithInfo(info *Info) (*Comm, error) {
	const op = "Comm_dup_with_info"
	if err := c.usable(op); err != nil {
		return nil, err
	}
	return c.dup(op, info.Dup())
}

func (c *Comm) dup(op string, info *core.Info) (*Comm, error) {
	var out *Comm
	err := c.call(op, Undefined, 0, func() error {
		twin := c.twin(info)
		refused := c.attrs.Copy(&twin.attrs)
		ks, err := c.agreeContexts(refused != nil)
		if err == nil {
			err = c.inst.enable(twin, ks)
		}
		if err = c.dupFailed(op, twin, refused, err); err == nil {
			out = twin
		}
		return err
	})
	return out, err
}

// dupFailed is the error of a duplicate, nil when there is none. What the callbacks had copied is deleted again.
func (c *Comm) dupFailed(op string, twin *Comm, refused, err error) error {
	if refused != nil {
		err = callbackError(op, "copy", refused)
	}
	if err == nil {
		return nil
	}
	return c.fail(op, also(err, twin.attrs.Clear()))
}

// also is an error with another one that came of dealing with it, if any.
func also(err, other error) error {
	if other == nil {
		return err
	}
	return errors.Join(err, other)
}

// callbackError is an error that a program's attribute callback gave.
func callbackError(op, which string, err error) error {
	full := core.NewError(ErrOther, "an attribute's %s callback failed: %w", which, err)
	full.Op = op
	return full
}

// Idup is Dup that does not wait: the communicator is usable once the request is done (MPI-3.1 §6.4.2). Copy callbacks run before it
// returns. Other collectives may follow before that, further Idups of c included.
func (c *Comm) Idup() (*Comm, Request, error) {
	const op = "Comm_idup"
	if err := c.usable(op); err != nil {
		return nil, Request{}, err
	}
	var out *Comm
	var req Request
	err := c.call(op, Undefined, 0, func() error {
		twin := c.twin(c.info.Load())
		twin.pending.Store(true)
		twin.freed.Store(true) // the fast paths look at this alone
		refused := c.attrs.Copy(&twin.attrs)
		r := &core.Request{Owner: idup{}, Engine: c.inst.engine}
		r.Renew(c.c, op, Undefined, Buffer{})
		c.c.Hold()
		c.inst.startAgreement(c.nextMatter(), c.everybody(), c.needs(), refused != nil, func(a *agreement) { c.idupDone(twin, r, a) })
		if refused != nil {
			return c.dupFailed(op, twin, refused, nil)
		}
		out, req = twin, Request{r.Handle(), c}
		return nil
	})
	return out, req, err
}

// idupDone is the end of an Idup, on a goroutine of its own.
func (c *Comm) idupDone(twin *Comm, r *core.Request, a *agreement) {
	err := c.peerIn(a.err)
	if err == nil {
		err = c.inst.enable(twin, a.got)
	}
	if err == nil {
		twin.pending.Store(false)
		twin.freed.Store(false)
	} else {
		err = also(err, twin.attrs.Clear())
	}
	c.inst.engine.Lock()
	if err != nil {
		r.FinishErr(err)
	} else {
		r.Finish()
	}
	c.inst.engine.Unlock()
	c.c.Release()
}

// idup owns the requests of Idups.
type idup struct{}

// Start implements core.Operation; the requests are not persistent.
func (idup) Start(*core.Request) error {
	return core.NewError(ErrRequest, "the request is not persistent")
}

// Cancel implements core.Operation: like other collectives it cannot be cancelled.
func (idup) Cancel(*core.Request) error {
	return core.NewError(ErrRequest, "a collective operation cannot be cancelled")
}
