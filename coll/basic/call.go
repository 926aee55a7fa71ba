package basic

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/pml"
)

// call is one operation under way: its messages, its scratch memory, its error.
//
// Errors come in two kinds. When an exchange fails between two living ranks (a buffer too small, say), the others still wait for
// their messages: the first error is kept and the operation goes on to its end, so that nobody hangs and no message is left over
// for the next operation. When a process has died or the communicator is revoked, nothing more can be exchanged: what is pending
// is ended and all further steps do nothing. A living rank may have given up, too, and then takes nothing any more: so a death
// anywhere in the communicator ends the wait for sends as well, not only that for the dead.
type call struct {
	m    *module
	tag  int
	err  error
	dead bool

	pending []pending
	sending sendWait
	scratch [2]scratch
	ints    []int
}

// pending is a started message.
type pending struct {
	h    core.Handle
	recv bool
}

// end finishes the operation and gives its error.
func (c *call) end() error {
	c.wait()
	err := c.err
	if c.dead {
		return err // a send may still read the scratch memory: leave it to the garbage collector
	}
	c.err = nil
	c.ints = c.ints[:0]
	for i := range c.scratch {
		c.scratch[i].trim(c.m.opts.ScratchLimitBytes)
	}
	c.m.spare.Store(c)
	return err
}

// note records the outcome of a step.
func (c *call) note(err error) {
	if err == nil {
		return
	}
	if c.err == nil {
		c.err = err
	}
	if final(err) {
		c.dead = true
	}
}

// final tells an error after which nothing more can be exchanged from one that concerns a single message.
func final(err error) bool {
	switch core.ClassOf(err) {
	case core.ErrTruncate, core.ErrType, core.ErrCount, core.ErrBuffer, core.ErrArg:
		return false
	}
	return true
}

// part is n elements of b from element first on. Of an empty part the address is b's own: that of its place may lie behind the end
// of the memory, where the garbage collector wants no pointer.
func part(b core.Buffer, first, n int64) core.Buffer {
	if n == 0 {
		first = 0
	}
	return b.At(first, n)
}

// nothing is the message of no bytes.
func nothing() core.Buffer { return core.MakeBuffer(nil, 0, datatype.Byte) }

// sendable gives the zero Buffer a type.
func sendable(b core.Buffer) core.Buffer {
	if b.Type() == nil {
		return nothing()
	}
	return b
}

// send sends b and returns when it may be changed.
func (c *call) send(b core.Buffer, dest int) {
	switch {
	case c.dead:
	case b.Bytes() <= quickSend:
		c.note(c.m.pml.Send(c.m.ch, sendable(b), dest, c.tag, pml.Standard))
	default:
		// It may wait for its receiver.
		p := pending{h: c.m.pml.Isend(c.m.ch, sendable(b), dest, c.tag, pml.Standard).Handle()}
		if r := p.h.R; !r.Done() {
			c.sending = sendWait{r, c.m.comm}
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
func (c *call) noteFault() {
	if f := c.m.comm.Fault(); f != nil && c.err == nil {
		c.note(f.Err)
	}
}

// recv receives into b.
func (c *call) recv(b core.Buffer, source int) {
	if !c.dead {
		_, err := c.m.pml.Recv(c.m.ch, sendable(b), source, c.tag)
		c.note(err)
	}
}

// isend starts sending b; wait ends it.
func (c *call) isend(b core.Buffer, dest int) {
	if !c.dead {
		r := c.m.pml.Isend(c.m.ch, sendable(b), dest, c.tag, pml.Standard)
		c.pending = append(c.pending, pending{h: r.Handle()})
	}
}

// irecv starts receiving into b; wait ends it.
func (c *call) irecv(b core.Buffer, source int) {
	if !c.dead {
		r := c.m.pml.Irecv(c.m.ch, sendable(b), source, c.tag)
		c.pending = append(c.pending, pending{h: r.Handle(), recv: true})
	}
}

// quickSend is the size up to which a send beside a pending receive is made in one call, which the PML does faster than a request.
// Above it the send takes a handshake, which is better waited for together with the receive.
const quickSend = 4096

// exchange sends one buffer and receives another at the same time. Empty messages are exchanged, too.
func (c *call) exchange(send core.Buffer, dest int, recv core.Buffer, source int) {
	c.irecv(recv, source)
	if send.Bytes() <= quickSend {
		c.send(send, dest)
	} else {
		c.isend(send, dest)
	}
	c.wait()
}

// wait ends everything started: it is complete, or one message failed for good and the others are given up. No receive into a
// buffer is pending afterwards.
func (c *call) wait() {
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
func (c *call) Done() bool {
	done := true
	for i := range c.pending {
		if r := c.pending[i].h.R; !r.Done() {
			done = false
		} else if r.Status.Err != nil && final(r.Status.Err) {
			return true
		}
	}
	return done || c.m.comm.Fault() != nil
}

// take ends a message that is complete.
func (c *call) take(h core.Handle) {
	st, _ := h.Take()
	c.note(st.Err)
}

// giveUp ends a message that may never be answered. A receive is cancelled and waited for, so its buffer is the caller's again;
// a send that the other side has not taken lives on without us, and keeps its memory.
func (c *call) giveUp(p *pending) {
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

// copy moves the data of src to dst, whose types may differ but for their elements.
func (c *call) copy(dst, src core.Buffer) {
	n := src.Bytes()
	if n == 0 {
		return
	}
	if n > dst.Bytes() {
		c.note(core.NewError(core.ErrTruncate, "%d bytes of a rank's own data for a receive block of %d bytes", n, dst.Bytes()))
		if dst.Bytes() == 0 {
			return
		}
	}
	var from, to datatype.Convertor
	from.Prepare(src.Type(), src.Count(), src.Addr())
	to.Prepare(dst.Type(), dst.Count(), dst.Addr())
	datatype.Copy(&to, &from)
}
