package udp

import (
	"fmt"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
)

// flow is the protocol of one connection, without sockets and clocks: who has it tells what came and what time it is, and is asked to
// transmit, to deliver bodies in order, and to give fragments back. Times are microseconds of the monotonic clock of this process.
//
// A packet lives in a ring, by number, from being written until the peer says cumulatively that it came. It is
//
//	queued --transmit--> flying --selective acknowledgement--> come
//	                     |    ^
//	                later ones have come
//	                     v    |
//	                     lost-+ transmit
//
// A packet counts as lost when three that were transmitted later have come, or one was and it is overdue; when nothing comes at all, the
// oldest is sent again as a probe, ever more rarely, and what the answer tells decides. One round of losses makes the congestion window
// smaller once, as NewReno does.
type flow struct {
	host host
	flowLimits

	// Sending. Invariant: una <= sent <= next <= una + len(out).
	out      []outPacket
	una      uint64 // the oldest that has not come, as far as is known
	sent     uint64 // the first never transmitted
	next     uint64 // the first not written
	inflight int    // bytes of those that are flying
	span     int    // costOf those in una..sent
	lost     int    // how many are lost
	window   int    // what the peer is ready for, from una on
	cwnd     int
	ssthresh int
	limited  bool   // cwnd has kept something back since it last grew
	order    uint64 // transmissions of data
	newest   uint64 // the latest transmission that is known to have come
	recover  uint64 // losses of transmissions before this one belong to a round that is paid for
	srtt     int64  // 0: not yet measured
	rttvar   int64
	minRTT   int64
	backoff  uint
	ptoAt    int64 // when to probe; 0: nothing to wait for
	asked    int64 // when the first of the probes without any answer was sent; 0: there is none
	probes   int
	heard    int64 // when anything last came

	// Receiving. Invariant: in holds held packets, of numbers above got and below got + len(in).
	in        []inPacket
	got       uint64 // the first that has not come
	top       uint64 // above all that have come
	held      int
	unacked   int  // data packets since the peer was last told
	ackNow    bool // tell at once
	ackAt     int64
	echoStamp uint32
	echoAt    int64
	hasEcho   bool

	dead  bool
	stats *Stats
}

// host is what a flow is in.
type host interface {
	// transmit puts a packet on its way, whose body is buf and then n bytes at data; f.head makes its head. number is that of a data
	// packet. False: no room now.
	transmit(kind kind, number uint64, buf []byte, data unsafe.Pointer, n int) bool
	// deliver takes the body of the next packet in order, valid during the call.
	deliver(body []byte)
	// came gives a fragment back, all of which has come.
	came(f *btl.Frag)
	buffer(n int) []byte
	release(b []byte)
}

// flowLimits are settled in the handshake.
type flowLimits struct {
	datagram  int   // largest sent
	peerSlots int   // packets that the peer can hold
	minRTO    int64 // least time until a probe
	ackDelay  int64 // how long an acknowledgement may wait for company
}

type outState uint8

const (
	outQueued outState = iota
	outFlying
	outLost
	outCame
)

// outPacket is a packet to send: buf and then n bytes at data, of frag's payload.
type outPacket struct {
	buf   []byte
	data  unsafe.Pointer
	frag  *btl.Frag
	n     int
	at    int64  // of its last transmission
	order uint64 // likewise
	state outState
	again bool // transmitted more than once
	open  bool // buf may grow
}

func (p *outPacket) size() int { return headSize + len(p.buf) + p.n }

// inPacket is the body of a packet that came before its turn.
type inPacket struct{ buf []byte }

const (
	reorderBy  = 3         // later transmissions that have come make one lost
	maxRTO     = 500_000   // between probes
	firstRTO   = 50_000    // before anything is measured
	fullWait   = 1000      // until the host is tried again that had no room
	loseSlack  = 1000      // added to the time after which one that was overtaken is overdue
	maxBackoff = 8         // doublings of the time between probes
	hopeless   = 3         // probes in a row before an answer that tells of losses: the network is jammed
	ackEvery   = 2         // data packets
	minCwnd    = 4         // datagrams
	firstCwnd  = 10        // datagrams
	leastCwnd0 = 128 << 10 // bytes, at first
)

// newFlow makes a flow that has room for out packets to be sent and holds in packets that come before their turn, both powers of two.
func newFlow(h host, l flowLimits, out, in, window int, now int64, stats *Stats) *flow {
	f := &flow{host: h, flowLimits: l, out: make([]outPacket, out), in: make([]inPacket, in), window: window, heard: now, stats: stats}
	f.cwnd = max(firstCwnd*l.datagram, leastCwnd0)
	f.ssthresh = 1 << 40
	f.order, f.recover = 1, 1
	return f
}

