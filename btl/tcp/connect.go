package tcp

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl/inet"
	"github.com/ompi-go/ompi-go/progress"
)

// opening is the part of a link that matters until it is up.
type opening struct {
	out     *conn // this side's attempt under way
	in      *conn // the peer's, accepted and not yet ready
	parked  *conn // the peer's, waiting for the outcome of ours
	cands   []inet.Candidate
	nextTry int
	tried   []string // what became of the addresses tried, for the message when all have failed
	again   bool     // one of them may do better another time
	rounds  int      // of all addresses that have failed
	backoff *progress.Timer
}

// A connection that ends in the handshake is tried again, since a peer drops callers that it had to let wait for too long.
const (
	maxRounds    = 10
	firstBackoff = 5 * time.Millisecond
)

// open begins to connect an idle link.
func (l *link) open() {
	ep := l.ep
	if err := ep.readCard(); err != nil {
		ep.fail(err, false)
		return
	}
	l.cands = inet.Candidates(l.m.locals, l.m.loop, ep.card, l.index)
	if len(l.cands) == 0 {
		ep.fail(l.m.unreachable(ep), false)
		return
	}
	l.state, l.rounds = linkConnecting, 0
	l.round()
}

// round tries the addresses from the first on.
func (l *link) round() {
	l.nextTry, l.tried, l.again = 0, l.tried[:0], false
	l.dial()
}

// dial tries the next address, and the ones after it as long as they fail at once.
func (l *link) dial() {
	for l.nextTry < len(l.cands) {
		c := l.cands[l.nextTry]
		l.nextTry++
		conn, err := l.call(c)
		if err == nil {
			l.out = conn
			return
		}
		l.failed(c.Remote, err)
	}
	l.openFailed()
}

func (l *link) failed(remote netip.AddrPort, err error) {
	l.tried = append(l.tried, fmt.Sprintf("%s: %v", remote, err))
}

// call begins a connection to one address.
func (l *link) call(to inet.Candidate) (*conn, error) {
	fd, err := newSocket(to.Remote.Addr())
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	c := &conn{m: l.m, fd: fd, remote: to.Remote, stage: stageConnect, link: l}
	if err = tune(fd, &l.m.opts); err == nil && to.Bind.IsValid() {
		// The port is chosen when the connection is made, so that two peers do not compete for one.
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1) // only saves ports
		err = unix.Bind(fd, sockaddr(netip.AddrPortFrom(to.Bind, 0)))
	}
	if err == nil {
		if err = unix.Connect(fd, sockaddr(to.Remote)); errors.Is(err, unix.EINPROGRESS) {
			err = nil
		}
	}
	if err == nil {
		c.reg, err = l.m.engine.AddFD(fd, unix.EPOLLOUT, c)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	l.m.engine.PollFDsEvery(16)
	l.m.conns[c] = struct{}{}
	c.timer = l.m.engine.AddTimer(l.m.opts.ConnectTimeout, c)
	return c, nil
}

// connected is called when the kernel has an outcome.
func (c *conn) connected() {
	code, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	if err == nil {
		err = c.m.engine.ModFD(c.reg, unix.EPOLLIN)
	}
	if err != nil {
		c.link.attemptFailed(c, err, false)
		return
	}
	h := c.greeting(c.link.ep.proc.Rank, c.link.index)
	copy(c.hello[:], h.append(nil, msgHello))
	c.stage = stageChallenge
	if !c.send(c.hello[:]) {
		c.broken(unix.EPIPE)
	}
}

// attemptFailed goes on to the next address. again tells that this one deserves another chance.
func (l *link) attemptFailed(c *conn, why error, again bool) {
	remote := c.remote
	c.drop()
	l.out = nil
	l.failed(remote, why)
	l.again = l.again || again
	if p := l.parked; p != nil {
		l.parked = nil
		l.accept(p)
		return
	}
	l.dial()
}

// openFailed is reached when no address is left.
func (l *link) openFailed() {
	if l.again && l.rounds < maxRounds {
		l.backoff = l.m.engine.AddTimer(firstBackoff<<l.rounds, l)
		l.rounds++
		return
	}
	ep := l.ep
	cause := fmt.Errorf("btl tcp: cannot connect to %s; tried %s", ep.name(), strings.Join(l.tried, "; "))
	l.stopOpening()
	l.state = linkDown
	switch {
	case ep.live(l):
		l.m.env.Upcalls.Say("btl_tcp_fewer_links", fmt.Sprintf("%v; the other links do its work", cause))
	case ep.links[0].finished:
		ep.left()
	default:
		l.broke(cause, false)
	}
}

// Expired is the timer's call after a pause between rounds.
func (l *link) Expired() {
	l.backoff = nil
	if l.state == linkConnecting && l.out == nil {
		l.round()
	}
}

// park lets a caller wait for the outcome of our own attempt. A later call of the same peer replaces an earlier one, which
// it has given up.
func (l *link) park(c *conn) {
	if l.parked != nil {
		l.parked.drop()
	}
	l.parked, c.link, c.stage = c, l, stageParked
}

// accept takes the peer's connection instead of whatever else is under way for the link.
func (l *link) accept(c *conn) {
	l.stopOpening()
	l.in, l.state = c, linkAccepting
	c.link, c.stage = l, stageReady
	if !c.say(msgAccept, 0) {
		c.broken(unix.EPIPE)
	}
}

// stopOpening drops everything under way but what is accepted or handed over already.
func (l *link) stopOpening() {
	for _, c := range []*conn{l.out, l.in, l.parked} {
		if c != nil {
			c.drop()
		}
	}
	l.m.engine.StopTimer(l.backoff)
	l.opening = opening{tried: l.tried[:0]}
}
