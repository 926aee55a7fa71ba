package ompi

import (
	"errors"

	"github.com/ompi-go/ompi-go/core"
)

// Free lets go of the communicator, after deleting its attributes, the one set last first (MPI-3.1 §6.4.3). It is collective. What was
// sent on it arrives first, and operations of its own that are under way end; a receive that is still waiting then ends with
// ErrComm. When a delete callback of some rank gives an error, the communicator stays on all ranks, and all get an error.
func (c *Comm) Free() error {
	const op = "Comm_free"
	if err := c.usable(op); err != nil {
		return err
	}
	if c == c.inst.world || c == c.inst.self {
		return c.fail(op, core.NewError(ErrComm, "a predefined communicator cannot be freed"))
	}
	return c.call(op, Undefined, 0, func() error {
		refused := c.attrs.Clear()
		c.inst.engine.Wait(c.c.Idle())
		sent, stays, err := c.farewell(refused != nil)
		if err == nil && stays {
			err = errRefused()
			if refused != nil {
				err = callbackError(op, "delete", refused)
			}
			return c.fail(op, err)
		}
		return c.outcome(op, c.dissolve(sent, err))
	})
}

// dissolve ends c at this rank, after the farewell, whose outcome it is given: once what the others have sent has come, or at once with an error.
func (c *Comm) dissolve(sent []int32, err error) error {
	c.freed.Store(true)
	if err == nil {
		c.pml.Settle(c.c, sent)
		err = c.coll.Barrier.Barrier()
	}
	if e := c.close(); err == nil {
		err = e
	}
	// With an error, a member has failed: nothing can travel on c any more, so it is let go all the same. But its contexts stay
	// taken: what this rank has sent may not have come yet, and would turn up in the next communicator that has them.
	c.inst.forget(c)
	c.inst.engine.Lock()
	for _, p := range c.parts.peers {
		p.close()
	}
	c.inst.engine.Unlock()
	ks := []uint32{c.c.Context()}
	if c.local != nil {
		c.inst.forget(c.local)
		ks = append(ks, c.local.c.Context())
	}
	if err == nil {
		c.inst.giveContexts(ks...)
	}
	return err
}

// letGo frees a communicator that programs do not see, collectively.
func (c *Comm) letGo() error {
	c.inst.engine.Wait(c.c.Idle())
	sent, _, err := c.farewell(false)
	return c.dissolve(sent, err)
}

// farewell tells each peer how many messages were sent to it, and everybody whether somebody wants the communicator to stay. After
// it no collective traffic is on its way to this rank.
func (c *Comm) farewell(stay bool) (sent []int32, stays bool, err error) {
	mine := int32(0)
	if stay {
		mine = 1
	}
	counts := c.pml.SentOn(c.c)
	out, in := make([]int32, 2*c.size), make([]int32, 2*c.size)
	for r, n := range counts {
		out[2*r], out[2*r+1] = n, mine
	}
	if err := c.coll.Alltoall.Alltoall(int32s(out), int32s(in)); err != nil {
		return nil, false, err
	}
	if c.local != nil { // the peers are those of the remote group
		all := []int32{mine}
		if err := c.local.coll.Allreduce.Allreduce(core.InPlaceBuffer(), int32s(all), Max); err != nil {
			return nil, false, err
		}
		mine = all[0]
	}
	stays = mine != 0
	sent = counts
	for r := range sent {
		sent[r] = in[2*r]
		stays = stays || in[2*r+1] != 0
	}
	return sent, stays, nil
}

// close closes the modules that c's collectives use.
func (c *Comm) close() error {
	err := c.coll.Close()
	if c.local != nil {
		err = errors.Join(err, c.local.coll.Close())
	}
	return err
}
