package mtltest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mtl"
	"github.com/ompi-go/ompi-go/progress"
)

// Loop is the reference MTL: between the goroutine ranks of a process, as simple as can be. Packets lie in their receiver's inbox; lists are
// linear. Messages above the eager limit are announced, and fetched once matched, so that there is a time in which they are under way.
type Loop struct {
	Eager int64 // largest message that travels with its header
	// Tags gives a rank's MaxTag; nil: all below mtl.PairTags.
	Tags func(rank int) int

	mu   sync.Mutex // guards jobs
	jobs map[uuid.UUID][]*loopModule
}

// Framework, Name and Options implement mca.Component.
func (*Loop) Framework() string { return "mtl" }
func (*Loop) Name() string      { return "loop" }
func (*Loop) Options() any      { return new(struct{}) }

// Open implements mtl.Component.
func (l *Loop) Open(env *btl.Env) (mtl.Module, int, error) {
	if env.Job.Size() > 1 && env.Job.Launcher() != "in-process" {
		return nil, 0, fmt.Errorf("mtl loop: %w: the ranks are not goroutines of one process", btl.ErrUnavailable)
	}
	m := &loopModule{loop: l, engine: env.Engine, rank: env.Job.Rank(), size: env.Job.Size()}
	l.mu.Lock()
	if l.jobs == nil {
		l.jobs = make(map[uuid.UUID][]*loopModule)
	}
	id := env.Job.ID()
	if l.jobs[id] == nil {
		l.jobs[id] = make([]*loopModule, m.size)
	}
	m.peers = l.jobs[id]
	l.jobs[id][m.rank] = m // read by others after the first Fence
	l.mu.Unlock()
	m.engine.Lock()
	m.source = m.engine.AddPoller(m)
	m.engine.Unlock()
	return m, 50, nil
}

// loopModule is one rank's.
type loopModule struct {
	loop   *Loop
	engine *progress.Engine
	source *progress.Source
	rank   int
	size   int
	peers  []*loopModule
	chans  []*loopChannel // by number; made when first heard of

	states *state // pool
	live   stateList
	conv   datatype.Convertor

	mu      sync.Mutex // guards inbox and packets; a leaf
	inbox   packetList
	packets *packet      // pool
	come    atomic.Int32 // packets in inbox
}

type loopChannel struct {
	posted stateList
	unexp  packetList
}

type packetKind uint8

const (
	packetMessage packetKind = iota // matched by the receiver
	packetMatched                   // the sender of a synchronous message hears of it
	packetPull                      // the receiver of an announced message asks for it
	packetData                      // and gets it
)

// packet is a packet, and a message that nobody has received yet.
type packet struct {
	next    *packet
	home    *loopModule // whose pool it goes back to
	kind    packetKind
	sync    bool
	whole   bool // data came with it
	from    int  // job rank
	ctx     uint32
	source  int // rank in the communicator
	tag     int
	length  int64
	data    []byte
	send    *state // of the sender, for what comes back
	sendGen uint32
	recv    *state // of the receiver, likewise
	recvGen uint32
}

// Status implements mtl.Message.
func (p *packet) Status() core.Status { return core.MakeStatus(p.source, p.tag, p.length) }

type packetList struct{ head, tail *packet }

func (l *packetList) push(p *packet) {
	p.next = nil
	if l.tail == nil {
		l.head = p
	} else {
		l.tail.next = p
	}
	l.tail = p
}

// removeIf takes out the packets for which f holds, the first of them if one.
func (l *packetList) removeIf(one bool, f func(*packet) bool) (first *packet) {
	var before *packet
	for p := l.head; p != nil; p = p.next {
		if !f(p) {
			before = p
			continue
		}
		if before == nil {
			l.head = p.next
		} else {
			before.next = p.next
		}
		if l.tail == p {
			l.tail = before
		}
		if first == nil {
			first = p
		}
		if one {
			break
		}
	}
	return first
}

// state is a request under way: a receive that waits or is matched, or a send whose receiver will answer.
type state struct {
	prev, next *state
	list       *stateList
	gen        uint32
	r          *mtl.Request
	send       bool
	peer       int // job rank; -1: any
	st         core.Status
	err        error
}

type stateList struct{ head, tail *state }

func (l *stateList) push(s *state) {
	s.list, s.prev, s.next = l, l.tail, nil
	if l.tail == nil {
		l.head = s
	} else {
		l.tail.next = s
	}
	l.tail = s
}

func (s *state) unlink() {
	l := s.list
	if s.prev == nil {
		l.head = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		l.tail = s.prev
	} else {
		s.next.prev = s.prev
	}
	s.list, s.prev, s.next = nil, nil, nil
}

func (m *loopModule) newState(r *mtl.Request, send bool) *state {
	s := m.states
	if s == nil {
		s = new(state)
	} else {
		m.states = s.next
	}
	s.next = nil
	s.gen++
	s.r, s.send, s.peer, s.err = r, send, -1, nil
	if r.Peer >= 0 {
		s.peer = r.Ch.Comm.Procs[r.Peer].Rank
	}
	r.Priv = s
	return s
}

