package portals4

import (
	"math"

	ptl "github.com/ompi-go/ompi-go/portals4"
)

// Flow control by credit. Each sender has a share of each receiver's blocks, in bytes, and of its unexpected headers. Every message costs a
// header; a short one and the first part of a long one also their bytes. What a receive that waited has taken is given back at once; the
// header of an unexpected message when it is received, its bytes when the block they lie in is linked again: then they are free indeed.
//
// Shares add up to the blocks less the end of each, which may stay unused, so that a message with credit always finds a place. Who has no
// bytes left announces short messages as long ones: their headers alone are kept, and they are got when they are received. Who has no header left
// keeps its messages, in order, and says so once (starve); the receiver then gives back whatever it owes.
//
// MPI's progress rule needs one thing more. A receive may wait for a message that stands behind more others than there are headers. When a
// receiver owes a starving sender nothing and something waits for a message of it, it lends headers, by steps that double, and takes them back from
// what it would return later; a loan that is not used stays with the sender. When all that can be lent is lent, the next sender waits and the user is told which parameter to raise.
//
// What is given back travels as a put without data on the portal table entry flow. Its hdr_data:
//
//	 63                40 39                    0
//	+--------------------+----------------------+
//	| headers            | bytes                |
//	+--------------------+----------------------+
type credits struct {
	on     bool
	heads  int // a sender's window of unexpected headers
	bytes  int // its share of the blocks
	begged int // peers that starve for our credit
	any    int // receives from any source that wait
	spare  int // headers that may be lent: those that are in nobody's share
}

// account is what a peer and this rank owe each other.
type account struct {
	heads, bytes int  // of ours at the peer
	told         bool // the peer knows that we starve
	owedHeads    int  // of the peer's, here
	owedBytes    int
	lent         int
	step         int  // of the next loan
	starving     bool // the peer waits for credit
	posted       int  // receives that name the peer and wait
}

const (
	creditShift = 40
	leastLoan   = 16
	leastHeads  = 4
)

func (c *credits) init(m *module) {
	c.on = m.opt.FlowControl == "credit"
	if !c.on {
		return
	}
	n := len(m.peers)
	c.heads = max(min(m.opt.CreditHeads, m.opt.MaxHeaders*3/4/n), leastHeads)
	blocks, size := c.shape(m)
	c.bytes = blocks * (size - m.most) / n
	for _, p := range m.peers {
		p.heads, p.bytes = c.heads, c.bytes
	}
	c.spare = max(m.opt.MaxHeaders-n*c.heads, 0)
	m.peers[m.me].heads += c.spare / 2 // a rank that sends to itself cannot wait until it receives
	c.spare -= c.spare / 2
}

// headers is how many unexpected headers the interface must have, so that none is refused for which there is credit: all shares and what can be lent.
func (c *credits) headers(o *Options, ranks int) int {
	return max(o.MaxHeaders, leastHeads*ranks)
}

// shape is how the memory for short messages is cut: small enough that a sender's share is several blocks, or it would be given back in one.
func (c *credits) shape(m *module) (blocks, size int) {
	const parts = 4
	n := len(m.peers)
	all := max(m.opt.ShortRecvNum*int(m.opt.ShortRecvSize), n*int(m.opt.CreditShare))
	size = min(int(m.opt.ShortRecvSize), max(all/n/parts, 4*m.most, 4096))
	return max(all/size, 2), size
}

// affords reports whether n bytes may go to p as a short message.
func (c *credits) affords(p *peer, n int) bool { return !c.on || p.heads > 0 && p.bytes >= n }

// may reports whether any message may go to p. If not, p is told.
func (c *credits) may(m *module, p *peer) bool {
	if !c.on || p.heads > 0 {
		return true
	}
	if !p.told {
		p.told = true
		m.stats.stalls++
		m.signal(p, flowStarve, 0)
	}
	return p.heads > 0 // this rank may have given itself some at once
}

// cost is what a message takes of the sender's share of the blocks.
func cost(proto uint64, part int) int {
	if proto == protoLong {
		return 0
	}
	return part
}

func (c *credits) spend(p *peer, proto uint64, part int) {
	if c.on {
		p.heads--
		p.bytes -= cost(proto, part)
	}
}

