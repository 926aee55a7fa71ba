package nbc

import (
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
)

// operation is one run of a schedule. Between its beginning and its end it is in factory.active.
type operation struct {
	req      core.Request
	f        *factory
	comm     *core.Comm
	tag      int
	schedule *alg.Schedule
	broken   error // there is no schedule
	bytes    int64 // for the trace, like from
	from     int64

	pc      int      // the next step
	pending []posted // messages begun and not looked at
	out     int      // of them, not complete
	sending *core.Request
	err     error // first error
	dead    bool  // no message can be exchanged any more; what is pending must end
	left    bool  // a send was given up: it may still read scratch memory
	queued  bool  // in factory.ready, or taking steps, after which it will not be overlooked
	at      int   // in factory.active
}

// posted is a message.
type posted struct {
	h    core.Handle
	recv bool
}

// Start implements core.Operation for persistent requests. The token is held.
func (o *operation) Start(r *core.Request) error {
	r.Reset()
	r.Status = core.EmptyStatus()
	r.SetActive(true)
	o.begin()
	return nil
}

// Cancel implements core.Operation: collective operations cannot be cancelled (MPI-3.1 §5.12).
func (o *operation) Cancel(*core.Request) error {
	return core.NewError(core.ErrRequest, "a collective operation cannot be cancelled")
}

// begin runs the schedule from the start. The token is held.
func (o *operation) begin() {
	o.comm.Hold()
	o.req.Final = nil
	o.pc, o.out, o.err, o.dead, o.left, o.sending = 0, 0, nil, false, false, nil
	o.at = len(o.f.active)
	o.f.active = append(o.f.active, o)
	if o.broken != nil {
		o.end(o.broken)
		return
	}
	o.from = o.f.Uses.Begin(o.schedule.Algorithm)
	o.advance()
}

// RequestDone implements core.Hook: a message is complete. Steps are not taken here, in the middle of the PML's work.
func (o *operation) RequestDone(r *core.Request) {
	o.out--
	if err := r.Status.Err; err != nil && alg.Final(err) {
		o.dead = true
	}
	if o.out == 0 || o.dead || r == o.sending {
		o.f.wake(o)
	}
}

// advance takes steps until one must wait.
func (o *operation) advance() {
	o.queued = true
	o.steps()
	o.queued = false
}

func (o *operation) steps() {
	steps := o.schedule.Steps
	for !o.dead {
		if o.pc == len(steps) {
			o.end(o.err)
			return
		}
		if f := o.comm.Fault(); f != nil {
			o.note(f.Err)
			break
		}
		switch s := &steps[o.pc]; s.Kind {
		case alg.StepSend:
			o.track(o.f.pml.BeginSend(o.channel(s), s.Buf, s.Peer, o.tag), false)
		case alg.StepRecv:
			o.track(o.f.pml.BeginRecv(o.channel(s), s.Buf, s.Peer, o.tag), true)
		case alg.StepWait:
			if o.out > 0 {
				return
			}
			o.collect()
		case alg.StepWaitSend:
			if n := len(o.pending); n > 0 && !o.pending[n-1].recv && !o.pending[n-1].h.R.Done() {
				o.sending = o.pending[n-1].h.R
				return
			}
			o.sending = nil
		case alg.StepCopy:
			o.note(alg.Copy(s.Buf, s.From))
		case alg.StepApply:
			o.apply(s)
		}
		o.pc++
	}
	o.giveUp()
}

// channel is where a step's message goes.
func (o *operation) channel(s *alg.Step) *core.Channel {
	if o.comm.Local != nil && !s.Remote {
		return &o.comm.Local.Inner
	}
	return &o.comm.Inner
}

// track follows a message that was begun.
func (o *operation) track(r *core.Request, recv bool) {
	h := r.Handle()
	if r.Done() {
		o.take(h)
		return
	}
	r.Hook = o
	o.out++
	o.pending = append(o.pending, posted{h, recv})
}

func (o *operation) take(h core.Handle) {
	st, _ := h.Take()
	o.note(st.Err)
}

func (o *operation) note(err error) {
	if err == nil {
		return
	}
	if o.err == nil {
		o.err = err
	}
	if alg.Final(err) {
		o.dead = true
	}
}

// collect takes the outcome of all messages, which are complete.
func (o *operation) collect() {
	for i := range o.pending {
		o.take(o.pending[i].h)
		o.pending[i] = posted{}
	}
	o.pending = o.pending[:0]
}

// giveUp ends an operation in which no message can be exchanged any more: receives are cancelled, and those that have matched waited
// for, so that buffers are the user's again; sends that the other side has not taken live on and keep their memory.
func (o *operation) giveUp() {
	waiting := o.pending[:0]
	for _, p := range o.pending {
		if r := p.h.R; p.recv && !r.Done() {
			o.note(r.Owner.Cancel(r))
		} else if !r.Done() {
			r.Hook = nil
			o.out--
			o.left = true
			p.h.Abandon()
			continue
		}
		if p.h.R.Done() {
			o.take(p.h)
			continue
		}
		waiting = append(waiting, p)
	}
	clear(o.pending[len(waiting):])
	o.pending = waiting
	if len(waiting) > 0 {
		return // the last of them wakes us
	}
	err := o.err
	if f := o.comm.Fault(); f != nil && err == nil {
		err = f.Err
	}
	o.end(err)
}

// end completes the request.
func (o *operation) end(err error) {
	o.collect()
	o.f.ended(o)
	if o.broken == nil {
		o.f.Uses.EndBeside(o.from, o.schedule.Algorithm, o.bytes)
	}
	if !o.req.Persistent {
		if o.schedule != nil {
			o.schedule.Forget(o.f.opts.ScratchLimitBytes)
		}
		o.req.Buf = core.Buffer{}
		if len(o.f.spare) < maxSpare {
			o.f.spare = append(o.f.spare, o)
		}
	}
	if o.left {
		o.schedule, o.broken = nil, err
	}
	o.req.Status = core.EmptyStatus()
	o.req.FinishErr(err)
	o.comm.Release()
}