// end gives a request back to its owner.
func (m *loopModule) end(s *state, st core.Status, err error) {
	r := s.r
	if s.list != nil {
		s.unlink()
	}
	s.gen++
	s.r, r.Priv = nil, nil
	s.next, m.states = m.states, s
	r.Owner.Done(r, st, err)
}

func (m *loopModule) newPacket(k packetKind) *packet {
	m.mu.Lock()
	p := m.packets
	if p == nil {
		p = new(packet)
	} else {
		m.packets = p.next
	}
	m.mu.Unlock()
	*p = packet{kind: k, home: m, from: m.rank, data: p.data[:0]}
	return p
}

func (m *loopModule) give(p *packet) {
	h := p.home
	h.mu.Lock()
	p.next, h.packets = h.packets, p
	h.mu.Unlock()
}

func (m *loopModule) channel(id uint32) *loopChannel {
	for int(id) >= len(m.chans) {
		m.chans = append(m.chans, nil)
	}
	if m.chans[id] == nil {
		m.chans[id] = new(loopChannel)
	}
	return m.chans[id]
}

// post puts a packet into a rank's inbox.
func (m *loopModule) post(to int, p *packet) {
	t := m.peers[to]
	t.mu.Lock()
	t.inbox.push(p)
	t.come.Add(1)
	t.mu.Unlock()
	t.engine.Wake()
}

// Poll implements progress.Poller.
func (m *loopModule) Poll() int {
	if m.come.Load() == 0 {
		return 0
	}
	m.mu.Lock()
	l := m.inbox
	m.inbox = packetList{}
	m.come.Store(0)
	m.mu.Unlock()
	n := 0
	for p := l.head; p != nil; n++ {
		next := p.next
		p.next = nil
		m.take(p)
		p = next
	}
	return n
}

func (m *loopModule) take(p *packet) {
	switch p.kind {
	case packetMessage:
		ch := m.channel(p.ctx)
		for s := ch.posted.head; s != nil; s = s.next {
			if fits(s.r.Peer, s.r.Tag, p) {
				s.unlink()
				m.matched(s, p)
				return
			}
		}
		ch.unexp.push(p)
		return
	case packetMatched:
		if s := p.send; s.gen == p.sendGen {
			m.end(s, core.EmptyStatus(), nil)
		}
	case packetPull:
		if s := p.send; s.gen == p.sendGen {
			d := m.newPacket(packetData)
			d.data = m.pack(d.data, &s.r.Buf)
			d.recv, d.recvGen = p.recv, p.recvGen
			m.post(p.from, d)
			m.end(s, core.EmptyStatus(), nil)
		}
	case packetData:
		if s := p.recv; s.gen == p.recvGen {
			m.unpack(&s.r.Buf, p.data)
			m.end(s, s.st, s.err)
		}
	}
	m.give(p)
}

// fits reports whether a receive or probe can match a message.
func fits(peer, tag int, p *packet) bool {
	if p.tag >= mtl.PairTags {
		return peer == p.source && tag == p.tag
	}
	return (peer == mtl.AnySource || peer == p.source) && (tag == mtl.AnyTag || tag == p.tag)
}

// matched delivers a message, or asks for its data.
func (m *loopModule) matched(s *state, p *packet) {
	room := s.r.Buf.Bytes()
	s.peer, s.st, s.err = p.from, core.MakeStatus(p.source, p.tag, min(p.length, room)), nil
	if p.length > room {
		s.err = &core.Error{Class: core.ErrTruncate, Peer: p.source, Index: -1, Err: fmt.Errorf("the message has %d bytes, the buffer has room for %d", p.length, room)}
	}
	if !p.whole {
		m.live.push(s)
		q := m.newPacket(packetPull)
		q.send, q.sendGen, q.recv, q.recvGen = p.send, p.sendGen, s, s.gen
		m.post(p.from, q)
		m.give(p)
		return
	}
	m.unpack(&s.r.Buf, p.data)
	if p.sync {
		q := m.newPacket(packetMatched)
		q.send, q.sendGen = p.send, p.sendGen
		m.post(p.from, q)
	}
	m.give(p)
	m.end(s, s.st, s.err)
}

func (m *loopModule) pack(into []byte, b *core.Buffer) []byte {
	n := int(b.Bytes())
	into = slices.Grow(into, n)[:n]
	if n > 0 {
		m.conv.Prepare(b.Type(), b.Count(), b.Addr())
		m.conv.Pack(into)
	}
	return into
}

func (m *loopModule) unpack(b *core.Buffer, data []byte) {
	if n := min(b.Bytes(), int64(len(data))); n > 0 {
		m.conv.Prepare(b.Type(), b.Count(), b.Addr())
		m.conv.Unpack(data[:n])
	}
}

// Name, MaxTag, MaxContext and MaxRank implement mtl.Module.
func (m *loopModule) Name() string       { return "loop" }
func (m *loopModule) MaxContext() uint32 { return 1<<12 - 1 }
func (m *loopModule) MaxRank() int       { return 1<<16 - 1 }
func (m *loopModule) MaxTag() int {
	if m.loop.Tags != nil {
		return m.loop.Tags(m.rank)
	}
	return mtl.PairTags - 1
}

