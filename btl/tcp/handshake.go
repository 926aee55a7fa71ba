package tcp

import (
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/progress"
)

// stage is where a connection is in its handshake; see handshakewire.go for the messages.
type stage uint8

const (
	stageConnect   stage = iota // initiator: the kernel is connecting
	stageChallenge              // initiator: hello is sent
	stageVerdict                // initiator: proof is sent
	stageHello                  // acceptor: a stranger
	stageProof                  // acceptor: challenge is sent, still a stranger
	stageParked                 // acceptor: it is a peer, whom we are calling ourselves; the outcome of that decides
	stageReady                  // acceptor: accept is sent
	stageGone                   // closed or handed over
)

// conn is a connection in its handshake. It becomes a link.
type conn struct {
	m        *module
	fd       int
	reg      progress.FD
	stage    stage
	stranger bool // counted in module.strangers
	remote   netip.AddrPort
	link     *link // whose attempt this is; of accepted ones from stageParked on

	buf       [challengeSize]byte // the message that is arriving
	have      int
	hello     [helloSize]byte // as sent by the initiator
	challenge [helloSize]byte // as sent by the acceptor, without HMAC
	peer      hello           // what the peer said of itself
	vouch     bool            // whether this side asked for vouching, of link 0: who opens others has agreed by then
	timer     *progress.Timer
}

// greet begins with a caller.
func (m *module) greet(fd int, remote netip.AddrPort) {
	c := &conn{m: m, fd: fd, remote: remote, stage: stageHello, stranger: true}
	if err := tune(fd, &m.opts); err != nil {
		unix.Close(fd)
		return
	}
	var err error
	if c.reg, err = m.engine.AddFD(fd, unix.EPOLLIN, c); err != nil {
		unix.Close(fd)
		return
	}
	m.engine.PollFDsEvery(16)
	m.strangers++
	m.conns[c] = struct{}{}
	c.timer = m.engine.AddTimer(m.opts.ConnectTimeout, c)
}

// known ends a caller's time as a stranger.
func (c *conn) known() {
	if !c.stranger {
		return
	}
	c.stranger = false
	c.m.engine.StopTimer(c.timer)
	c.m.strangers--
	for _, ln := range c.m.listeners {
		ln.pause(false)
	}
}

// handOver lets the socket go to a link.
func (c *conn) handOver() {
	c.known()
	c.m.engine.StopTimer(c.timer)
	c.m.engine.RemoveFD(c.reg)
	delete(c.m.conns, c)
	c.stage = stageGone
}

// drop closes the connection. A peer that may already take itself for connected is told BYE.
func (c *conn) drop() {
	if c.stage == stageGone {
		return
	}
	if c.stage == stageReady && c.m.leaving {
		var b [frameSize]byte
		(&frame{kind: frameBye}).put(b[:])
		c.send(b[:])
	}
	fd := c.fd
	c.handOver()
	unix.Close(fd)
}

// send writes a message of the handshake. They are short, so a fresh socket that does not take one is broken.
func (c *conn) send(b []byte) bool {
	n, errno := sendRaw(c.fd, &b[0], len(b))
	return errno == 0 && n == len(b)
}

// say sends a message that is a preamble alone.
func (c *conn) say(kind messageKind, code refusal) bool {
	return c.send((&preamble{version: version, kind: kind, code: code}).append(nil))
}

// Ready is the epoll set's call.
func (c *conn) Ready(uint32) {
	if c.stage == stageConnect {
		c.connected()
	}
	for c.stage != stageConnect && c.stage != stageGone && c.step() {
	}
}

// step reads on and reports whether there may be more to do.
func (c *conn) step() bool {
	need := preambleSize
	if c.have >= preambleSize {
		need = messageKind(c.buf[10]).size() // the preamble is checked
	}
	n, errno := recvRaw(c.fd, &c.buf[c.have], need-c.have)
	switch {
	case errno == unix.EINTR:
		return true
	case errno == unix.EAGAIN:
		return false
	case errno != 0:
		c.broken(errno)
		return false
	case n == 0:
		c.broken(io.EOF)
		return false
	}
	if c.have += n; c.have < need {
		return true
	}
	if need == preambleSize {
		p, err := parsePreamble(c.buf[:])
		switch {
		case err == nil:
			err = c.expected(&p)
		case c.outgoing():
			err = fmt.Errorf("somebody else listens there: it sent %w", err)
		}
		if err != nil {
			c.unwelcome(err, refusedMessage)
			return false
		}
		if c.stage == stageGone {
			return false
		}
		if p.kind.size() > preambleSize {
			return true
		}
	}
	c.have = 0
	c.message(messageKind(c.buf[10]))
	return true
}

