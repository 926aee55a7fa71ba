package portals4

import (
	"encoding/binary"
	"unsafe"

	"github.com/ompi-go/ompi-go/coll/alg"
	p4 "github.com/ompi-go/ompi-go/portals4"
)

// headerSize is the size of the header that every message begins with:
//
//	 63      56 55           32 31            0
//	+----------+---------------+---------------+
//	| kind + 1 | root, or op   | bytes         |   of the operation, little-endian
//	+----------+---------------+---------------+
const headerSize = 8

// slot is one of a communicator's places for rounds. Everything belongs to the token.
type slot struct {
	m     *module
	index uint64
	words []uint64 // the memory: own operand, what comes down, what each child sends up; each a header and a segment
	mem   []byte   // the same

	up, down, sent *p4.CT // messages from children and atomic operations; messages from the parent; own messages that have left
	md             *p4.MDHandle
	entries        []p4.Entry

	// What the counts are when every round armed so far is settled.
	upAt, downAt, sentAt uint64

	// The round that is under way.
	busy   bool
	stage  stage
	op     *operation // until the data has come
	at     int64      // of the segment in the operation's data
	n      int64      // bytes of it
	source int64      // where in mem the data comes to
	came   *p4.CT     // the data is there when this count
	cameAt uint64     // is that; nil: it is there
	answer int        // the side that gets an answer, or sideSelf
}

// stage is how far a round is.
type stage uint8

const (
	arriving  stage = iota // the data has not come
	answering              // it is not sent on
	settlingUp
	settlingDown
	settlingSent
)

// Places in mem.
func (m *module) stride() int64          { return headerSize + m.f.opts.Segment }
func (m *module) ownAt() int64           { return 0 }
func (m *module) downPlace() int64       { return m.stride() }
func (m *module) landing(kid int) int64  { return int64(2+kid) * m.stride() }
func (m *module) slotWords() int64       { return int64(2+m.tree.kids) * m.stride() / 8 }
func (s *slot) piece(at, n int64) []byte { return s.mem[at : at+n : at+n] }

// arm begins the round of bytes [at, at+n) of o.
func (s *slot) arm(o *operation, at, n int64) error {
	m := s.m
	s.busy, s.stage, s.op, s.at, s.n = true, arriving, o, at, n
	s.answer = sideSelf
	if o.kind == alg.Bcast {
		return s.armBcast(o)
	}
	binary.LittleEndian.PutUint64(s.mem[m.ownAt():], o.header)
	o.pack(at, s.piece(m.ownAt()+headerSize, n))
	// Children first: a combination that is due at once must find the own operand.
	ready := s.upAt + uint64(m.tree.kids)
	var err error
	if o.kind == alg.Allreduce {
		all := ready
		for kid := range m.tree.kids {
			for done := int64(0); done < n; done += m.f.atomicMax {
				if err = s.combine(o, kid, done, min(m.f.atomicMax, n-done), all); err != nil {
					return err
				}
				ready++
			}
		}
	}
	if m.tree.parent < 0 {
		err = s.sendKids(m.ownAt(), n, -1, s.up, ready)
		s.source, s.came, s.cameAt = m.ownAt(), s.up, ready
	} else {
		if m.tree.kids == 0 {
			err = s.send(sideParent, m.ownAt(), n, nil, 0)
		} else {
			err = s.send(sideParent, m.ownAt(), n, s.up, ready)
		}
		if err == nil {
			err = s.sendKids(m.downPlace(), n, -1, s.down, s.downAt+1)
		}
		s.source, s.came, s.cameAt = m.downPlace(), s.down, s.downAt+1
		s.downAt++
	}
	s.upAt = ready
	return err
}

