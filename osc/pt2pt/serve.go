package pt2pt

import (
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/am"
)

// receive deals with a message from a member. One that the sender sent after a fence that this member has not completed waits for that: what others have
// sent before it may not be here yet.
func (m *module) receive(from int, b []byte) {
	flags, fences, commands, ok := parsePacket(b)
	switch {
	case !ok:
		m.f.stats.refused++
		return
	case flags&left != 0:
		m.peer(from).gone = true
		m.bury()
		m.review()
		return
	case flags&ordered == 0 || fences == m.fences:
	case fences != m.fences+1: // nobody can be farther ahead, or behind
		m.f.stats.refused++
		return
	default:
		k := m.newPacket()
		k.n, k.from = copy(k.buf, b), from
		m.early = append(m.early, k)
		return
	}
	p := m.peer(from)
	m.serve(p, commands)
	if flags&inFence != 0 {
		m.arrived++
	}
	m.resume()
	p.answer()
}

// catchEarly looks at what has come early, after a fence.
func (m *module) catchEarly() {
	if len(m.early) == 0 {
		return
	}
	m.early, m.taken = m.taken[:0], m.early
	for i, k := range m.taken {
		m.taken[i] = nil
		m.receive(k.from, k.buf[:k.n])
		m.freePacket(k)
	}
	m.review()
}

// serve carries commands out, until they end or one must wait for the lock.
func (m *module) serve(p *peer, b []byte) {
	for len(b) > 0 {
		var c am.Command
		n, err := c.Parse(b)
		if err != nil {
			m.f.stats.refused++
			return
		}
		b = b[n:]
		if c.Kind == am.Lock && !m.askedFor(p, &c) {
			if len(b) > 0 {
				p.keep(b)
			}
			return
		}
		m.carryOut(p, &c)
	}
}

// carryOut does what a command says.
func (m *module) carryOut(p *peer, c *am.Command) {
	switch c.Kind {
	case am.Put, am.Accumulate:
		if st := m.target.Execute(c, nil); st != am.OK && p.status == am.OK {
			p.status = st
		}
	case am.Get, am.Fetch, am.Swap:
		m.fetch(p, c)
	case am.Long:
		m.longPut(p, c)
	case am.Fetched:
		m.longGet(p, c)
	case am.Unlock, am.Flush, am.Complete:
		d := deferred{c.Kind, c.Flags, c.ID}
		if p.moving > 0 || len(p.later) > 0 {
			p.later = append(p.later, d)
			return
		}
		p.conclude(d)
	case am.Post:
		p.posted++
		p.goOn()
	case am.Granted:
		p.heard()
	case am.Ack:
		if c.ID > p.got && c.ID <= p.wanted {
			p.got = c.ID
			p.failed(c.Status)
			p.heard()
		} else {
			m.f.stats.refused++
		}
	case am.Reply:
		m.replied(p, c)
	}
}

// fetch carries out a command that has a result.
func (m *module) fetch(p *peer, c *am.Command) {
	n := c.ReplySize()
	if n > m.size-packetHeader {
		m.f.stats.refused++
		return
	}
	k := p.answerRoom(n)
	b := k.buf[k.n : k.n+n]
	st := m.target.Execute(c, b[am.HeaderSize:am.HeaderSize+c.N])
	k.n += c.PutReply(b, st)
}

// answerRoom is the packet of answers with room for n bytes.
func (p *peer) answerRoom(n int) *packet {
	if p.reply != nil && p.reply.n+n > len(p.reply.buf) {
		p.answer()
	}
	if p.reply == nil {
		p.reply = p.m.newPacket()
	}
	return p.reply
}

// answer sends the answers that are there.
func (p *peer) answer() {
	if k := p.reply; k != nil {
		p.reply = nil
		p.m.f.stats.answers++
		p.m.send(k, p.rank)
	}
}

// conclude does what was to wait for everything before it.
func (p *peer) conclude(d deferred) {
	m := p.m
	switch d.kind {
	case am.Complete:
		m.completed++
		return
	case am.Unlock:
		if !m.lock.release(p) {
			m.f.stats.refused++
			return
		}
		m.grant()
		if d.flags&flagAck == 0 {
			return
		}
	}
	p.answerRoom(am.HeaderSize).control(&am.Command{Kind: am.Ack, Status: p.status, ID: d.id})
	p.status = am.OK
}

// catchUp concludes what waited for long messages that have come.
func (p *peer) catchUp() {
	for _, d := range p.later {
		p.conclude(d)
	}
	p.later = p.later[:0]
	p.m.resume()
	p.answer()
}

// keep keeps commands until p has the lock.
func (p *peer) keep(b []byte) {
	k := p.m.newPacket()
	k.n = copy(k.buf, b)
	p.kept = k
}

// resume goes on with the commands of those who have got the lock.
func (m *module) resume() {
	for len(m.released) > 0 {
		p := m.released[0]
		m.released = m.released[:copy(m.released, m.released[1:])]
		k := p.kept
		if k == nil {
			continue
		}
		p.kept = nil
		m.serve(p, k.buf[:k.n])
		m.freePacket(k)
		p.answer()
	}
}

// replied puts a result where it belongs.
func (m *module) replied(p *peer, c *am.Command) {
	o := m.ops.find(c.ID, p)
	if o == nil || !o.landing.Put(c) {
		m.f.stats.refused++
		return
	}
	if o.status == am.OK {
		o.status = c.Status
	}
	p.heard()
	if o.landing.Left() > 0 {
		return
	}
	p.pending--
	st, r := o.status, o.req
	m.ops.remove(o)
	switch {
	case r == nil:
		p.failed(st)
	case st != am.OK:
		r.FinishErr(errorOf(st))
	default:
		r.Finish()
	}
}

// heard: p has answered, so that it has granted the lock that was asked for.
func (p *peer) heard() {
	if p.lock == lockAsked {
		p.lock = lockHeld
	}
	p.goOn()
}

// askedFor deals with a request for the lock; false: it must wait.
func (m *module) askedFor(p *peer, c *am.Command) bool {
	t := osc.LockType(c.Off)
	if (t != osc.LockShared && t != osc.LockExclusive) || p.waits || p.holds != holdsNothing {
		m.f.stats.refused++
		return true
	}
	p.wantsGrant = c.Flags&flagGrant != 0
	if !m.lock.acquire(p, t) {
		return false
	}
	p.granted()
	return true
}

// granted: p has the lock of this member's memory.
func (p *peer) granted() {
	if p.wantsGrant {
		p.answerRoom(am.HeaderSize).control(&am.Command{Kind: am.Granted})
	}
}

// grant gives the lock to those who are next.
func (m *module) grant() {
	for p := m.lock.next(); p != nil; p = m.lock.next() {
		if p.rank == m.me {
			p.lock = lockHeld
			continue
		}
		p.granted()
		if p.kept == nil {
			p.answer()
		} else {
			m.released = append(m.released, p)
		}
	}
}