func (c *conn) outgoing() bool { return c.stage <= stageVerdict }

// expected checks a message's preamble against the stage. A refusal is understood whatever the version.
func (c *conn) expected(p *preamble) error {
	if p.kind == msgRefuse && c.outgoing() {
		c.link.attemptFailed(c, fmt.Errorf("refused: %s", p.code), p.code == refusedDuplicate)
		return nil
	}
	if p.version != version {
		err := fmt.Errorf("it speaks version %d of the protocol, this process version %d: all ranks must run the same release", p.version, version)
		c.unwelcome(err, refusedVersion)
		return nil
	}
	want := [...]messageKind{
		stageChallenge: msgChallenge, stageVerdict: msgAccept, stageHello: msgHello, stageProof: msgProof, stageReady: msgReady, stageParked: 0,
	}[c.stage]
	if p.kind != want {
		return fmt.Errorf("message %d of the handshake, where %d was expected", p.kind, want)
	}
	return nil
}

// message takes a complete message that is expected in this stage.
func (c *conn) message(kind messageKind) {
	switch kind {
	case msgHello:
		c.gotHello()
	case msgChallenge:
		c.gotChallenge()
	case msgProof:
		c.gotProof()
	case msgAccept:
		if !c.say(msgReady, 0) {
			c.broken(unix.EPIPE)
			return
		}
		if p := c.link.parked; p != nil {
			p.refuse(refusedDuplicate)
		}
		c.link.becomeUp(c)
	case msgReady:
		c.link.becomeUp(c)
	}
}

// greeting is what this side says of itself.
func (c *conn) greeting(to, link int) hello {
	h := hello{
		from: uint32(c.m.job.Rank()), to: uint32(to), link: uint16(link), links: uint16(c.m.opts.Links),
		maxFrame: uint32(c.m.opts.maxFrame()), job: c.m.job.ID(),
	}
	if ep := c.m.eps[to]; ep != nil {
		h.vouch = ep.wanted
		if ep.agreed != 0 {
			h.vouch = ep.vouched
		}
	}
	c.vouch = h.vouch && link == 0
	rand.Read(h.nonce[:]) // never fails
	return h
}

func (c *conn) gotHello() {
	h, err := parseHello(c.buf[:])
	m := c.m
	switch {
	case err != nil:
		c.unwelcome(err, refusedMessage)
		return
	case h.job != m.job.ID():
		c.unwelcome(fmt.Errorf("it belongs to job %s, this process to %s", h.job, m.job.ID()), refusedJob)
		return
	case int64(h.to) != int64(m.job.Rank()) || int64(h.from) >= int64(m.job.Size()) || h.from == h.to:
		c.unwelcome(fmt.Errorf("it says that it is rank %d and wants rank %d; this is rank %d of %d", h.from, h.to, m.job.Rank(), m.job.Size()), refusedRank)
		return
	case int(h.link) >= min(int(h.links), m.opts.Links):
		c.unwelcome(fmt.Errorf("it wants link %d; it has %d, this process %d (btl_tcp_links)", h.link, h.links, m.opts.Links), refusedLink)
		return
	}
	copy(c.hello[:], c.buf[:])
	c.peer = h
	mine := c.greeting(int(h.from), int(h.link))
	b := mine.append(make([]byte, 0, challengeSize), msgChallenge)
	copy(c.challenge[:], b)
	proof := mac(&m.secret, roleAcceptor, c.hello[:], c.challenge[:])
	c.stage = stageProof
	if !c.send(append(b, proof[:]...)) {
		c.broken(unix.EPIPE)
	}
}

