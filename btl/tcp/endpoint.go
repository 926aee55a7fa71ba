package tcp

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/inet"
	"github.com/ompi-go/ompi-go/core"
)

// endpoint is the way to one rank: its links.
type endpoint struct {
	m    *module
	proc *core.Proc
	card *inet.Card // nil until read

	// only is the endpoint's single link while it is up, the fast path. With several links it is nil.
	only    *link
	links   []*link // link 0 exists from the beginning, the others once their number is agreed
	agreed  int     // the number of links; 0: not yet
	multi   bool    // several links are agreed, or vouching: frames are kept until acknowledged
	wanted  bool    // the floor above has other ways to the peer: see vouch.go
	vouched bool    // likewise one of both ends
	next    int     // where to look for a free link first
	peerMax uint32  // the peer's largest message, as it said

	err  error // why nothing can be sent any more: the peer failed, or left
	dead bool
	told bool // the upper layer knows

	// See resend.go.
	resend    []kept // messages of broken links that must travel again, in order
	carrier   *link  // the link they travel over
	cause     error  // why the first link broke
	causeDead bool
}

func newEndpoint(m *module, proc *core.Proc) *endpoint {
	ep := &endpoint{m: m, proc: proc}
	ep.links = []*link{{ep: ep, m: m}}
	return ep
}

// MaxInline is the largest payload of SendInline.
func (ep *endpoint) MaxInline() int { return maxInline }

// SendInline writes a small message at once, or behind others that the socket has not taken yet while there is room.
func (ep *endpoint) SendInline(tag btl.Tag, h0, h1 uint64, data unsafe.Pointer, n int) bool {
	if n > maxInline {
		return false
	}
	l := ep.only
	if l == nil {
		if l = ep.pick(); l == nil {
			_ = ep.idle() // the caller's next offer goes through Send, which tells errors
			return false
		}
	}
	return l.sendInline(tag, h0, h1, data, n)
}

// Send writes a fragment. With one link it is done at once when the socket takes it; with several it is kept until the peer
// has acknowledged it.
func (ep *endpoint) Send(f *btl.Frag) (done bool, err error) {
	l := ep.only
	if l == nil || l.tx != txIdle {
		if l = ep.pick(); l == nil {
			return false, ep.idle()
		}
	}
	return l.send(f)
}

// pick finds a link that can take a message now, in turn.
func (ep *endpoint) pick() *link {
	if len(ep.resend) != 0 {
		return nil // first what has waited longest
	}
	for i := range ep.links {
		k := ep.next + i
		if k >= len(ep.links) {
			k -= len(ep.links)
		}
		if l := ep.links[k]; l.tx == txIdle && (l.win == nil || l.win.room(l.sent)) {
			ep.next = k + 1
			if ep.next == len(ep.links) {
				ep.next = 0
			}
			return l
		}
	}
	return nil
}

// idle is Send's answer when no link is free: the endpoint's failure, or to try again while it is being connected.
func (ep *endpoint) idle() error {
	switch {
	case ep.err != nil:
		return ep.err
	case ep.m.leaving:
		return fmt.Errorf("btl tcp: sending to rank %d after BYE", ep.proc.Rank)
	}
	if l := ep.links[0]; l.state == linkIdle {
		l.open()
	}
	return btl.ErrAgain
}

// readCard reads the peer's business card, once.
func (ep *endpoint) readCard() error {
	if ep.card != nil {
		return nil
	}
	b, err := ep.m.job.Get(ep.proc.Rank, cardKey)
	if err != nil {
		return fmt.Errorf("btl tcp: rank %d has published no address, is the component left out there? %w", ep.proc.Rank, err)
	}
	c, err := inet.ParseCard(b)
	if err != nil {
		return fmt.Errorf("btl tcp: rank %d: %w", ep.proc.Rank, err)
	}
	ep.card = &c
	return nil
}

