package ob1

import (
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/progress"
)

// Peers that starve, and what they are granted beyond their windows: see credit.go. MPI demands that a receive is matched once a message
// for it has been sent, however many others were sent before it. So a peer that keeps messages back is lent credit while something waits
// here that may match them, and nothing of the peer's has been matched meanwhile that would pay for more.

// starver is a peer that keeps messages back for one context. It holds while the peer's granted is at.
type starver struct {
	peer   int
	ctx    uint32
	source int32
	at     int64
	age    int  // passes
	idle   bool // looked at in vain; until something happens
	probed bool // a probe that does not wait has looked for messages of it
}

// starveHandler receives STARVE frames.
type starveHandler struct{ o *module }

// Receive implements btl.Handler.
func (x *starveHandler) Receive(peer int, hdr, _ []byte) {
	o := x.o
	c := &o.credit
	if len(hdr) != starveSize {
		o.refuse(peer)
		return
	}
	ctx, source, granted := parseStarve(hdr)
	if ctx > o.MaxContext() || source < 0 || granted > c.accounts[peer].granted || !o.mayBe(ctx, source, peer) {
		o.refuse(peer)
		return
	}
	if granted != c.accounts[peer].granted {
		return // it has not heard of the newest grant; if that is not enough, it will say so
	}
	for i := range c.starved {
		if s := &c.starved[i]; s.peer == peer && s.ctx == ctx {
			*s = starver{peer: peer, ctx: ctx, source: source, at: granted}
			c.wake()
			return
		}
	}
	c.starved = append(c.starved, starver{peer: peer, ctx: ctx, source: source, at: granted})
	c.wake()
}

// mayBe reports whether a peer may be this rank of a context, as far as is known.
func (o *module) mayBe(ctx uint32, source int32, peer int) bool {
	if int(ctx) >= len(o.chans) || o.chans[ctx] == nil {
		return true
	}
	ranks := o.chans[ctx].ranks
	return int(source) < len(ranks) && ranks[source].job == peer
}

// wake has starving peers looked at in the next passes. While that lasts the engine does not sleep.
func (c *credits) wake() {
	for i := range c.starved {
		if s := &c.starved[i]; s.idle {
			s.idle, s.age = false, 0
		}
	}
	if !c.on {
		c.on = true
		c.source.On()
		c.o.engine.Busy(1)
	}
}

// Poll implements progress.Poller.
func (c *credits) Poll() int {
	n := c.payAll()
	active := false
	rest := c.starved[:0]
	for i := range c.starved {
		s := c.starved[i]
		f := &c.accounts[s.peer]
		if s.at != f.granted || c.o.procs[s.peer].Failed() != nil {
			continue
		}
		if s.age++; !s.idle && s.age >= patience {
			if f.due > 0 && c.pay(s.peer, s.ctx) {
				n++
				continue
			}
			if c.needs(&s) {
				c.lend(s.peer, s.ctx)
				n++
				continue
			}
			s.idle, s.probed = true, false
		}
		active = active || !s.idle
		rest = append(rest, s)
	}
	c.starved = rest
	if !active && len(c.pending) == 0 {
		c.rest()
	}
	return n
}

// rest stops looking.
func (c *credits) rest() {
	if c.on {
		c.on = false
		c.source.Off()
		c.o.engine.Busy(-1)
	}
}

// needs reports whether something waits here that messages which a peer keeps back might match.
func (c *credits) needs(s *starver) bool {
	if int(s.ctx) >= len(c.o.chans) || c.o.chans[s.ctx] == nil {
		return false
	}
	m := c.o.chans[s.ctx]
	if s.probed || m.settling {
		return true
	}
	for _, p := range m.probes {
		if p.source == s.source || p.source == anySource {
			return true
		}
	}
	return m.posted.from(s.source)
}

// from reports whether a posted receive may match messages of source.
func (p *posted) from(source int32) bool {
	if p.n == 0 {
		return false
	}
	for _, q := range p.t.buckets {
		for ; q != nil; q = q.next {
			if q.head != nil && (q.head.recv.source == source || q.head.recv.source == anySource) {
				return true
			}
		}
	}
	return false
}

// probedFor: a probe that does not wait has found nothing.
func (c *credits) probedFor(m *channel, source int32) {
	for i := range c.starved {
		if s := &c.starved[i]; s.ctx == m.id && (source == s.source || source == anySource) {
			s.probed = true
		}
	}
	c.wake()
}

// lend grants a peer a step beyond its window, for messages of one context: first what one of them costs at least, so that little else of
// the peer's comes with it.
func (c *credits) lend(peer int, ctx uint32) {
	f := &c.accounts[peer]
	f.loan += f.step
	f.granted += f.step
	f.step = min(2*f.step, loanMost)
	c.stats.Loans++
	c.tell(peer, ctx)
}

var (
	_ btl.Handler     = (*starveHandler)(nil)
	_ progress.Poller = (*credits)(nil)
)