func (f *flow) outAt(number uint64) *outPacket { return &f.out[number&uint64(len(f.out)-1)] }

// free is how many packets can be written.
func (f *flow) free() int { return len(f.out) - int(f.next-f.una) }

// bodyMax is the largest body sent.
func (f *flow) bodyMax() int { return f.datagram - headSize }

// open is the packet that is being written, or nil.
func (f *flow) open() *outPacket {
	if f.next == f.sent {
		return nil
	}
	if p := f.outAt(f.next - 1); p.open {
		return p
	}
	return nil
}

// write begins a packet, for whose buf there is a buffer with room for n bytes. There must be a free slot.
func (f *flow) write(n int) *outPacket {
	if p := f.open(); p != nil {
		p.open = false
	}
	p := f.outAt(f.next)
	f.next++
	*p = outPacket{open: true}
	if n > 0 {
		p.buf = f.host.buffer(n)[:0]
	}
	return p
}

// idle reports whether there is nothing to wait for.
func (f *flow) idle() bool { return f.una == f.next && f.unacked == 0 && !f.ackNow }

// deadline is when tick wants to be called; 0: never.
func (f *flow) deadline() int64 {
	switch {
	case f.ptoAt == 0:
		return f.ackAt
	case f.ackAt == 0:
		return f.ptoAt
	}
	return min(f.ptoAt, f.ackAt)
}

// step does what is due and sends what may be sent.
func (f *flow) step(now int64) {
	if f.ptoAt != 0 && now >= f.ptoAt {
		f.probe(now)
	}
	f.pump(now)
	if f.ackNow || f.unacked >= ackEvery || f.ackAt != 0 && now >= f.ackAt {
		f.acknowledge(now)
	}
}

// acknowledge sends an acknowledgement alone.
func (f *flow) acknowledge(now int64) {
	if f.host.transmit(kindAck, f.next, nil, nil, 0) {
		f.told()
	} else {
		f.ackNow, f.ackAt = true, now+fullWait
	}
}

// told: the peer is being told what has come.
func (f *flow) told() { f.unacked, f.ackNow, f.ackAt = 0, false, 0 }

// pump transmits what the windows let.
func (f *flow) pump(now int64) {
	for n := f.una; f.lost > 0 && n < f.sent; n++ {
		p := f.outAt(n)
		if p.state != outLost {
			continue
		}
		if f.inflight > 0 && f.inflight+p.size() > f.cwnd {
			f.limited = true
			return
		}
		if !f.send(n, p, now) {
			return
		}
	}
	for f.sent < f.next {
		p := f.outAt(f.sent)
		size := p.size()
		switch {
		case f.inflight > 0 && f.inflight+size > f.cwnd:
			f.limited = true
			return
		case f.span > 0 && f.span+costOf(size) > f.window, f.sent-f.una >= uint64(f.peerSlots):
			return
		}
		if !f.send(f.sent, p, now) {
			return
		}
	}
}

// send transmits a packet, for the first time or again.
func (f *flow) send(number uint64, p *outPacket, now int64) bool {
	if !f.host.transmit(kindData, number, p.buf, p.data, p.n) {
		return false
	}
	size := p.size()
	switch p.state {
	case outQueued:
		f.sent++
		f.span += costOf(size)
		f.inflight += size
	case outLost:
		f.lost--
		f.inflight += size
		p.again = true
		f.stats.Retransmitted++
	case outFlying:
		p.again = true
		f.stats.Retransmitted++
	}
	p.state, p.open, p.at, p.order = outFlying, false, now, f.order
	f.order++
	f.ptoAt = now + f.rto()
	f.told()
	return true
}

// unsent takes back a transmission that the host could not carry out after all.
func (f *flow) unsent(number uint64) {
	if number < f.una || number >= f.sent {
		return
	}
	if p := f.outAt(number); p.state == outFlying {
		p.state = outLost
		f.lost++
		f.inflight -= p.size()
	}
}

// rto is the time until the next probe.
func (f *flow) rto() int64 {
	t := int64(firstRTO)
	if f.srtt != 0 {
		t = f.srtt + max(4*f.rttvar, 200) + f.ackDelay
	}
	return min(max(t, f.minRTO)<<min(f.backoff, maxBackoff), maxRTO)
}

// probe sends the oldest packet again: nothing has come for long.
func (f *flow) probe(now int64) {
	if f.una == f.sent {
		f.ptoAt = 0
		return
	}
	f.backoff++
	f.stats.Probes++
	if f.asked == 0 {
		f.asked = now
	}
	f.probes++
	f.ptoAt = now + f.rto()
	f.send(f.una, f.outAt(f.una), now)
}

