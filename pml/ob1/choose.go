package ob1

import (
	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/pml"
)

// protocol is how a message travels.
type protocol uint8

const (
	protoInline   protocol = iota // header and data in one inline message, no descriptor
	protoEager                    // header and data in one fragment
	protoRndv                     // header first; fragments when the receiver has matched
	protoRget                     // header first; the receiver reads the sender's memory, then says that it is done
	protoPut                      // header first; the receiver names its memory, the sender writes it, then says that it is done
	protoPipeline                 // like put, piece by piece as the receiver registers them, behind a beginning that goes in fragments
	protoCoop                     // like rget, and the sender copies a part
	protoCount
	protoAuto // as a wish: whatever is best
)

var protocolNames = [...]string{"inline", "eager", "rndv", "rget", "put", "pipeline", "coop", "", "auto"}

func (p protocol) String() string { return protocolNames[p] }

// protocolOf is the protocol of a name that the parameter's declaration has checked; auto for any other.
func protocolOf(name string) protocol {
	for p := range protoCount {
		if protocolNames[p] == name {
			return p
		}
	}
	return protoAuto
}

// ability is what a path can do.
type ability uint8

const (
	canInline ability = 1 << iota
	canGet
	canPut
	canRegister // what Put writes must be named
	getRefused  // could Get or Put, but it was found not to work between these two
	putRefused
	lostPath // a path to the peer was lost: handles may be another BTL's
)

// limits are a path's thresholds and abilities, worked out once per endpoint.
type limits struct {
	inline   int64 // payload up to here may go inline; -1: none
	eager    int64 // payload up to here goes eagerly
	head     int64 // payload that goes with a rendezvous header
	get      int64 // payload from here on is better fetched,
	put      int64 // written,
	pipeline int64 // written piece by piece; 0: never
	shared   int64 // fetched with the sender's help; 0: cannot
	pinned   bool  // registrations are kept
	can      ability
	wish     protocol // pml_ob1_protocol
}

func (o *module) limitsOf(ep *bml.Endpoint, p *bml.Path) limits {
	var can ability
	set := func(b ability, is bool) {
		if is {
			can |= b
		}
	}
	set(canInline, p.Inline != nil)
	set(canGet, p.Get != nil)
	set(canPut, p.Put != nil)
	set(canRegister, p.Reg != nil)
	set(getRefused, p.NoGet)
	set(putRefused, p.NoPut)
	set(lostPath, ep.Reduced)
	return limitsFrom(&p.Limits, int64(p.MaxInline), can, o.extra(), protocolOf(o.opt.Protocol))
}

// limitsFrom works out what a path with these abilities is to be used for; extra is how much longer first frames are than plain ones.
func limitsFrom(b *btl.Limits, inline int64, can ability, extra int64, wish protocol) limits {
	l := limits{
		inline: inline, eager: b.Eager - matchSize - extra, head: b.RndvEager, get: b.MinGet, put: b.MinPut, pipeline: b.MinPipeline,
		shared: b.MinShared, pinned: b.Pinned, can: can, wish: wish,
	}
	l.inline = min(l.inline, l.eager)
	if can&canInline == 0 || extra > 0 || (wish != protoAuto && wish != protoInline) { // an inline header has no room for an extension
		l.inline = -1
	}
	l.head = min(l.head, max(l.eager-rndvSize, 0))
	return l
}

// reason is why a message does not go by a protocol.
type reason uint8

const (
	suits       reason = iota // it can, and that is best
	needsAnswer               // from here on it cannot
	isEmpty
	tooLong
	tooShort
	hasGaps
	otherArch
	unable
	refused
	pathLost
	notAsked // from here on it can, but others are better
	belowLimit
	isEager
	keepsPins
	reasonCount
)

