package portals4

import (
	"errors"
	"slices"

	"github.com/ompi-go/ompi-go/core"
)

// What becomes of operations when a process is gone, or an NI.

// Failed implements nal.Listener.
func (l *listener) Failed(p *core.Proc, cause error) {
	i := (*Interface)(l)
	if i.closed {
		return
	}
	at := i.links[p.Rank]
	if at == nil { // nothing was under way; it stays unreachable
		at = &link{i: i, proc: p, phys: i.physical(p.Rank)}
		i.links[p.Rank] = at
		i.open = append(slices.Clip(i.open), at)
	}
	i.failed(at, cause)
	i.settle()
}

// ProcFailed ends all operations with a process that is known to have died. The token is held.
func (i *Interface) ProcFailed(p *core.Proc) {
	if p.Rank != i.rank {
		(*listener)(i).Failed(p, errDied)
	}
}

var errDied = errors.New("the process has died")

// failed ends everything with a peer.
func (i *Interface) failed(l *link, cause error) {
	if l.dead != nil {
		return
	}
	i.counts.failures++
	i.drop(l, cause)
	i.failures = append(i.failures, failure{l.proc, cause})
}

// drop is the end of a link, and of what is under way on it.
func (i *Interface) drop(l *link, cause error) {
	l.dead = cause
	l.early, l.held, l.nacks = nil, 0, 0
	for _, m := range l.moves { // these wait for room; what the NAL has it gives back, and that ends then
		m.on = false
	}
	l.moves = nil
	for o := l.head; o != nil; {
		next := o.next
		o.next = nil
		i.gone(o, cause)
		o = next
	}
	l.head, l.tail, l.queued = nil, nil, 0
	i.pushFlows(l)
	for _, o := range i.ops.all {
		if o.live && o.link == l && !o.move.on {
			i.undelivered(o)
		}
	}
	for _, a := range i.arrivals.all {
		if a.live && a.l == l && !a.move.on {
			i.ended(a, Undeliverable)
		}
	}
}

// forget makes silent what is under way of an NI that is closed. It still ends as its peers expect it; what is fetched goes nowhere.
func (i *Interface) forget(ni *NI) {
	for _, o := range i.ops.all {
		if !o.live || o.md.ni != ni {
			continue
		}
		o.md.eq, o.md.ct = nil, nil
		if o.into != nil {
			o.into.eq, o.into.ct = nil, nil
		}
		if o.kind != opPut && o.kind != opAtomic && !o.move.on {
			o.dst, o.base = memory{base: make([]byte, o.length), size: o.length}, 0
		}
	}
	for _, a := range i.arrivals.all {
		if a.live && a.ni == ni {
			a.pt.eq, a.e.ct = nil, nil
		}
	}
}
