package tcp

import "github.com/ompi-go/ompi-go/btl"

// A kernel that has taken bytes has not delivered them. Where a peer is reached by another BTL as well, that matters: when the last
// connection breaks, the floor above goes on there and must know what has come. So the two ends vouch then, if either wants it: even
// with one link they keep what they send until it is acknowledged, as with several (resend.go), and when the endpoint fails they
// give back the rest, fragments to their owners and inline messages to the handler of their tag. An end of stream without BYE is no
// death then; others notice that.

// Vouch implements btl.Voucher. It comes too late for a peer who has connected already without asking for it itself; then the endpoint's
// failure is still the peer's.
func (ep *endpoint) Vouch() { ep.wanted = true }

// reclaim gives inline messages back, of each the whole frame.
func (ep *endpoint) reclaim(inline [][]byte) {
	for _, b := range inline {
		if r, ok := ep.m.env.Dispatch.Handlers[b[1]].(btl.Reclaimer); ok {
			r.Reclaim(ep.proc.Rank, b[frameSize:inlineMin], b[inlineMin:])
		}
	}
}

var _ btl.Voucher = (*endpoint)(nil)