func (c *conn) gotChallenge() {
	h, err := parseHello(c.buf[:])
	copy(c.challenge[:], c.buf[:])
	proof := mac(&c.m.secret, roleAcceptor, c.hello[:], c.challenge[:])
	switch {
	case err != nil:
	case h.job != c.m.job.ID():
		err = fmt.Errorf("job %s listens there, this is %s", h.job, c.m.job.ID())
	case int(h.from) != c.link.ep.proc.Rank || int(h.to) != c.m.job.Rank() || int(h.link) != c.link.index:
		err = fmt.Errorf("rank %d listens there, and answers rank %d on link %d", h.from, h.to, h.link)
	case !hmac.Equal(proof[:], c.buf[helloSize:challengeSize]):
		err = errors.New("who listens there does not know the job's secret")
	}
	if err != nil {
		c.unwelcome(err, refusedMessage)
		return
	}
	c.peer = h
	mine := mac(&c.m.secret, roleInitiator, c.hello[:], c.challenge[:])
	b := (&preamble{version: version, kind: msgProof}).append(make([]byte, 0, proofSize))
	c.stage = stageVerdict
	if !c.send(append(b, mine[:]...)) {
		c.broken(unix.EPIPE)
	}
}

// gotProof decides about a caller who may be a peer. Of two connections for one link that of the lower rank wins: the higher
// rank gives its own attempt up, the lower one lets the caller wait until its own attempt has succeeded or failed.
func (c *conn) gotProof() {
	m := c.m
	want := mac(&m.secret, roleInitiator, c.hello[:], c.challenge[:])
	if !hmac.Equal(want[:], c.buf[preambleSize:proofSize]) {
		c.unwelcome(fmt.Errorf("it says that it is rank %d and does not know the job's secret", c.peer.from), refusedProof)
		return
	}
	c.known()
	ep := m.endpoint(int(c.peer.from))
	if m.leaving || ep.err != nil {
		c.refuse(refusedClosing)
		return
	}
	index := int(c.peer.link)
	for len(ep.links) <= index { // a later link may call before link 0 has settled how many there are
		ep.links = append(ep.links, &link{ep: ep, m: m, index: len(ep.links)})
	}
	l := ep.links[index]
	switch {
	case l.state == linkUp || l.state == linkDown:
		c.refuse(refusedDuplicate)
	case l.out != nil && m.job.Rank() < ep.proc.Rank:
		l.park(c)
	default:
		l.accept(c)
	}
}

// unwelcome ends a handshake because of what the other side said.
func (c *conn) unwelcome(why error, code refusal) {
	if c.outgoing() {
		c.link.attemptFailed(c, why, false)
		return
	}
	c.m.stats.Refused++
	c.m.env.Upcalls.Say("btl_tcp_stranger", fmt.Sprintf("btl tcp: refused a connection from %s: %v", c.remote, why))
	c.refuse(code)
}

// refuse turns a caller away.
func (c *conn) refuse(code refusal) {
	c.say(msgRefuse, code) // if it is heard
	c.forget()
	c.drop()
}

// forget takes an accepted connection off its link.
func (c *conn) forget() {
	l := c.link
	switch {
	case l == nil:
	case l.parked == c:
		l.parked = nil
	case l.in == c:
		l.in = nil
		l.state = linkIdle
	}
}

// broken ends a handshake because the stream ended. Peers give attempts up as well (see gotProof), so this is no reason to complain.
func (c *conn) broken(err error) {
	if c.outgoing() {
		why := fmt.Errorf("the connection ended in the handshake: %w", err)
		c.link.attemptFailed(c, why, true)
		return
	}
	c.forget()
	c.drop()
}

// Expired is the timer's call: a stranger did not say who it is, or an address did not answer.
func (c *conn) Expired() {
	switch c.stage {
	case stageHello, stageProof:
		c.unwelcome(fmt.Errorf("it did not say who it is within %v (btl_tcp_connect_timeout)", c.m.opts.ConnectTimeout), refusedMessage)
	case stageConnect:
		c.link.attemptFailed(c, fmt.Errorf("no answer within %v (btl_tcp_connect_timeout)", c.m.opts.ConnectTimeout), false)
	case stageChallenge, stageVerdict:
		// It is alive, its kernel has answered; the process may be busy computing. Waiting for it is what a message would do, too.
		c.m.env.Upcalls.Say("btl_tcp_slow", fmt.Sprintf("btl tcp: %s at %s has not answered for %v; it may be busy outside of MPI. Waiting for it",
			c.link.ep.name(), c.remote, c.m.opts.ConnectTimeout))
	}
}
