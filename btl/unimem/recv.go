package unimem

import (
	"encoding/binary"
	"unsafe"

	"github.com/ompi-go/ompi-go/unimem"
)

// pollBurst bounds how many messages of one peer are handled before the others get a look.
const pollBurst = 64

// drain handles what a peer has sent, up to pollBurst messages.
func (m *module) drain(l *link) int {
	n := 0
	var msg unimem.Message
	for n < pollBurst && l.dead == nil && l.peer.In.Take(&msg) {
		n++
		if !l.handle(&msg) {
			l.fail(l.garbage("sends mailbox messages that make no sense"))
		}
	}
	return n
}

// handle reports false for a message that no peer of ours would send.
func (l *link) handle(msg *unimem.Message) bool {
	if l.partial[0] != 0 {
		first := l.partial
		l.partial = unimem.Message{}
		return l.inline(&first, msg)
	}
	if kindOf(msg) == kindInline {
		if _, n, _ := parseInline(msg[0]); n > inlineFirst {
			l.partial = *msg
			return n <= inlineMost
		}
		return l.inline(msg, &unimem.Message{})
	}
	switch f := parseFrame(msg); f.kind {
	case kindRTS:
		return l.asked(f)
	case kindCTS:
		return l.cleared(f)
	case kindDone:
		return l.arrived(f)
	case kindEager:
		return l.eager(f)
	case kindCredit:
		if int64(f.n) > int64(l.card.buffers)-int64(l.credits) {
			return false
		}
		l.credits += int(f.n)
		return true
	}
	return false
}

// inline delivers a message that came in one or two mailbox messages.
func (l *link) inline(first, second *unimem.Message) bool {
	m := l.m
	tag, n, head := parseInline(first[0])
	le := binary.LittleEndian
	le.PutUint64(m.hdr[:], first[1])
	le.PutUint64(m.hdr[8:], first[2])
	le.PutUint64(m.data[:], head)
	for i, w := range second {
		le.PutUint64(m.data[inlineFirst+8*i:], w)
	}
	return l.deliver(tag, m.hdr[:], m.data[:n])
}

// deliver hands a message to its handler; it reports false when there is none.
func (l *link) deliver(tag uint8, hdr, payload []byte) bool {
	h := l.m.dispatch.Handlers[tag]
	if h == nil {
		return false
	}
	h.Receive(l.proc.Rank, hdr, payload)
	return true
}

// message delivers n bytes of header and payload that lie at off of this rank's dmable memory.
func (l *link) message(tag, hdrLen uint8, off, n int64) bool {
	m := l.m
	b := unsafe.Slice((*byte)(m.dev.At(off)), n)
	if m.opt.Copies == "naive" {
		b = m.am[:copy(m.am, b)]
	}
	return l.deliver(tag, b[:hdrLen], b[hdrLen:])
}

// asked: the peer has a message, and wants a buffer for it.
func (l *link) asked(f frame) bool {
	if f.a >= uint64(len(l.bounce)) || int64(f.n) > l.size || uint32(f.hdrLen) > f.n {
		return false
	}
	for i := range l.bounce {
		b := &l.bounce[i]
		if !b.taken {
			b.taken, b.tag, b.hdrLen, b.n = true, f.tag, f.hdrLen, int64(f.n)
			l.say(frame{kind: kindCTS, n: uint32(i), a: f.a, b: uint64(b.off)})
			return true
		}
	}
	return false // it has asked for more than there are
}

// cleared: the peer says where a message may be written.
func (l *link) cleared(f frame) bool {
	if f.a >= uint64(len(l.slots)) {
		return false
	}
	s := &l.slots[f.a]
	if s.state != slotAsked || f.b > 1<<62 || !l.peer.Has(int64(f.b), s.n) {
		return false
	}
	s.state, s.theirs = slotMoving, f.n
	if s.n == 0 {
		s.finish()
		return true
	}
	var err error
	if s.way, err = l.routes.acquire(int64(f.b), s.n); err == nil {
		frag := s.frag
		if err = s.write(s.way.route, int64(f.b)); err == nil && frag != nil && s.state == slotFree {
			frag.Owner.FragDone(frag, nil)
		}
	}
	if err != nil {
		l.fail(err)
	}
	return true
}

// arrived: the peer has written the message that it had asked for.
func (l *link) arrived(f frame) bool {
	if f.n >= uint32(len(l.bounce)) || !l.bounce[f.n].taken {
		return false
	}
	b := &l.bounce[f.n]
	ok := l.message(b.tag, b.hdrLen, b.off, b.n)
	b.taken = false
	return ok
}

// eager: the peer has written a message into the next of the buffers set aside for it.
func (l *link) eager(f frame) bool {
	m := l.m
	size, buffers := m.opt.eagerBytes(), uint64(m.opt.Buffers)
	if f.a != l.wrote || int64(f.n) > size || uint32(f.hdrLen) > f.n {
		return false
	}
	l.wrote++
	at := m.eagerAt + (int64(l.at)*int64(buffers)+int64(f.a%buffers))*size
	ok := l.message(f.tag, f.hdrLen, at, int64(f.n))
	if l.owed++; ok && l.dead == nil && uint64(l.owed) > buffers/2 {
		l.say(frame{kind: kindCredit, n: l.owed})
		l.owed = 0
	}
	return ok
}
