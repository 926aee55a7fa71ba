package udp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/ompi-go/ompi-go/btl/inet"
)

// call is an endpoint's attempt to connect. Hellos go to the peer's addresses in turn until one is answered; then the proof goes there.
type call struct {
	on      bool
	proving bool
	ini     side
	cands   []inet.Candidate
	next    int   // candidate to try
	tries   int   // messages sent in this stage
	at      int64 // when to send again
	since   int64 // when it began
	rounds  int   // messages sent at all
}

// Times between messages of a call double from the first to the last.
const (
	firstTry = 2_000   // microseconds
	lastTry  = 250_000 // likewise
	mostTrys = 7       // doublings
)

// open begins to connect.
func (ep *endpoint) open() {
	m := ep.m
	if err := ep.readCard(); err != nil {
		ep.fail(err, false)
		return
	}
	cands := inet.Candidates(m.locals, m.loop, ep.card, 0)
	if len(cands) == 0 {
		ep.fail(m.unreachable(ep), false)
		return
	}
	m.now = m.clock()
	ep.call = call{on: true, cands: cands, at: m.now, since: m.now}
	var b [8]byte
	rand.Read(b[:]) // never fails
	ep.call.ini.id = binary.LittleEndian.Uint64(b[:])
	rand.Read(ep.call.ini.nonce[:])
	m.work(ep)
	if !m.inPass {
		ep.calling(m.now)
	}
}

// calling sends the next message of the handshake when it is time.
func (ep *endpoint) calling(now int64) {
	k, m := &ep.call, ep.m
	if now < k.at {
		return
	}
	if t := m.opts.Timeout.Microseconds(); t > 0 && now-k.since > t && k.rounds > 10 {
		var tried []string
		for _, c := range k.cands {
			tried = append(tried, c.Remote.String())
		}
		ep.fail(fmt.Errorf("btl udp: %s has not answered for %v (btl_udp_timeout); tried %s", ep.name(), m.opts.Timeout, strings.Join(tried, ", ")), false)
		return
	}
	k.at = now + int64(min(firstTry<<min(k.tries, mostTrys), lastTry))
	k.tries++
	k.rounds++
	if k.proving {
		c := ep.conn
		m.say(c.sock, addrOf(&c.name), m.greeting(hsProof, ep.proc.Rank, &c.ini, &c.acc))
		return
	}
	to := k.cands[k.next]
	if k.next++; k.next == len(k.cands) {
		k.next = 0
	}
	if s := m.socketFor(to); s != nil {
		m.say(s, to.Remote, m.greeting(hsHello, ep.proc.Rank, &k.ini, &side{}))
	}
}

// greeting is what this side says.
func (m *module) greeting(kind hsKind, to int, ini, acc *side) greeting {
	return greeting{
		version: hsVersion, kind: kind, from: uint32(m.job.Rank()), to: uint32(to), maxFrame: uint32(m.opts.maxFrame()),
		datagram: maxDatagram, slots: uint32(m.slots), window: m.window, job: m.job.ID(), ini: *ini, acc: *acc,
	}
}

func (m *module) say(s *socket, to netip.AddrPort, g greeting) {
	b := g.append(m.greet[:0], &m.secret)
	if m.inject != nil {
		m.inject.sendTo(s, to, b)
		return
	}
	s.sendTo(to, b)
}

// answer makes the acceptor's side of a connection from the initiator's. Nobody can foretell it, and it need not be kept.
func (m *module) answer(from uint32, ini *side) (acc side) {
	h := hmac.New(sha256.New, m.cookie[:])
	var b [12]byte
	binary.LittleEndian.PutUint32(b[:], from)
	binary.LittleEndian.PutUint64(b[4:], ini.id)
	h.Write(b[:])
	h.Write(ini.nonce[:])
	sum := h.Sum(nil)
	acc.id = binary.LittleEndian.Uint64(sum)
	copy(acc.nonce[:], sum[8:])
	return acc
}

// stranger counts a datagram that nobody of the job has sent.
func (m *module) stranger(from netip.AddrPort, what string) {
	m.stats.Strangers++
	m.env.Upcalls.Say("btl_udp_stranger", fmt.Sprintf("btl udp: threw away a datagram from %s: %s", from, what))
}