// refund takes back what a message cost that was refused.
func (c *credits) refund(p *peer, proto uint64, part int) {
	if c.on {
		p.heads++
		p.bytes += cost(proto, part)
	}
}

// came: a message of p has been matched.
func (c *credits) came(m *module, p *peer, proto uint64, ev *ptl.Event) {
	if !c.on {
		return
	}
	back := p.lent > 0
	if back {
		p.lent--
		c.spare++
	} else {
		p.owedHeads++
	}
	if n := cost(proto, int(ev.RLength)); n > 0 {
		if ev.Type == ptl.EventPut {
			p.owedBytes += n
		} else if b := m.blocks.of(ev.Start); b != nil {
			if b.owed == nil {
				b.owed = make([]uint32, len(m.peers))
			}
			b.owed[p.proc.Rank] += uint32(n)
		}
	}
	if p.starving || p.owedHeads >= c.heads/4 || p.owedBytes >= c.bytes/4 {
		m.pay(p)
	}
	if back && c.begged > 0 { // somebody may have found nothing to be lent
		for _, p := range m.peers {
			if p.starving && (p.posted > 0 || c.any > 0) && c.spare > 0 {
				m.lend(p)
			}
		}
	}
}

// freed: the memory of a block can be used again.
func (c *credits) freed(m *module, b *shortBlock) {
	if !c.on {
		return
	}
	for i, n := range b.owed {
		if n == 0 {
			continue
		}
		p := m.peers[i]
		b.owed[i] = 0
		p.owedBytes += int(n)
		if p.starving || p.owedBytes >= c.bytes/4 {
			m.pay(p)
		}
	}
}

// pay gives back all that p is owed.
func (m *module) pay(p *peer) {
	if p.owedHeads == 0 && p.owedBytes == 0 {
		return
	}
	if p.owedHeads > 0 && p.starving {
		p.starving, p.step = false, 0
		m.credit.begged--
	}
	word := uint64(p.owedHeads)<<creditShift | uint64(p.owedBytes)
	p.owedHeads, p.owedBytes = 0, 0
	m.signal(p, flowCredit, word)
	m.stats.credits++
}

// paid: p gives credit back.
func (m *module) paid(p *peer, hdr uint64) {
	heads, bytes := int(hdr>>creditShift), int(hdr&(1<<creditShift-1))
	p.heads = min(p.heads+heads, math.MaxInt32)
	p.bytes = min(p.bytes+bytes, m.credit.bytes)
	if heads > 0 {
		p.told = false
	}
}

// begged: p keeps messages since it has no header left.
func (m *module) begged(p *peer) {
	if !p.starving {
		p.starving = true
		m.credit.begged++
	}
	if m.pay(p); p.starving && (p.posted > 0 || m.credit.any > 0) {
		m.lend(p)
	}
}

// lend lets a starving peer send more than its share.
func (m *module) lend(p *peer) {
	p.step = min(max(2*p.step, leastLoan), m.credit.heads)
	step := min(p.step, m.credit.spare)
	if step == 0 {
		m.env.Upcalls.Say("mtl_portals4_headers", "a receive waits for a message that stands behind more others than there may be unexpected ones; receive some, or raise mtl_portals4_max_unexpected_headers")
		return
	}
	m.credit.spare -= step
	p.lent += step
	p.starving = false
	m.credit.begged--
	m.signal(p, flowCredit, uint64(step)<<creditShift)
	m.stats.loans++
}

// post: a receive waits for a message of p, or of anybody (nil).
func (c *credits) post(p *peer) {
	if p == nil {
		c.any++
	} else {
		p.posted++
	}
}

func (c *credits) unpost(p *peer) {
	if p == nil {
		c.any--
	} else {
		p.posted--
	}
}

// missed: something waits for a message of p, or of anybody (nil), and none is here. What starving senders keep may be what it waits for.
func (c *credits) missed(m *module, p *peer) {
	if c.begged == 0 {
		return
	}
	if p != nil {
		if p.starving {
			m.lend(p)
		}
		return
	}
	for _, p := range m.peers {
		if p.starving {
			m.lend(p)
		}
	}
}