// ping asks an idle peer whether it is there.
func (f *flow) ping(now int64) {
	if f.host.transmit(kindPing, f.next, nil, nil, 0) {
		f.told()
	}
	if f.asked == 0 {
		f.asked = now
	}
	f.probes++
}

// silence is for how long the peer has been asked without an answer; 0 unless it was asked several times, so that who was away itself does not
// find the others dead.
func (f *flow) silence(now int64) int64 {
	if f.asked == 0 || f.probes < 4 {
		return 0
	}
	return now - f.asked
}

// head makes the head of a packet.
func (f *flow) head(p *packet, kind kind, number uint64, now int64) {
	p.kind, p.number, p.ack, p.stamp = kind, number, f.got, uint32(now)
	p.sack = f.held64(0)
	p.flags, p.echo = 0, 0
	if f.hasEcho {
		p.flags, p.echo = flagEcho, f.echoStamp+uint32(now-f.echoAt)
	}
}

// held64 is a word of selective bits: bit i is packet got + 1 + 64*word + i.
func (f *flow) held64(word int) (bits uint64) {
	if f.held == 0 {
		return 0
	}
	first := f.got + 1 + uint64(word)*sackBits
	for i := range uint64(min(sackBits, int64(f.top)-int64(first))) {
		if f.inAt(first+i).buf != nil {
			bits |= 1 << i
		}
	}
	return bits
}

// heldWords is how many words of selective bits there are beyond the one in the head.
func (f *flow) heldWords() int {
	if f.held == 0 || f.top <= f.got+1+sackBits {
		return 0
	}
	return min(int(f.top-f.got-1-1)/sackBits, f.bodyMax()/8)
}

func (f *flow) inAt(number uint64) *inPacket { return &f.in[number&uint64(len(f.in)-1)] }

// input takes a packet of this connection that is intact. An error is a violation of the protocol.
func (f *flow) input(p *packet, body []byte, now int64) error {
	f.heard, f.asked, f.probes = now, 0, 0
	if p.ack > f.sent {
		return fmt.Errorf("an acknowledgement of packet %d, when %d was the last sent", p.ack-1, int64(f.sent)-1)
	}
	f.window = int(p.window)
	f.acknowledged(p, body, now)
	f.echoStamp, f.echoAt, f.hasEcho = p.stamp, now, true
	switch p.kind {
	case kindData:
		f.arrived(p.number, body, now)
	case kindPing:
		f.ackNow = true
	}
	return nil
}

// arrived takes a data packet.
func (f *flow) arrived(number uint64, body []byte, now int64) {
	f.unacked++
	if f.ackAt == 0 {
		f.ackAt = now + f.ackDelay
	}
	switch {
	case number < f.got:
		f.stats.Duplicates++
		f.ackNow = true
		return
	case number-f.got >= uint64(len(f.in)):
		f.stats.Overrun++
		f.ackNow = true
		return
	case number > f.got:
		f.ackNow = true
		at := f.inAt(number)
		if at.buf != nil {
			f.stats.Duplicates++
			return
		}
		f.stats.Reordered++
		at.buf = f.host.buffer(len(body))
		copy(at.buf, body)
		f.held++
		f.top = max(f.top, number+1)
		return
	}
	f.got++
	f.top = max(f.top, f.got)
	if f.held > 0 {
		f.ackNow = true
	}
	f.host.deliver(body)
	for f.held > 0 && !f.dead {
		at := f.inAt(f.got)
		b := at.buf
		if b == nil {
			return
		}
		at.buf = nil
		f.held--
		f.got++
		f.host.deliver(b)
		f.host.release(b)
	}
}

// end gives back everything that is held; frag is called for what fragments there are, once each.
func (f *flow) end(frag func(*btl.Frag)) {
	f.dead = true
	for i := range f.in {
		if b := f.in[i].buf; b != nil {
			f.in[i].buf = nil
			f.host.release(b)
		}
	}
	f.held = 0
	first, last := f.una, f.next
	f.una, f.sent = f.next, f.next
	f.inflight, f.span, f.lost, f.ptoAt, f.ackAt, f.unacked, f.ackNow = 0, 0, 0, 0, 0, 0, false
	for n := first; n < last; n++ {
		p := f.outAt(n)
		if p.buf != nil {
			f.host.release(p.buf)
		}
		fr := p.frag
		*p = outPacket{}
		if fr != nil {
			if fr.Sent--; fr.Sent == 0 {
				frag(fr)
			}
		}
	}
}
