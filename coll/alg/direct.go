package alg

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/pml"
)

// direct is what a Call needs that is carried out at once: its messages, its scratch memory, its error.
//
// Errors come in two kinds. When an exchange fails between two living ranks (a buffer too small, say), the others still wait for
// their messages: the first error is kept and the operation goes on to its end, so that nobody hangs and no message is left over
// for the next operation. When a process has died or the communicator is revoked, nothing more can be exchanged: what is pending
// is ended and all further steps do nothing. A living rank may have given up, too, and then takes nothing any more: so a death
// anywhere in the communicator ends the wait for sends as well, not only that for the dead.
type direct struct {
	err     error
	dead    bool
	pending []pending
	sending sendWait
	scratch [3]scratch
}

// pending is a started message.
type pending struct {
	h    core.Handle
	recv bool
}

// note records the outcome of a step.
func (c *Call) note(err error) {
	if err == nil {
		return
	}
	if c.err == nil {
		c.err = err
	}
	if Final(err) {
		c.dead = true
	}
}

// Final tells an error after which nothing more can be exchanged from one that concerns a single message.
func Final(err error) bool {
	switch core.ClassOf(err) {
	case core.ErrTruncate, core.ErrType, core.ErrCount, core.ErrBuffer, core.ErrArg:
		return false
	}
	return true
}

// sendDirect is send.
func (c *Call) sendDirect(b core.Buffer, dest int) {
	switch {
	case c.dead:
	case b.Bytes() <= quickSend:
		c.note(c.pml.Send(c.ch, sendable(b), dest, c.tag, pml.Standard))
	default:
		// It may wait for its receiver.
		p := pending{h: c.pml.Isend(c.ch, sendable(b), dest, c.tag, pml.Standard).Handle()}
		if r := p.h.R; !r.Done() {
			c.sending = sendWait{r, c.comm}
			r.Engine.Wait(&c.sending)
			c.sending = sendWait{}
		}
		if p.h.R.Done() {
			c.take(p.h)
			return
		}
		c.giveUp(&p)
		c.noteFault()
	}
}

// sendWait is the wait for one send: it ends when the send is done, or when a member has died.
type sendWait struct {
	r    *core.Request
	comm *core.Comm
}

// Done implements progress.Cond.
func (w *sendWait) Done() bool { return w.r.Done() || w.comm.Fault() != nil }

// noteFault records the fault for which something was given up, unless there is an error already.
func (c *Call) noteFault() {
	if f := c.comm.Fault(); f != nil && c.err == nil {
		c.note(f.Err)
	}
}

// waitDirect is wait: what was started is complete, or one message failed for good and the others are given up. No receive into a
// buffer is pending afterwards.
func (c *Call) waitDirect() {
	if len(c.pending) == 0 {
		return
	}
	if !c.dead && !c.Done() {
		c.pending[0].h.R.Engine.Wait(c)
	}
	for i := range c.pending {
		if p := &c.pending[i]; p.h.R.Done() {
			c.take(p.h)
			*p = pending{}
		}
	}
	for i := range c.pending {
		if p := &c.pending[i]; p.h.R != nil {
			c.giveUp(p)
			c.noteFault()
			*p = pending{}
		}
	}
	c.pending = c.pending[:0]
}

// Done implements progress.Cond for wait: nothing is under way any more, or the rest is not worth waiting for.
func (c *Call) Done() bool {
	done := true
	for i := range c.pending {
		if r := c.pending[i].h.R; !r.Done() {
			done = false
		} else if r.Status.Err != nil && Final(r.Status.Err) {
			return true
		}
	}
	return done || c.comm.Fault() != nil
}

// take ends a message that is complete.
func (c *Call) take(h core.Handle) {
	st, _ := h.Take()
	c.note(st.Err)
}

// giveUp ends a message that may never be answered. A receive is cancelled and waited for, so its buffer is the caller's again;
// a send that the other side has not taken lives on without us, and keeps its memory.
func (c *Call) giveUp(p *pending) {
	r := p.h.R
	r.Engine.Lock()
	if !r.Done() {
		if !p.recv {
			p.h.Abandon()
			r.Engine.Unlock()
			return
		}
		c.note(r.Owner.Cancel(r))
	}
	r.Engine.Unlock()
	r.Engine.Wait(r)
	c.take(p.h)
}
