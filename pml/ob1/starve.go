package ob1

import (
	"slices"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
)

// The sender's end of eager credit: see credit.go. Messages for which there is no credit stand in the order they were sent, a list for
// each context of the peer, so that a grant for one context reaches its messages. While any stands there, the credit is less than an
// announcement costs: so nothing overtakes them.

// starving are the messages of one context that a peer cannot be told of.
type starving struct {
	ch   *channel
	list outList
}

// starve keeps a message back. h0 and h1 are its match header without the type.
func (o *module) starve(s *sendReq, h0, h1 uint64) {
	p := s.peer
	putMatch(&s.frag, h0, h1)
	s.item.s = s
	s.state, s.proto = sendFirst, protoEager
	o.credit.stats.Starved++
	o.starveds++
	if i := slices.IndexFunc(p.starving, func(q *starving) bool { return q.ch == s.ch }); i >= 0 {
		p.starving[i].list.push(&s.item)
		return
	}
	q := &starving{ch: s.ch}
	q.list.starving = true
	q.list.push(&s.item)
	p.starving = append(p.starving, q)
	o.sayStarving(p, q) // last: the peer may be found dead
}

// sayStarving tells a peer, once for each grant, that messages of a context are kept back.
func (o *module) sayStarving(p *peer, q *starving) {
	c := o.newCtl(p)
	putStarve(&c.frag, q.ch.id, uint32(q.ch.comm.MyRank), p.granted)
	o.credit.stats.Starving++
	o.sendCtl(c)
}

// creditHandler receives CREDIT frames.
type creditHandler struct{ o *module }

// Receive implements btl.Handler.
func (x *creditHandler) Receive(peer int, hdr, _ []byte) {
	o := x.o
	if len(hdr) != creditSize {
		o.refuse(peer)
		return
	}
	ctx, granted := parseCredit(hdr)
	p := o.peers[peer]
	if p == nil || granted < 0 || granted-p.granted > 2*unlimited || peer == o.env.Job.Rank() {
		o.refuse(peer)
		return
	}
	if granted <= p.granted {
		return // it came twice, or was overtaken by a newer one
	}
	p.left += granted - p.granted
	p.granted = granted
	if len(p.starving) != 0 {
		o.feed(p, ctx)
	}
}

// feed sends what there is credit for at a peer, messages of ctx first, and says where that was not enough.
func (o *module) feed(p *peer, ctx uint32) {
	if i := slices.IndexFunc(p.starving, func(q *starving) bool { return q.ch.id == ctx }); i >= 0 {
		q := p.starving[i]
		p.starving = append(slices.Delete(p.starving, i, i+1), q) // others first, next time
		o.feedOne(p, q)
	}
	for len(p.starving) > 0 && p.left >= smallCost {
		o.feedOne(p, p.starving[0])
		p.starving = slices.DeleteFunc(p.starving, (*starving).empty) // or a failure that was noticed has done it
	}
	p.starving = slices.DeleteFunc(p.starving, (*starving).empty)
	for _, q := range slices.Clone(p.starving) {
		o.sayStarving(p, q)
	}
}

func (q *starving) empty() bool { return q.list.head == nil }

func (o *module) feedOne(p *peer, q *starving) {
	for p.left >= smallCost && q.list.head != nil {
		s := q.list.head.s
		o.out.drop(&s.item)
		s.path = p.path
		o.prepare(s, s.Buf, &p.limits, le.Uint64(s.frag.Hdr[0:]), le.Uint64(s.frag.Hdr[8:]))
		o.launch(s)
	}
}

// charge takes the cost of a message's first frame off the credit, in place of what was charged when it was prepared before.
func (s *sendReq) charge(n int) {
	s.peer.left += s.cost
	s.cost = costOf(int64(n))
	s.peer.left -= s.cost
}

// affords reports whether there is credit for a first frame with n bytes.
func (s *sendReq) affords(n int64) bool { return s.peer.left+s.cost >= costOf(n) }

// cheaper: of a message that was sent again as an announcement without data, that one has matched, if the answer's flags say so. It gives less
// credit back than was paid. cheaper reports whether messages that are kept back may go now.
func (s *sendReq) cheaper(flags uint8) bool {
	if flags&flagAgain == 0 {
		return false
	}
	s.peer.left += s.cost - smallCost
	s.cost, s.head = smallCost, 0
	return s.peer.left >= smallCost && len(s.peer.starving) != 0
}

// failStarving ends the messages that are kept back for a peer and that fit, with an error.
func (o *module) failStarving(p *peer, fits func(*sendReq) bool, err error) {
	for _, q := range slices.Clone(p.starving) {
		for it := q.list.head; it != nil; {
			s := it.s
			it = it.next
			if fits(s) {
				o.sendFailed(s, err)
			}
		}
	}
	p.starving = slices.DeleteFunc(p.starving, (*starving).empty)
}

// failStarvingFreed does so on communicators that have been freed meanwhile.
func (o *module) failStarvingFreed(err *core.Error) {
	for _, p := range o.peers {
		if p != nil {
			o.failStarving(p, func(s *sendReq) bool { return o.chans[s.ch.id] != s.ch }, err)
		}
	}
}

var _ btl.Handler = (*creditHandler)(nil)
