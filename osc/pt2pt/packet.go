package pt2pt

import (
	"encoding/binary"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/osc/am"
)

// Tags on the window's own channel.
const (
	tagPacket = 1 + iota
	tagPut    // data of a long put; those of one origin come in the order in which they were announced
	tagGet    // data of a long get, likewise
)

// A packet is a message of commands.
//
//	0  version  1
//	1  flags    1
//	2  fence    2   how many fences its sender had completed
//	4  length   4   of the whole
//	8  commands
const (
	packetVersion = 1
	packetHeader  = 8
)

// Flags of a packet.
const (
	inFence   = 1 << iota // sent in a fence epoch, and counted by its end
	ordered               // of an origin, to be looked at after the fences that the sender had completed
	left                  // its sender frees the window, after a death: it answers no more
	allFlags  = inFence | ordered | left
	flagGrant = am.Flags(1) // of Lock: an answer is wanted when the lock is there
	flagAck   = am.Flags(1) // of Unlock: an acknowledgement is wanted
)

// packet is memory for a message of commands.
type packet struct {
	m       *module
	buf     []byte
	n       int // bytes used
	flags   uint8
	lock    int  // where the Lock command is; 0: there is none
	answers bool // an answer will come
	from    int  // of a packet that is early: its sender
	h       core.Handle
	next    *packet
}

// newPacket gives an empty packet.
func (m *module) newPacket() *packet {
	k := m.spare
	if k == nil {
		k = &packet{m: m, buf: make([]byte, m.size)}
	} else {
		m.spare = k.next
	}
	k.n, k.flags, k.lock, k.answers, k.next = packetHeader, 0, 0, false, nil
	return k
}

func (m *module) freePacket(k *packet) {
	k.h = core.Handle{}
	k.next = m.spare
	m.spare = k
}

// room is the memory for a command that leaves place for one that closes the epoch.
func (k *packet) room() []byte { return k.buf[k.n:max(k.n, len(k.buf)-am.HeaderSize)] }

// control adds a command without data; there must be room.
func (k *packet) control(c *am.Command) { k.n += c.PutControl(k.buf[k.n:]) }

// seal writes the packet's header.
func (k *packet) seal() {
	k.buf[0], k.buf[1] = packetVersion, k.flags
	binary.LittleEndian.PutUint16(k.buf[2:], k.m.fences)
	binary.LittleEndian.PutUint32(k.buf[4:], uint32(k.n))
}

// parsePacket gives the commands of a message; ok is false when it is no packet.
func parsePacket(b []byte) (flags uint8, fences uint16, commands []byte, ok bool) {
	if len(b) < packetHeader || b[0] != packetVersion || b[1]&^allFlags != 0 || binary.LittleEndian.Uint32(b[4:]) != uint32(len(b)) {
		return 0, 0, nil, false
	}
	return b[1], binary.LittleEndian.Uint16(b[2:]), b[packetHeader:], true
}

func bytesOf(p unsafe.Pointer, n int64) core.Buffer { return core.MakeBuffer(p, n, datatype.Byte) }

// send sends a packet, which is the PML's until it is freed by look.
func (m *module) send(k *packet, to int) {
	k.seal()
	r := m.f.pml.BeginSend(&m.comm.P2P, bytesOf(unsafe.Pointer(&k.buf[0]), int64(k.n)), to, tagPacket)
	k.h = r.Handle()
	if r.Done() {
		m.sent(k.h)
		m.freePacket(k)
		return
	}
	r.Hook = k
	m.sending++
}

// sent takes the outcome of a send.
func (m *module) sent(h core.Handle) {
	if st, ok := h.Take(); ok {
		m.note(st.Err)
	}
}

// note remembers that a message could not travel. A death is known by the communicator, and may concern nobody else.
func (m *module) note(err error) {
	if err == nil || m.broken != nil || m.w.Hints.Recover && core.ClassOf(err) == core.ErrProcFailed {
		return
	}
	if e, ok := err.(*core.Error); ok {
		m.broken = e
	} else {
		m.broken = &core.Error{Class: core.ErrOther, Peer: core.Undefined, Index: -1, Err: err}
	}
}

// RequestDone implements core.Hook: the packet has been sent.
func (k *packet) RequestDone(*core.Request) {
	k.next = k.m.ended
	k.m.ended = k
	k.m.f.wake(k.m)
}

// slot is a receive that waits for packets.
type slot struct {
	m    *module
	buf  []byte
	r    *core.Request
	done bool
}

// ring is a list of receives. The packets of one sender come into its slots in their order, round and round, and are looked at in that order, though a later one
// may be complete before.
type ring struct {
	slots []slot
	head  int
	ended bool // nothing comes any more
}

// openRings posts the receives: for packets of whoever, which ends with the first death; if others are to go on after that, for those of each.
func (m *module) openRings(n int) {
	if !m.w.Hints.Recover {
		m.rings = make([]ring, 1)
		m.rings[0].open(m, n, core.AnySource)
		return
	}
	m.rings = make([]ring, m.comm.Size())
	for rank := range m.rings {
		if rank != m.me {
			m.rings[rank].open(m, n, rank)
		}
	}
}

func (g *ring) open(m *module, n, source int) {
	g.slots = make([]slot, n)
	for i := range g.slots {
		s := &g.slots[i]
		s.m, s.buf = m, make([]byte, m.size)
		s.r = m.f.pml.RecvInitHeld(&m.comm.P2P, bytesOf(unsafe.Pointer(&s.buf[0]), int64(m.size)), source, tagPacket)
		s.r.Hook = s
		s.start()
	}
}

func (s *slot) start() {
	s.done = false
	if err := s.r.Owner.Start(s.r); err != nil {
		s.m.note(err)
	}
}

// RequestDone implements core.Hook.
func (s *slot) RequestDone(*core.Request) {
	s.done = true
	s.m.f.wake(s.m)
}

// closeRings takes the receives back. One that has matched is waited for.
func (m *module) closeRings() {
	for i := range m.rings {
		m.rings[i].close(m)
	}
	m.rings = nil
}

func (g *ring) close(m *module) {
	for i := range g.slots {
		s := &g.slots[i]
		s.r.Hook = nil
		if h := s.r.Handle(); h.Active() {
			if !s.r.Done() {
				_ = s.r.Owner.Cancel(s.r) // a receive that has not matched
				m.engine.WaitLocked(&s.r.Completion)
			}
			h.Drop()
		}
		s.r.Handle().Abandon()
	}
}

// look deals with everything that has come or ended, and wakes who waited for it. It gives the number of things done.
func (m *module) look() (n int) {
	for m.ended != nil {
		k := m.ended
		m.ended = k.next
		m.sending--
		m.sent(k.h)
		m.freePacket(k)
		n++
	}
	for m.endedL != nil {
		l := m.endedL
		m.endedL = l.next
		l.over()
		n++
	}
	for i := range m.rings {
		n += m.rings[i].look(m)
	}
	if m.comm.Fault() != nil {
		m.bury()
	}
	m.review()
	return n
}

// look takes the packets that have come into a ring.
func (g *ring) look(m *module) (n int) {
	for !g.ended && len(g.slots) > 0 && g.slots[g.head].done {
		s := &g.slots[g.head]
		st, _ := s.r.Handle().Take()
		if st.Err != nil || st.Cancelled {
			m.note(st.Err)
			g.ended = true
			break
		}
		m.receive(st.Source, s.buf[:st.Bytes()])
		if g.head++; g.head == len(g.slots) {
			g.head = 0
		}
		s.start()
		n++
	}
	return n
}
