package ob1

import (
	"fmt"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
)

// When a path breaks and others to the process remain, messages from now on go over those, and so do messages that no BTL has taken
// yet. A message of which the broken BTL gives back a fragment is lost: whether the fragment came is not known. Its send ends with an
// error, and LOST tells the receiver, in the message's place in the sequence, so that its receive ends with an error, too, and what
// follows matches. Control frames are sent again: who gets one twice refuses the second.

// PathsChanged implements pml.Module.
func (o *module) PathsChanged(p *core.Proc) {
	q := o.peers[p.Rank]
	if q == nil {
		return // its paths are looked at when it is first used
	}
	o.resolve(q)
	for it := q.queue.head; it != nil; it = it.next {
		if it.s != nil && it.s.state == sendFirst {
			o.reroute(it.s, q.path, &q.limits)
		}
	}
	for c := q.parked.take(); c != nil; {
		next := c.next
		c.next = nil
		o.sendCtl(c)
		c = next
	}
}

// survives reports whether there is another way to a peer than the path that broke.
func (p *peer) survives(broken *bml.Path) bool {
	for _, q := range p.ep.Bulk {
		if q != broken {
			return p.proc.Failed() == nil
		}
	}
	return false
}

// ctlList is a first-in first-out list of control frames.
type ctlList struct{ head, tail *ctl }

func (l *ctlList) push(c *ctl) {
	c.next = nil
	if l.tail == nil {
		l.head = c
	} else {
		l.tail.next = c
	}
	l.tail = c
}

// take empties the list and returns the first.
func (l *ctlList) take() *ctl {
	c := l.head
	*l = ctlList{}
	return c
}

// giveBack takes a control frame that a BTL did not take or gave back. It waits for the peer's other paths, or its end.
func (o *module) giveBack(c *ctl) {
	switch p := c.peer; {
	case !p.survives(c.path) || o.closed:
		o.freeCtl(c) // the peer is gone: nobody waits for this
	case c.path != p.path: // the other paths are here already
		o.sendCtl(c)
	default:
		p.parked.push(c)
	}
}

// dropParked forgets the control frames for a peer that is gone.
func (o *module) dropParked(p *peer) {
	for c := p.parked.take(); c != nil; {
		next := c.next
		o.freeCtl(c)
		c = next
	}
}

// reroute prepares a message that no BTL has taken for another path.
func (o *module) reroute(s *sendReq, path *bml.Path, l *limits) {
	if path == s.path {
		return
	}
	o.stats.Sent[s.proto]--
	o.stats.SentBytes[s.proto] -= uint64(s.total)
	o.release(s)
	s.path = path
	h0, h1 := le.Uint64(s.frag.Hdr[0:]), le.Uint64(s.frag.Hdr[8:])
	o.prepare(s, s.Buf, l, h0&^0xff, h1)
}

// detour offers a message that its path refuses to the others.
func (s *sendReq) detour(err error) (bool, error) {
	o, p := s.o, s.peer
	if p.proc.Failed() != nil {
		return false, err
	}
	for i := 0; err != nil && i < len(p.ep.Bulk); i++ {
		path := p.ep.Bulk[i]
		if path == s.path {
			continue
		}
		l := o.limitsOf(p.ep, path)
		o.reroute(s, path, &l)
		var done bool
		if done, err = s.offer(); err == nil {
			return done, nil
		}
	}
	return false, err
}

// pathFailed ends a send of which a BTL did not take a fragment, or gave one back.
func (o *module) pathFailed(s *sendReq, path *bml.Path, err error) {
	if s.failure == nil && s.ch.fault == nil && !o.closed && s.peer.survives(path) {
		s.failure = o.pathError(s.dest, path, err)
		c := o.newCtl(s.peer)
		putLost(&c.frag, s.frag.Hdr[:matchSize], s.id)
		c.frag.Hdr[1] = s.lostFlags()
		s.cost = 0
		o.sendCtl(c)
	}
	o.sendFailed(s, err)
}

func (o *module) pathError(rank int, path *bml.Path, err error) *core.Error {
	return &core.Error{Class: core.ErrOther, Peer: rank, Index: -1,
		Err: fmt.Errorf("the message is lost: the path to the peer over btl %s broke while it was under way; others remain: %w", path.Module.Name(), err)}
}

// lost is the error of a receive that has matched a lost message.
func (o *module) lost(source int32) *core.Error {
	return &core.Error{Class: core.ErrOther, Peer: int(source), Index: -1,
		Err: fmt.Errorf("the message is lost: a path from the peer broke while it was under way; others remain")}
}

// lostHandler receives LOST frames.
type lostHandler struct{ o *module }

// Receive implements btl.Handler.
func (x *lostHandler) Receive(peer int, hdr, _ []byte) {
	o := x.o
	if len(hdr) != lostSize {
		o.refuse(peer)
		return
	}
	h, id := parseMatch(hdr), parseLost(hdr)
	if int(h.ctx) < len(o.chans) && o.chans[h.ctx] != nil {
		m := o.chans[h.ctx]
		if uint(h.source) < uint(len(m.ranks)) && m.ranks[h.source].job == peer {
			if _, ok := m.ranks[h.source].place(h.seq); !ok {
				o.lostLater(m, peer, &h, id)
				return
			}
		}
	}
	m := o.arrived(peer, &h, typeLost, &rndv{sendID: id}, nil)
	if m == nil {
		return
	}
	if r := m.posted.take(h.source, h.tag); r != nil {
		o.stats.Matches++
		o.deliverLost(r, h.source, h.tag)
		o.came(peer, lostCost(h.flags))
	} else {
		o.wait(m, o.store(peer, &h, typeLost, &rndv{sendID: id}, nil))
	}
	if rs := &m.ranks[h.source]; rs.held != nil {
		o.catchUp(m, rs)
	}
}

func (o *module) deliverLost(r *recvReq, source, tag int32) {
	r.Status.Source, r.Status.Tag = int(source), int(tag)
	r.Status.SetBytes(0)
	r.FinishErr(o.lost(source))
}

// lostLater takes the loss of a message whose first fragment has come: what is still to come of it will not.
func (o *module) lostLater(m *channel, peer int, h *match, id uint64) {
	if id == 0 {
		return // it was whole
	}
	for i := range o.ids.slots {
		if r := o.ids.slots[i].recv; r != nil && r.ch == m && r.sendID == id && r.peer.proc.Rank == peer {
			o.failLong(r, o.lost(h.source))
			return
		}
	}
	is := func(s *message) bool { return s.source == h.source && s.frame != typeMatch && s.sendID == id }
	for e := m.unexp.all.head; e != nil; e = e.next {
		if is(e.msg) {
			e.msg.frame = typeLost
			return
		}
	}
	for s := m.ranks[h.source].held; s != nil; s = s.next {
		if is(s) {
			s.frame = typeLost
			return
		}
	}
	for _, s := range m.taken {
		if is(s) {
			s.frame = typeLost
			return
		}
	}
}

var _ btl.Handler = (*lostHandler)(nil)
