package portals4

import (
	"errors"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/portals4/atomics"
)

// What happens to an operation at its target once it is matched: its data, its counts and its events.

// carry moves the data, or begins to.
func (i *Interface) carry(a *arrival) {
	l := a.l
	switch a.op {
	case opPut:
		if a.flags&hasLength != 0 && a.mlength > 0 && l != nil {
			i.fetchBody(i.keep(a))
			return
		}
		if n := uint64(len(a.data)); n > a.mlength {
			a.ni.status[WastedBytes] += n - a.mlength
		}
		if a.mlength > 0 {
			a.at.put(a.used, a.data[:a.mlength])
		}
	case opGet:
		if l != nil {
			i.reply(a)
			return
		}
		if a.mlength > 0 {
			a.copyOut()
		}
	default:
		if !i.operate(a) {
			i.reject(a, OpViolation)
			return
		}
		if a.op != opAtomic && l != nil {
			i.respond(a, OK, i.old[:a.mlength])
			i.finish(a, OK, false)
			return
		}
	}
	i.finish(a, OK, false)
	if l != nil {
		i.respond(a, OK, nil)
	}
}

// operate is what an atomic operation does to the entry's memory; what was there before goes to i.old. False: the entry's
// operator refuses.
func (i *Interface) operate(a *arrival) bool {
	n := a.mlength
	if uint64(cap(i.old)) < n {
		i.old = make([]byte, maxAtomic)
	}
	i.old = i.old[:cap(i.old)]
	if n == 0 {
		return true
	}
	target, ok := a.at.part(a.used, n)
	if !ok { // in several pieces: worked on in one, put back
		target = make([]byte, n)
		a.at.get(a.used, target)
	}
	switch {
	case a.atomic == User:
		copy(i.old, target)
		if !a.e.operator.Operate(a.hdrData, target, a.data[:n]) {
			return false
		}
	case a.op == opAtomic:
		atomics.Apply(uint8(a.atomic), uint8(a.typ), target, a.data[:n])
	case a.op == opFetch:
		atomics.Fetch(uint8(a.atomic), uint8(a.typ), target, a.data[:n], i.old[:n])
	default:
		var operand []byte
		if single(a.atomic) {
			operand = a.operand[:a.typ.size()]
		}
		atomics.SwapApply(uint8(a.atomic), uint8(a.typ), target, a.data[:n], operand, i.old[:n])
	}
	if !ok {
		a.at.put(a.used, target)
	}
	return true
}

// fetchBody gets the data of a put: the part that the entry takes, and no more. It reads the initiator's memory or asks for it.
func (i *Interface) fetchBody(a *arrival) {
	l := a.l
	if a.flags&hasMem != 0 && l.Get != nil && l.same {
		a.move.start(l, a.mem, a.at, a.used, a.mlength)
		return
	}
	i.askBody(a)
}

func (i *Interface) askBody(a *arrival) {
	a.move.at, a.placing = 0, 0
	a.part = *a.at // what comes goes here (bodyHandler)
	i.send(i.newOut(a.l, tagCTS, uint64(a.token())|uint64(a.handle)<<32, a.mlength))
}

// moved implements mover: the data of a put was read, or cannot be.
func (a *arrival) moved(err error) {
	i := a.l.i
	switch {
	case errors.Is(err, btl.ErrNotSupported) && a.l.dead == nil:
		i.counts.copied++
		i.askBody(a)
	case err != nil:
		i.ended(a, Undeliverable)
	default:
		i.ended(a, OK)
	}
}

// ended ends an arrival of the table.
func (i *Interface) ended(a *arrival, f FailType) {
	if a.op == opPut {
		if f != OK {
			a.mlength = 0
		}
		i.respond(a, f, nil)
	}
	i.finish(a, f, true)
}

// finish is the end of an operation at its target: counts and events, and what waited for it.
func (i *Interface) finish(a *arrival, f FailType, kept bool) {
	e, pt, h := a.e, a.pt, a.h
	if a.exposed {
		a.l.Reg.Deregister(a.reg)
		a.exposed = false
	}
	if kept && pt.eq != nil {
		pt.eq.owed -= a.owes
	}
	if e.ct != nil && e.options&EventCTComm != 0 {
		e.ct.count(e.options&EventCTBytes != 0, a.mlength, f)
	}
	if pt.eq != nil && e.options&EventCommDisable == 0 && (f != OK || e.options&EventSuccessDisable == 0) {
		ev := pt.eq.slot()
		a.event(ev, f)
		ev.UserPtr = e.userPtr
		pt.eq.posted()
	}
	if a.l == nil {
		a.res = result{fail: f, list: a.list, mlength: a.mlength, offset: a.used, noAck: e.options&AckDisable != 0}
	}
	if kept {
		e.active--
		pt.active--
		i.arrivals.put(a)
	}
	if h != nil {
		if h.pending {
			pt.landed(h, f)
		} else if f != OK {
			h.ev.NIFail = f
		}
	}
	if !e.linked {
		e.settled()
	}
	if kept {
		pt.idle()
	}
}
