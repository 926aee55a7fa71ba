package ob1

import (
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
)

// ProcFailed implements pml.Module: what waits for a dead process ends with ErrProcFailed. Whole messages that it sent before can
// still be received.
func (o *module) ProcFailed(p *core.Proc) {
	failed := p.Failed()
	if q := o.peers[p.Rank]; q != nil {
		for q.queue.head != nil {
			it := q.queue.head
			o.out.drop(it)
			it.failed(o, failed)
		}
		o.failStarving(q, func(*sendReq) bool { return true }, failed)
		o.dropParked(q)
		o.peers[p.Rank] = nil
	}
	for _, m := range o.chans {
		if m == nil {
			continue
		}
		rank := m.comm.RankOf(p.Rank)
		if rank < 0 {
			if m.comm.Has(p.Rank) {
				o.otherDied(m, m.comm.DeathOf(p))
			}
			continue
		}
		m.ranks[rank].peer = nil
		o.endCut(&m.ranks[rank], peerError(failed, rank))
		// A receive whose payload a BTL is writing into the user's buffer ends when the BTL lets go of that: see Placed.
		o.endLongOf(m, rank, failed)
		err := peerError(failed, rank)
		o.failPosted(m, func(r *recvReq) *core.Error {
			if r.source == int32(rank) || r.source == anySource || m.inner() {
				return err
			}
			return nil
		})
		o.failProbes(m, func(q *probe) *core.Error {
			if q.source == int32(rank) || q.source == anySource {
				return err
			}
			return nil
		})
		// Announced messages whose bodies will never come.
		for _, q := range []*queue{&m.unexp.all, &m.unexp.pairs} {
			for e := q.head; e != nil; {
				s := e.msg
				e = e.next
				if int(s.source) == rank && s.frame != typeMatch {
					m.unexp.remove(s)
					o.freeMsg(s)
				}
			}
		}
	}
	o.endLongFreed(failed, func(q *peer) bool { return q.proc == p })
}

// Cancelled implements pml.Canceller.
func (o *module) Cancelled(err *core.Error) {
	o.failStarvingFreed(err)
	o.endLongFreed(err, func(*peer) bool { return true })
	for i := range o.ids.slots { // peers that have given up, too, may never answer
		if r := o.ids.slots[i].recv; r != nil && r.over {
			o.dropPieces(r)
			o.endWhenFree(r)
		}
	}
	for _, m := range o.bml.Modules() {
		if d, ok := m.(btl.Diverter); ok {
			d.Divert(err)
		}
	}
}

// endLongFreed ends the long messages under way with some peers on communicators that have been freed meanwhile (MPI-3.1 §6.4.3).
func (o *module) endLongFreed(err *core.Error, with func(*peer) bool) {
	for i := range o.ids.slots {
		x := &o.ids.slots[i]
		if s := x.send; s != nil && o.chans[s.ch.id] != s.ch && with(s.peer) {
			o.sendFailed(s, err)
		}
		if r := x.recv; r != nil && o.chans[r.ch.id] != r.ch && with(r.peer) {
			o.dropPieces(r)
			o.failLong(r, peerError(err, r.Status.Source))
		}
	}
}

// otherDied: a member of an intercommunicator is dead that is no peer on this channel. Nothing comes from it or goes to it here, but
// living peers may have given up, and who waits for anybody is to hear of it.
func (o *module) otherDied(m *channel, err *core.Error) {
	o.failPosted(m, func(r *recvReq) *core.Error {
		if r.source == anySource || m.inner() {
			return err
		}
		return nil
	})
	o.failProbes(m, func(q *probe) *core.Error {
		if q.source == anySource {
			return err
		}
		return nil
	})
}

// inner reports whether this is a communicator's space for internal traffic. There a member's death ends every receive: who waits
// for a living peer in a collective may wait for one that has given up.
func (m *channel) inner() bool { return m.id%2 == 1 }

// endLongOf ends the long messages under way with a member of a channel.
func (o *module) endLongOf(m *channel, rank int, failed *core.Error) {
	for i := range o.ids.slots {
		x := &o.ids.slots[i]
		if s := x.send; s != nil && s.ch == m && s.dest == rank {
			o.sendFailed(s, failed)
		}
		if r := x.recv; r != nil && r.ch == m && r.Status.Source == rank {
			o.dropPieces(r)
			o.failLong(r, peerError(failed, rank))
		}
	}
}

func (o *module) failPosted(m *channel, why func(*recvReq) *core.Error) {
	for _, q := range m.posted.t.buckets {
		for ; q != nil; q = q.next {
			for e := q.head; e != nil; {
				r := e.recv
				e = e.next
				if err := why(r); err != nil {
					m.posted.remove(r)
					r.FinishErr(err)
				}
			}
		}
	}
}

func (o *module) failProbes(m *channel, why func(*probe) *core.Error) {
	rest := m.probes[:0]
	for _, p := range m.probes {
		if err := why(p); err != nil {
			p.err = err
			o.engine.Complete(&p.Completion)
		} else {
			rest = append(rest, p)
		}
	}
	clear(m.probes[len(rest):])
	m.probes = rest
}

// CommFailed implements pml.Module: nothing works on c any more.
func (o *module) CommFailed(c *core.Comm) {
	f := c.Fault()
	if f == nil || !f.Fatal {
		return
	}
	for _, ch := range []*core.Channel{&c.P2P, &c.Inner} {
		if int(ch.ID) >= len(o.chans) || o.chans[ch.ID] == nil {
			continue
		}
		m := o.chans[ch.ID]
		m.fault = f.Err
		o.failPosted(m, func(*recvReq) *core.Error { return f.Err })
		for i := range m.ranks {
			o.endCut(&m.ranks[i], f.Err)
		}
		o.failProbes(m, func(*probe) *core.Error { return f.Err })
		for i := range o.ids.slots {
			x := &o.ids.slots[i]
			if s := x.send; s != nil && s.ch == m {
				o.sendFailed(s, f.Err)
			}
			if r := x.recv; r != nil && r.ch == m {
				o.failLong(r, f.Err)
			}
		}
		for _, p := range o.peers {
			if p == nil {
				continue
			}
			for it := p.queue.head; it != nil && it.list == &p.queue; { // else the peer was found dead, and all has ended
				next := it.next
				if it.s != nil && it.s.ch == m {
					o.out.drop(it)
					o.sendFailed(it.s, f.Err)
				}
				it = next
			}
			o.failStarving(p, func(s *sendReq) bool { return s.ch == m }, f.Err)
		}
	}
}