var reasonTexts = [reasonCount]string{
	suits:       "yes",
	needsAnswer: "a synchronous send must hear of the match",
	isEmpty:     "there are no bytes to move",
	tooLong:     "the message is longer than the limit",
	tooShort:    "the message is too short to be shared by both ends, or the BTL cannot share any",
	hasGaps:     "the memory here is not one block",
	otherArch:   "the peer's architecture differs",
	unable:      "the BTL cannot do that with this peer, or not with these parameters",
	refused:     "it was tried with this peer and did not work",
	pathLost:    "another path to the peer was lost, and memory is named by paths",
	notAsked:    "the BTL does not ask for it",
	belowLimit:  "the message is shorter than the BTL wants for it",
	isEager:     "the message is within the eager limit",
	keepsPins:   "registrations are kept, there is nothing to hide",
}

func (r reason) String() string { return reasonTexts[r] }

// impossible tells a protocol that cannot carry the message from one that is only not best.
func (r reason) impossible() bool { return r != suits && r < notAsked }

// query is what is known of a message and its buffer.
type query struct {
	size        int64
	contiguous  bool
	synchronous bool
	differs     bool // the peer's architecture
}

// best is the order of preference.
var best = [...]protocol{protoInline, protoEager, protoPipeline, protoCoop, protoRget, protoPut, protoRndv}

// nearest is what is taken in place of a protocol that is wished for and impossible; rndv always is possible.
var nearest = [protoCount]protocol{
	protoInline: protoEager, protoEager: protoRndv, protoRndv: protoRndv, protoRget: protoRndv, protoPut: protoRndv, protoPipeline: protoPut, protoCoop: protoRget,
}

// bar is what keeps a message from a protocol on a path: all of ob1's policy.
func bar(p protocol, q *query, l *limits) reason {
	remote, refusal := canGet, getRefused // what it needs of the BTL
	switch p {
	case protoInline, protoEager:
		most := l.eager
		if p == protoInline {
			most = l.inline
		}
		switch {
		case q.synchronous:
			return needsAnswer
		case p == protoInline && most < 0:
			return unable
		case p == protoInline && !q.contiguous:
			return hasGaps
		case q.size > most:
			return tooLong
		}
		return suits
	case protoRndv:
		return suits
	case protoPut, protoPipeline:
		remote, refusal = canPut|canRegister, putRefused
	}
	switch {
	case q.size == 0:
		return isEmpty
	case !q.contiguous:
		return hasGaps
	case q.differs:
		return otherArch
	case l.can&remote != remote:
		return unable
	case l.can&refusal != 0:
		return refused
	case l.can&lostPath != 0:
		return pathLost
	case p == protoCoop && (l.shared == 0 || q.size < l.shared):
		return tooShort
	case p == protoPipeline && l.pipeline == 0:
		return notAsked
	case q.size <= l.eager:
		return isEager
	case p == protoPipeline && l.pinned:
		return keepsPins
	case p == protoPipeline && q.size < l.pipeline, p == protoPut && q.size < l.put, (p == protoRget || p == protoCoop) && q.size < l.get:
		return belowLimit
	}
	return suits
}

// decide decides how a message goes over a path. why is not suits when that is not what pml_ob1_protocol wishes.
func decide(q *query, l *limits) (p protocol, why reason) {
	if p = l.wish; p == protoAuto {
		for _, p = range best {
			if bar(p, q, l) == suits {
				break
			}
		}
		return p, suits
	}
	moves := q.size > 0 || p <= protoRndv
	if !moves {
		p = protoEager // the wish is not about messages without bytes
	}
	for r := bar(p, q, l); r.impossible(); r = bar(p, q, l) {
		if why == suits && moves {
			why = r
		}
		p = nearest[p]
	}
	return p, why
}

// choose is decide for a message that is about to be sent.
func choose(n int64, contiguous, differs bool, mode pml.Mode, l *limits) (protocol, reason) {
	return decide(&query{n, contiguous, mode == pml.Synchronous, differs}, l)
}

// fetchable reports whether n bytes would be fetched over a path if reading had not been refused.
func fetchable(n int64, contiguous, differs bool, mode pml.Mode, l *limits) bool {
	free := *l
	free.can &^= getRefused
	return (l.wish == protoAuto || l.wish == protoRget) && bar(protoRget, &query{n, contiguous, mode == pml.Synchronous, differs}, &free) == suits
}
