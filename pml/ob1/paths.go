package ob1

import (
	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/core"
)

// When a path breaks and others to the process remain, messages from now on go over those, and so do messages that no BTL has taken
// yet. What the broken BTL gives back is sent again (again.go). So are control frames: who gets one twice refuses the second.

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
		l.can |= lostPath // the receiver may take a handle for one of the path that refuses
		o.reroute(s, path, &l)
		var done bool
		if done, err = s.offer(); err == nil {
			return done, nil
		}
	}
	return false, err
}
