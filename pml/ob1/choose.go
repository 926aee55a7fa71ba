package ob1

import (
	"math"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/pml"
)

// protocol is how a message travels.
type protocol uint8

const (
	protoInline protocol = iota // header and data in one inline message, no descriptor
	protoEager                  // header and data in one fragment
	protoRndv                   // header first; fragments when the receiver has matched
	protoRget                   // header first; the receiver reads the sender's memory, then says that it is done
	protoCount
)

func (p protocol) String() string {
	return [...]string{"inline", "eager", "rndv", "rget"}[p]
}

// limits are a path's thresholds, worked out once per endpoint.
type limits struct {
	inline int64 // payload up to here may go inline
	eager  int64 // payload up to here goes eagerly
	get    int64 // payload from here on is fetched
	head   int64 // payload that goes with a rendezvous header
}

func (o *module) limitsOf(ep *bml.Endpoint, p *bml.Path) limits {
	l := limits{inline: int64(p.MaxInline), eager: p.Limits.Eager - matchSize - o.extra(), head: p.Limits.RndvEager, get: p.Limits.MinGet}
	if l.inline = min(l.inline, l.eager); p.Inline == nil || o.extends { // an inline header has no room for an extension
		l.inline = -1
	}
	if ep.Reduced {
		l.get = math.MaxInt64
	}
	l.head = min(l.head, max(l.eager-rndvSize, 0))
	return l
}

// choose decides how n bytes go over a path: the whole of ob1's policy.
func choose(n int64, contiguous bool, mode pml.Mode, p *bml.Path, l *limits) protocol {
	switch {
	case mode == pml.Synchronous:
		// The sender must hear of the match, which only a rendezvous tells.
	case contiguous && n <= l.inline:
		return protoInline
	case n <= l.eager:
		return protoEager
	}
	if !p.NoGet && fetchable(n, contiguous, p, l) {
		return protoRget
	}
	return protoRndv
}

// fetchable reports whether n bytes are worth being fetched over a path that can.
func fetchable(n int64, contiguous bool, p *bml.Path, l *limits) bool {
	return contiguous && n > 0 && n > l.eager && n >= l.get && p.Get != nil
}