// armBcast is arm of a broadcast.
func (s *slot) armBcast(o *operation) (err error) {
	m := s.m
	from := m.tree.side(o.root)
	switch from {
	case sideSelf:
		s.source, s.came = m.ownAt(), nil
		binary.LittleEndian.PutUint64(s.mem[m.ownAt():], o.header)
		o.pack(s.at, s.piece(m.ownAt()+headerSize, s.n))
	case sideParent:
		s.source, s.came, s.cameAt = m.downPlace(), s.down, s.downAt+1
	default:
		s.source, s.came, s.cameAt = m.landing(from), s.up, s.upAt+1
	}
	s.answer = from
	if from != sideParent && m.tree.parent >= 0 {
		err = s.send(sideParent, s.source, s.n, s.came, s.cameAt)
	}
	if err == nil {
		err = s.sendKids(s.source, s.n, from, s.came, s.cameAt)
	}
	s.upAt += uint64(m.tree.kids)
	if m.tree.parent >= 0 {
		s.downAt++
	}
	return err
}

// combine has n bytes of a child's operand, from done on, combined with the own ones when all children's are there.
func (s *slot) combine(o *operation, kid int, done, n int64, all uint64) error {
	m, t := s.m, &s.m.transfer
	*t = p4.Transfer{Offset: uint64(m.landing(kid) + headerSize + done), Length: uint64(n), Target: m.self.to, PT: ptUp, MatchBits: m.self.bits(s, phaseOwn),
		RemoteOffset: uint64(done)}
	s.sentAt++
	return s.md.TriggeredAtomic(t, o.atomic, o.typ, s.up, all)
}

// sendKids sends to all children but one.
func (s *slot) sendKids(at, n int64, but int, trig *p4.CT, threshold uint64) error {
	for kid := range s.m.tree.kids {
		if kid == but {
			continue
		}
		if err := s.send(kid, at, n, trig, threshold); err != nil {
			return err
		}
	}
	return nil
}

// send sends the message of n bytes that lies at at to a side, when trig reaches threshold, or at once.
func (s *slot) send(side int, at, n int64, trig *p4.CT, threshold uint64) error {
	m, t := s.m, &s.m.transfer
	*t = p4.Transfer{Offset: uint64(at), Length: uint64(headerSize + n)}
	if side == sideParent {
		t.Target, t.PT, t.MatchBits = m.parent.to, ptUp, m.parent.bits(s, phaseUp)
	} else {
		t.Target, t.PT, t.MatchBits = m.kids[side].to, ptDown, m.kids[side].bits(s, phaseDown)
	}
	s.sentAt++
	if trig == nil {
		return s.md.Put(t)
	}
	return s.md.TriggeredPut(t, trig, threshold)
}

// reached reports whether a count is what it is to be; if not, Reached will be called when it is.
func (s *slot) reached(c *p4.CT, at uint64) bool {
	v, err := c.Get()
	if err == nil && v.Success+v.Failure < at {
		if err = c.OnReach(at, s); err == nil {
			return false
		}
	}
	if err != nil {
		s.m.fail(failure("waiting for counts", err))
		return false
	}
	return true
}

// Reached implements portals4.CTListener.
func (s *slot) Reached(*p4.CT) {
	if s.m.broken == nil {
		s.advance()
	}
}

// advance takes the round as far as it goes.
func (s *slot) advance() {
	m := s.m
	for s.busy && m.broken == nil {
		switch s.stage {
		case arriving:
			if s.came != nil && !s.reached(s.came, s.cameAt) {
				return
			}
			s.deliver()
		case answering:
			if s.answer != sideSelf {
				if !s.reached(s.sent, s.sentAt) {
					return
				}
				if err := s.send(s.answer, m.ownAt(), 0, nil, 0); err != nil {
					m.fail(failure("answering", err))
					return
				}
			}
		case settlingUp:
			if !s.reached(s.up, s.upAt) {
				return
			}
		case settlingDown:
			if !s.reached(s.down, s.downAt) {
				return
			}
		case settlingSent:
			if !s.reached(s.sent, s.sentAt) {
				return
			}
			s.busy = false
			m.pump()
			return
		}
		s.stage++
	}
}

// deliver gives the operation its data.
func (s *slot) deliver() {
	o := s.op
	s.op = nil
	if s.came != nil {
		if h := binary.LittleEndian.Uint64(s.mem[s.source:]); h != o.header {
			o.disagree(h)
		} else {
			o.unpack(s.at, s.piece(s.source+headerSize, s.n))
		}
	}
	if o.left--; o.left == 0 {
		o.end(nil)
	}
}

// bytesOf are words as bytes.
func bytesOf(w []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), len(w)*8)
}