// name is the peer for messages.
func (ep *endpoint) name() string {
	if ep.card != nil && ep.card.Host != "" {
		return fmt.Sprintf("rank %d on %s", ep.proc.Rank, ep.card.Host)
	}
	return fmt.Sprintf("rank %d", ep.proc.Rank)
}

// agree is told of each link that comes up what the peer said in the handshake, and whether this side asked for vouching. With link 0 the number of links is settled; the
// lower rank opens the others.
func (ep *endpoint) agree(h *hello, vouch bool) error {
	n := max(1, min(int(h.links), ep.m.opts.Links))
	if ep.agreed != 0 && (n != ep.agreed || h.maxFrame != ep.peerMax) {
		return fmt.Errorf("%d links and messages of %d bytes; agreed were %d and %d", h.links, h.maxFrame, ep.agreed, ep.peerMax)
	}
	if ep.agreed == 0 {
		ep.vouched = vouch || h.vouch
	}
	ep.agreed, ep.peerMax = n, h.maxFrame
	if n == 1 && !ep.vouched {
		ep.only = ep.links[0]
		return nil
	}
	ep.multi = true
	for len(ep.links) < n {
		ep.links = append(ep.links, &link{ep: ep, m: ep.m, index: len(ep.links)})
	}
	if ep.m.job.Rank() < ep.proc.Rank {
		for _, l := range ep.links[1:] {
			if l.state == linkIdle {
				l.open()
			}
		}
	}
	return nil
}

// live reports whether a link besides l works, or may yet.
func (ep *endpoint) live(l *link) bool {
	for _, o := range ep.links {
		if o != l && (o.state == linkUp || o.state == linkConnecting || o.state == linkAccepting) {
			return true
		}
	}
	return false
}

// fail gives the peer up: everything it owns is given back with the error, and Poll tells the upper layer. Once there was a connection,
// messages that were done for this end may have been lost on the way, so that nobody can go on with the peer, unless that is vouched for.
func (ep *endpoint) fail(cause error, dead bool) {
	if ep.err != nil {
		return
	}
	ep.err, ep.dead = cause, dead || !ep.vouched && slices.ContainsFunc(ep.links, func(l *link) bool { return l.cache != nil })
	if inline := ep.release(cause); ep.vouched && !ep.dead {
		ep.reclaim(inline)
	}
	ep.m.attend(ep)
}

// left is the good end: BYE on every link.
func (ep *endpoint) left() {
	if ep.err == nil {
		ep.err, ep.told = fmt.Errorf("btl tcp: %s has left the job (it said BYE)", ep.name()), true
		ep.release(ep.err)
	}
}

// release closes the links and completes what they own with err. It returns the inline messages that the peer has not acknowledged.
func (ep *endpoint) release(err error) (inline [][]byte) {
	ep.only = nil
	var owned []kept
	for _, l := range ep.links {
		owned = l.abandon(owned)
	}
	owned = append(owned, ep.resend...)
	ep.resend = nil
	for _, l := range ep.links {
		l.bulk.abort(ep, err)
		l.cut.abort(ep, err)
	}
	for _, k := range owned {
		if k.frag != nil {
			k.frag.Owner.FragDone(k.frag, err)
		} else {
			inline = append(inline, k.inline)
		}
	}
	return inline
}

// attend is called from Poll: to tell of the failure, or to go on with what broken links have left.
func (ep *endpoint) attend() {
	if ep.err != nil {
		if ep.told {
			return // it was uneasy more than once
		}
		ep.told = true
		ep.m.env.Upcalls.EndpointFailed(ep.m, ep.proc, ep.dead, ep.err)
		return
	}
	ep.pump()
}

func (ep *endpoint) flush() bool {
	if ep.err != nil {
		return true
	}
	out := len(ep.resend) == 0
	for _, l := range ep.links {
		if !l.flush() {
			out = false
		}
	}
	return out
}

func (ep *endpoint) close() {
	if ep.err == nil {
		ep.err, ep.told = errClosed, true
	}
	ep.release(errClosed)
}

var errClosed = errors.New("btl tcp: closed")
