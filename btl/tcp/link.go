package tcp

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/progress"
)

// linkState is where a link is in its life.
//
//	idle --Send--> connecting --accept received, ready sent--> up --stream ends, error--> down
//	  |                |                                       ^
//	  +--peer called---+----------> accepting --ready received-+
//
// accepting and connecting fall back to idle (or the next address) when the connection under way breaks: until "ready" nobody has
// sent a frame, so nothing can be lost.
type linkState uint8

const (
	linkIdle       linkState = iota // nobody has asked for it
	linkConnecting                  // this side calls; out is the attempt, or nil while it waits to try again
	linkAccepting                   // the peer called and was accepted; in waits for its "ready"
	linkUp                          // frames flow
	linkDown                        // ended by BYE, broken, or never came up beside others that did
)

// link is one connection of an endpoint.
type link struct {
	m      *module
	ep     *endpoint
	index  int
	state  linkState
	remote netip.AddrPort
	opening
	sending
	receiving

	// Of a link that is up.
	fd    int
	reg   progress.FD
	vigil vigil

	// Of links that are watched over by resend.go; nil and zero with a single link that nobody vouches for.
	win      *window
	toldBy   *link // which link told the peer that this one is down; nil: none has yet
	downIn   bool  // the peer said that this link is down
	finished bool  // it ended by BYE, there is nothing to tell
}

// becomeUp takes over the socket of a finished handshake.
func (l *link) becomeUp(c *conn) {
	fd, remote := c.fd, c.remote
	c.handOver()
	l.stopOpening()
	l.fd, l.remote, l.state = fd, remote, linkUp
	l.cache = make([]byte, l.m.opts.EndpointCache)
	l.small = make([]byte, smallSize)
	l.tx = txIdle
	disagreed := l.ep.agree(&c.peer, c.vouch)
	if l.ep.multi {
		l.win = newWindow()
	}
	var err error
	tuneLoopback(fd, &l.m.opts)
	if l.reg, err = l.m.engine.AddFD(fd, unix.EPOLLIN, l); err != nil {
		l.broke(fmt.Errorf("btl tcp: %w", err), false)
		return
	}
	l.m.engine.PollFDsEvery(16)
	l.m.stats.Connected++
	if disagreed != nil {
		l.violated("another greeting than on its first link: %w", disagreed)
		return
	}
	l.m.warm(l)
}

// Ready is the epoll set's call.
func (l *link) Ready(events uint32) {
	if events&unix.EPOLLOUT != 0 && l.state == linkUp {
		l.writable()
	}
	if events&^unix.EPOLLOUT != 0 && l.state == linkUp {
		l.m.warm(l)
		l.receive()
	}
}

// writeFailed notes that the socket refuses data. It may happen inside the upper layer's Send, and what the peer sent before the end
// (its BYE, for one) may still lie in the socket: Poll reads on and finds out what it means.
func (l *link) writeFailed(errno syscall.Errno) {
	l.tx, l.txErr = txBroken, errno
	l.m.attend(l)
}

// attend reads what is left of a link whose socket refused data.
func (l *link) attend() {
	if l.state != linkUp {
		return
	}
	for l.receive() != 0 {
		if l.state != linkUp {
			return
		}
	}
	if l.state == linkUp {
		l.ended(l.txErr)
	}
}

// ended is told how the stream ended: io.EOF or an error of the socket.
func (l *link) ended(err error) {
	if l.byeIn {
		l.finished = true
		l.shut()
		if !l.ep.live(l) {
			l.ep.left()
		}
		return
	}
	dead := errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	what := "the connection broke: " + err.Error()
	if t := l.m.opts.PeerTimeout; t > 0 && errors.Is(err, syscall.ETIMEDOUT) {
		what = fmt.Sprintf("nothing was heard of it for %v (btl_tcp_peer_timeout): its host or the network to it is gone", t)
	}
	if dead {
		what = "the connection ended without BYE, so the process has died or was killed, or somebody cut the connection"
		if l.ep.vouched {
			what = "the connection ended without BYE"
		}
	}
	l.broke(fmt.Errorf("btl tcp: %s at %s: %s", l.ep.name(), l.remote, what), dead && !l.ep.vouched)
}

// violated ends a link whose peer sends what it may not.
func (l *link) violated(format string, args ...any) {
	l.broke(fmt.Errorf("btl tcp: %s at %s broke the protocol: it sent %w", l.ep.name(), l.remote, fmt.Errorf(format, args...)), true)
}

// broke retires the link when there are others, else the endpoint has failed.
func (l *link) broke(cause error, dead bool) {
	if l.ep.multi && l.ep.live(l) {
		l.retire(cause, dead)
		return
	}
	if l.ep.cause != nil {
		cause, dead = l.ep.cause, l.ep.causeDead
	}
	l.ep.fail(cause, dead)
}

// shut closes the socket. What was being sent and received stays as it is.
func (l *link) shut() {
	if l.state == linkUp {
		l.m.cool(l)
		l.m.engine.RemoveFD(l.reg)
		unix.Close(l.fd)
	}
	l.state, l.tx = linkDown, txClosed
	if l.ep.only == l {
		l.ep.only = nil
	}
}

// abandon shuts the link for good, in whatever state, and appends what it owns to owned.
func (l *link) abandon(owned []kept) []kept {
	l.stopOpening()
	l.shut()
	switch {
	case l.win != nil:
		owned = l.win.abandon(owned, l.sent)
	case l.frag != nil:
		owned = append(owned, kept{frag: l.frag})
	}
	l.clearFrag()
	return owned
}

func (l *link) flush() bool {
	if l.state != linkUp {
		return true
	}
	if l.tx == txFrag || l.tx == txSmall {
		l.writable()
	}
	if l.state == linkUp && l.tx != txBroken && !l.byeOut {
		l.wantBye = true
		l.control()
	}
	if l.state != linkUp {
		return true
	}
	return l.tx == txIdle && l.byeOut && (l.win == nil || l.win.empty(l.sent)) && unsent(l.fd) == 0
}