// greeted takes a message of the handshake.
func (m *module) greeted(s *socket, from netip.AddrPort, b []byte) {
	if !authentic(b, &m.secret) {
		m.stranger(from, "its sender does not know the job's secret, or it was damaged")
		return
	}
	var g greeting
	if err := g.parse(b); err != nil {
		m.stranger(from, err.Error())
		return
	}
	if g.version != hsVersion {
		if g.kind != hsRefuse {
			m.refuse(s, from, &g, refusedVersion, fmt.Sprintf("it speaks version %d of the protocol, this process version %d", g.version, hsVersion))
		}
		return
	}
	if g.job != m.job.ID() {
		m.refuse(s, from, &g, refusedJob, fmt.Sprintf("it belongs to job %s, this process to %s", g.job, m.job.ID()))
		return
	}
	if int64(g.to) != int64(m.job.Rank()) || int64(g.from) >= int64(m.job.Size()) || g.from == g.to {
		m.refuse(s, from, &g, refusedRank, fmt.Sprintf("it says that it is rank %d and wants rank %d; this is rank %d of %d", g.from, g.to, m.job.Rank(), m.job.Size()))
		return
	}
	ep := m.endpoint(int(g.from))
	switch g.kind {
	case hsHello:
		m.gotHello(s, from, ep, &g)
	case hsChallenge:
		m.gotChallenge(s, from, ep, &g)
	case hsProof:
		m.gotProof(s, from, ep, &g)
	case hsAccept:
		if c := ep.conn; c != nil && !c.up && ep.call.on && ep.call.proving && c.ini == g.ini && c.acc == g.acc {
			ep.connected()
		}
	case hsRefuse:
		k := &ep.call
		if k.on && k.ini == g.ini {
			ep.fail(fmt.Errorf("btl udp: %s at %s refuses to connect: %s", ep.name(), from, g.code), false)
		}
	}
}

// refuse turns a caller away who knows the secret and yet cannot be served.
func (m *module) refuse(s *socket, from netip.AddrPort, g *greeting, code refusal, why string) {
	if g.kind != hsHello && g.kind != hsProof {
		return
	}
	m.stats.Refused++
	m.env.Upcalls.Say("btl_udp_refused", fmt.Sprintf("btl udp: refused a connection from %s: %s", from, why))
	r := m.greeting(hsRefuse, int(g.from), &g.ini, &g.acc)
	r.code = code
	m.say(s, from, r)
}

// gotHello answers a caller and keeps nothing. When both call at once the lower rank's call wins: it does not answer the other's, which
// gives its own up when it hears the proof.
func (m *module) gotHello(s *socket, from netip.AddrPort, ep *endpoint, g *greeting) {
	switch {
	case m.leaving || ep.err != nil:
		m.refuse(s, from, g, refusedClosing, "this process is leaving the job, or has given the caller up")
	case ep.live != nil || ep.call.on && m.job.Rank() < ep.proc.Rank:
	default:
		acc := m.answer(g.from, &g.ini)
		m.say(s, from, m.greeting(hsChallenge, ep.proc.Rank, &g.ini, &acc))
	}
}

// gotChallenge goes on with a call that was answered.
func (m *module) gotChallenge(s *socket, from netip.AddrPort, ep *endpoint, g *greeting) {
	k := &ep.call
	if !k.on || k.proving || k.ini != g.ini || ep.err != nil {
		return
	}
	ep.conn = m.newConn(ep, s, from, g, true)
	k.proving, k.tries, k.at = true, 0, 0
	ep.calling(m.now)
}

// gotProof makes the connection. A proof that is heard again means that the accept was lost.
func (m *module) gotProof(s *socket, from netip.AddrPort, ep *endpoint, g *greeting) {
	if m.answer(g.from, &g.ini) != g.acc {
		m.stranger(from, "a proof that answers nothing this process has said")
		return
	}
	switch c := ep.conn; {
	case ep.live != nil && c.ini == g.ini:
	case m.leaving || ep.err != nil:
		m.refuse(s, from, g, refusedClosing, "this process is leaving the job, or has given the caller up")
		return
	case ep.live != nil || ep.call.on && ep.call.proving && m.job.Rank() < ep.proc.Rank:
		return // the call of this side is further
	default:
		ep.conn = m.newConn(ep, s, from, g, false)
		ep.connected()
	}
	m.say(s, from, m.greeting(hsAccept, ep.proc.Rank, &g.ini, &g.acc))
}

// newConn makes the connection that a greeting of the peer tells of.
func (m *module) newConn(ep *endpoint, s *socket, from netip.AddrPort, g *greeting, initiator bool) *conn {
	c := &conn{m: m, ep: ep, ini: g.ini, acc: g.acc, sock: s, maxFrame: g.maxFrame}
	toAcceptor, toInitiator := keys(&m.secret, &g.ini, &g.acc)
	if initiator {
		c.recvID, c.sendID, c.recvKey, c.sendKey = g.ini.id, g.acc.id, toInitiator, toAcceptor
	} else {
		c.recvID, c.sendID, c.recvKey, c.sendKey = g.acc.id, g.ini.id, toAcceptor, toInitiator
	}
	c.nameLen = putAddr(&c.name, from)
	datagram := min(s.datagram, int(g.datagram))
	c.flow = *newFlow(c, flowLimits{
		datagram: datagram, peerSlots: int(g.slots), minRTO: m.opts.MinRTO.Microseconds(), ackDelay: m.opts.AckDelay.Microseconds(),
	}, m.slotsFor(datagram), m.slots, int(g.window), m.now, &m.stats)
	return c
}

// connected lets frames flow.
func (ep *endpoint) connected() {
	m, c := ep.m, ep.conn
	ep.call = call{}
	c.up, ep.live = true, c
	c.heard = m.now
	m.stats.Connected++
	m.conns++
	m.resize()
	m.work(ep)
}

var _ host = (*conn)(nil)

// clock is the time of flows, in microseconds, never 0.
func (m *module) clock() int64 { return int64(time.Since(m.base)/time.Microsecond) + 1 }
