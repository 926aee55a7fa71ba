package cm

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mtl"
	"github.com/ompi-go/ompi-go/pml"
)

// fatal reports whether nothing works any more on a communicator.
func fatal(ch *core.Channel) bool {
	f := ch.Comm.Fault()
	return f != nil && f.Fatal
}

// inner reports whether this is a communicator's space for internal traffic. There a member's death ends every receive: who waits for a
// living peer in a collective may wait for one that has given up.
func inner(ch *core.Channel) bool { return ch.ID%2 == 1 }

// cannotCome is why no message from source will come any more, nil while one may.
func (o *module) cannotCome(ch *core.Channel, source int) *core.Error {
	f := ch.Comm.Fault()
	if f == nil {
		return nil
	}
	if f.Fatal || source == mtl.AnySource || inner(ch) {
		return f.Err
	}
	if err := ch.Comm.Procs[source].Failed(); err != nil {
		return peerError(err, source)
	}
	return nil
}

// recvMessage begins the receive of a message that has been taken. What has failed since ends it again, if its rest cannot come.
func (o *module) recvMessage(q *request, source int, m mtl.Message) {
	ch := q.m.Ch
	o.mtl.RecvMessage(m, &q.m)
	if ch.Comm.Fault() == nil || q.Request.Done() {
		return
	}
	if fatal(ch) {
		o.mtl.CommFailed(ch.Comm)
	} else if p := ch.Comm.Procs[source]; p.Failed() != nil {
		o.mtl.ProcFailed(p)
	}
}

// ProcFailed implements pml.Module: what waits for a dead process ends with ErrProcFailed.
func (o *module) ProcFailed(p *core.Proc) {
	o.mtl.ProcFailed(p)
	o.endWaiting(func(ch *core.Channel, source int) *core.Error {
		rank := ch.Comm.RankOf(p.Rank)
		switch {
		case rank < 0 && !ch.Comm.Has(p.Rank):
			return nil
		case source == mtl.AnySource || inner(ch) || source == rank:
			return ch.Comm.DeathOf(p)
		}
		return nil
	})
}

// CommFailed implements pml.Module: nothing works on c any more.
func (o *module) CommFailed(c *core.Comm) {
	f := c.Fault()
	if f == nil || !f.Fatal {
		return
	}
	o.mtl.CommFailed(c)
	o.endWaiting(func(ch *core.Channel, _ int) *core.Error {
		if ch.Comm != c {
			return nil
		}
		return f.Err
	})
}

// Cancelled implements pml.Canceller.
func (o *module) Cancelled(err *core.Error) {
	if m, ok := o.mtl.(pml.Canceller); ok {
		m.Cancelled(err)
	}
}

// endWaiting ends the receives that nothing has matched, and the probes, for which why gives an error.
func (o *module) endWaiting(why func(ch *core.Channel, source int) *core.Error) {
	o.eachRecv(func(q *request) {
		if err := why(q.m.Ch, q.m.Peer); err != nil && o.takeBack(q) {
			q.finishErr(err)
		}
	})
	o.failProbes(why)
}

// eachRecv calls f for the receives that the MTL has. What f ends may end others, or begin some.
func (o *module) eachRecv(f func(q *request)) {
	all := make([]*request, 0, o.recvs.n)
	for q := o.recvs.head; q != nil; q = q.next {
		all = append(all, q)
	}
	for _, q := range all {
		if o.recvs.has(q) {
			f(q)
		}
	}
}
