package unimem

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/unimem"
)

// The endpoint's type says what the way to a peer can do: the floor above asks once.
type (
	inlineLink struct{ *link }
	rmaLink    struct{ *link }
	fullLink   struct{ *link }
)

func (l *link) endpoint() btl.Endpoint {
	switch o := &l.m.opt; {
	case o.Inline && o.RMA:
		return fullLink{l}
	case o.Inline:
		return inlineLink{l}
	case o.RMA:
		return rmaLink{l}
	}
	return l
}

// MaxInline implements btl.InlineSender.
func (inlineLink) MaxInline() int { return inlineMost }

// SendInline implements btl.InlineSender.
func (l inlineLink) SendInline(tag btl.Tag, h0, h1 uint64, data unsafe.Pointer, n int) bool {
	return l.sendInline(tag, h0, h1, data, n)
}

// MaxInline implements btl.InlineSender.
func (fullLink) MaxInline() int { return inlineMost }

// SendInline implements btl.InlineSender.
func (l fullLink) SendInline(tag btl.Tag, h0, h1 uint64, data unsafe.Pointer, n int) bool {
	return l.sendInline(tag, h0, h1, data, n)
}

// sendInline sends one or two mailbox messages, or reports that it cannot now.
func (l *link) sendInline(tag btl.Tag, h0, h1 uint64, data unsafe.Pointer, n int) bool {
	count := uint32(1)
	if n > inlineFirst {
		count = 2
	}
	if n > inlineMost || l.dead != nil || !l.ready() || !l.room(count) {
		return false
	}
	var b [32]byte // the first six bytes, two that are none, and the others
	if n > 0 {
		src := unsafe.Slice((*byte)(data), n)
		if k := copy(b[:inlineFirst], src); k < n {
			copy(b[8:], src[k:])
		}
	}
	le := binary.LittleEndian
	l.peer.Out.Put(&unimem.Message{inlineWord(uint8(tag), n, le.Uint64(b[:])), h0, h1})
	if count == 2 {
		l.peer.Out.Put(&unimem.Message{le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint64(b[24:])})
	}
	l.wake()
	return true
}

// ready sends what waits; it reports whether nothing is left of it. Messages go behind it or not at all.
func (l *link) ready() bool {
	if len(l.outbox) > 0 {
		l.post()
	}
	return len(l.outbox) == 0
}

// Send implements btl.Endpoint.
func (l *link) Send(f *btl.Frag) (bool, error) {
	if l.dead != nil {
		return false, l.dead
	}
	n := int64(f.HdrLen) + int64(f.Len)
	if n > l.size {
		return false, fmt.Errorf("btl unimem: a fragment of %d+%d bytes is above btl_unimem_max_send_size", f.HdrLen, f.Len)
	}
	if !l.ready() {
		return false, btl.ErrAgain
	}
	eager := l.m.opt.Eager && n <= int64(l.card.eagerSize)
	if len(l.free) == 0 || (eager && l.credits == 0) {
		return false, btl.ErrAgain
	}
	s := l.take()
	s.tag, s.hdrLen, s.n = uint8(f.Tag), f.HdrLen, n
	done := s.fill(f)
	if eager {
		s.state = slotEager
		s.seq = l.eagerNext
		l.eagerNext++
		l.credits--
		if err := s.write(l.eagerWay, l.eagerBase+int64(s.seq%uint64(l.card.buffers))*int64(l.card.eagerSize)); err != nil {
			s.frag = nil // it is not taken
			l.later(err)
			return false, err
		}
		// What the engine has done at once is over.
		return done || s.frag == nil, nil
	}
	s.state = slotAsked
	l.say(frame{kind: kindRTS, tag: s.tag, hdrLen: s.hdrLen, n: uint32(n), a: uint64(s.id)})
	return done, nil
}

func (l *link) take() *slot {
	k := len(l.free) - 1
	s := &l.slots[l.free[k]]
	l.free = l.free[:k]
	l.busy++
	return s
}

func (l *link) put(s *slot) {
	s.state = slotFree
	l.free = append(l.free, s.id)
	l.busy--
}

// fill copies header and payload into the bounce buffer. It reports false when the payload stays where it is, for the DMA engine to read.
func (s *slot) fill(f *btl.Frag) bool {
	copy(unsafe.Slice((*byte)(s.mem), f.HdrLen), f.Hdr[:f.HdrLen])
	if f.Len == 0 {
		return true
	}
	m := s.l.m
	if f.Data != nil && m.opt.DmableUser {
		if _, ok := m.dev.Dmable(f.Data, int64(f.Len)); ok {
			s.frag = f
			s.body.Local = f.Data
			return false
		}
	}
	room := unsafe.Slice((*byte)(unsafe.Add(s.mem, int(f.HdrLen))), f.Len)
	if f.Data != nil {
		copy(room, unsafe.Slice((*byte)(f.Data), f.Len))
	} else {
		f.Conv.Pack(room)
	}
	return true
}

// write moves the message to off in the peer's memory. It may be over when write returns, and the slot free: then frag is nil.
func (s *slot) write(route unimem.Route, off int64) error {
	head := s.n
	s.left = 1
	if s.frag != nil {
		if head = int64(s.hdrLen); head > 0 {
			s.left = 2
		}
		s.body.Route, s.body.Remote, s.body.N, s.body.Write = route, off+head, s.n-head, true
	}
	s.head.Route, s.head.Local, s.head.Remote, s.head.N, s.head.Write = route, s.mem, off, head, true
	if head > 0 || s.frag == nil {
		if err := s.submit(&s.head); err != nil {
			return err
		}
	}
	if s.frag == nil {
		if s.left == 0 {
			s.finish()
		}
		return nil
	}
	if err := s.submit(&s.body); err != nil {
		return err
	}
	if s.left == 0 {
		s.frag = nil // nobody is told: it is over at once
		s.finish()
	}
	return nil
}

func (s *slot) submit(t *unimem.Transfer) error {
	if t.N == 0 {
		s.left--
		return nil
	}
	done, err := s.l.m.dev.Submit(t)
	if err != nil {
		return fmt.Errorf("btl unimem: writing to rank %d: %w", s.l.proc.Rank, err)
	}
	if done {
		s.left--
	}
	return nil
}

// Transferred implements unimem.Completer.
func (s *slot) Transferred(*unimem.Transfer) {
	if s.left--; s.left > 0 {
		return
	}
	f := s.frag
	s.frag = nil
	s.finish()
	if f != nil {
		f.Owner.FragDone(f, nil)
	}
}

// finish tells the receiver that the message is there.
func (s *slot) finish() {
	l := s.l
	if s.state == slotEager {
		l.say(frame{kind: kindEager, tag: s.tag, hdrLen: s.hdrLen, n: uint32(s.n), a: s.seq})
	} else {
		l.routes.release(&s.way)
		l.say(frame{kind: kindDone, n: s.theirs})
	}
	l.put(s)
}