func (m *loopModule) message(ch *core.Channel, buf *core.Buffer, tag int) *packet {
	p := m.newPacket(packetMessage)
	p.ctx, p.source, p.tag, p.length = ch.ID, ch.Comm.MyRank, tag, buf.Bytes()
	if p.whole = p.length <= m.loop.Eager; p.whole {
		p.data = m.pack(p.data, buf)
	}
	return p
}

// Send implements mtl.Module.
func (m *loopModule) Send(r *mtl.Request) {
	p := m.message(r.Ch, &r.Buf, r.Tag)
	to := r.Ch.Comm.Procs[r.Peer].Rank
	if p.whole && !r.Sync {
		m.post(to, p)
		r.Owner.Done(r, core.EmptyStatus(), nil)
		return
	}
	s := m.newState(r, true)
	m.live.push(s)
	p.sync, p.send, p.sendGen = r.Sync, s, s.gen
	m.post(to, p)
}

// TrySend implements mtl.Module.
func (m *loopModule) TrySend(ch *core.Channel, buf core.Buffer, dest, tag int) bool {
	if buf.Bytes() > m.loop.Eager {
		return false
	}
	m.post(ch.Comm.Procs[dest].Rank, m.message(ch, &buf, tag))
	return true
}

// Recv implements mtl.Module.
func (m *loopModule) Recv(r *mtl.Request) {
	ch := m.channel(r.Ch.ID)
	s := m.newState(r, false)
	if p := m.find(ch, r.Peer, r.Tag, true); p != nil {
		m.matched(s, p)
		return
	}
	ch.posted.push(s)
}

func (m *loopModule) find(ch *loopChannel, peer, tag int, take bool) *packet {
	if take {
		return ch.unexp.removeIf(true, func(p *packet) bool { return fits(peer, tag, p) })
	}
	for p := ch.unexp.head; p != nil; p = p.next {
		if fits(peer, tag, p) {
			return p
		}
	}
	return nil
}

// Cancel implements mtl.Module.
func (m *loopModule) Cancel(r *mtl.Request) bool {
	s, _ := r.Priv.(*state)
	if s == nil || s.send || s.list != &m.channel(r.Ch.ID).posted {
		return false
	}
	s.unlink()
	s.gen++
	s.r, r.Priv = nil, nil
	s.next, m.states = m.states, s
	return true
}

// Iprobe implements mtl.Module.
func (m *loopModule) Iprobe(ch *core.Channel, source, tag int) (core.Status, bool) {
	if p := m.find(m.channel(ch.ID), source, tag, false); p != nil {
		return p.Status(), true
	}
	return core.EmptyStatus(), false
}

// Improbe implements mtl.Module.
func (m *loopModule) Improbe(ch *core.Channel, source, tag int) (mtl.Message, core.Status, bool) {
	if p := m.find(m.channel(ch.ID), source, tag, true); p != nil {
		return p, p.Status(), true
	}
	return nil, core.EmptyStatus(), false
}

// RecvMessage implements mtl.Module.
func (m *loopModule) RecvMessage(msg mtl.Message, r *mtl.Request) {
	m.matched(m.newState(r, false), msg.(*packet))
}

// AddComm implements mtl.Module.
func (m *loopModule) AddComm(c *core.Comm) error {
	m.channel(c.P2P.ID)
	m.channel(c.Inner.ID)
	return nil
}

// DelComm implements mtl.Module.
func (m *loopModule) DelComm(c *core.Comm) {
	m.chans[c.P2P.ID], m.chans[c.Inner.ID] = nil, nil
}

// Flushed implements mtl.Module: messages lie in their receiver's inbox as soon as they are sent.
func (m *loopModule) Flushed(*core.Comm) bool { return true }

// ProcFailed implements mtl.Module.
func (m *loopModule) ProcFailed(p *core.Proc) {
	m.endLive(p.Failed(), func(s *state) bool { return s.peer == p.Rank })
	for _, ch := range m.chans {
		if ch != nil { // announced messages whose data will never come
			ch.unexp.removeIf(false, func(x *packet) bool { return x.from == p.Rank && !x.whole })
		}
	}
}

// CommFailed implements mtl.Module.
func (m *loopModule) CommFailed(c *core.Comm) {
	m.endLive(c.Fault().Err, func(s *state) bool { return s.r.Ch.Comm == c })
}

func (m *loopModule) endLive(err error, which func(*state) bool) {
	for s := m.live.head; s != nil; {
		next := s.next
		if which(s) {
			m.end(s, core.MakeStatus(s.st.Source, s.st.Tag, 0), err)
		}
		s = next
	}
}

// Pending implements mtl.Module.
func (m *loopModule) Pending() string {
	n := 0
	for s := m.live.head; s != nil; s = s.next {
		n++
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("messages under way: %d", n)
}

// Quiet implements mtl.Module.
func (m *loopModule) Quiet() bool { return m.live.head == nil }

// Close implements mtl.Module.
func (m *loopModule) Close() error {
	m.engine.RemovePoller(m)
	return nil
}
