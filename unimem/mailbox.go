package unimem

import (
	"sync/atomic"
	"unsafe"
)

// Message is what a mailbox carries: 192 bits, seen as a whole or not at all.
type Message [3]uint64

// A mailbox is the memory of one queue, written by one rank and read by another:
//
//	line 0        head u32: messages taken                 receiver, now and then
//	then          slots of 32 bytes: message, sequence     sender
//
// The sequence is written last: a slot is full when it holds the position that the receiver awaits, plus one.
const (
	slotSize = 32
	seqAt    = 24
)

func boxSize(slots uint32) int64 { return line + int64(slots)*slotSize }

func box(base unsafe.Pointer, c Config, position int) unsafe.Pointer {
	return unsafe.Add(base, boxesAt+int64(position)*boxSize(c.Slots))
}

// Sender is the sending end of a queue.
type Sender struct {
	box   unsafe.Pointer
	slots unsafe.Pointer
	mask  uint32
	pos   uint32 // next slot
	head  uint32 // as last read
	limit uint32 // slots up to here (exclusive) are free
	bad   bool   // the receiver says that it has taken what was never sent
}

func (s *Sender) init(box unsafe.Pointer, slots uint32) {
	*s = Sender{box: box, slots: unsafe.Add(box, line), mask: slots - 1, limit: slots}
}

// Room reports whether n more messages can be sent now.
func (s *Sender) Room(n uint32) bool {
	if s.limit-s.pos >= n {
		return !s.bad
	}
	head := (*atomic.Uint32)(s.box).Load()
	if s.bad || head-s.head > s.pos-s.head {
		s.bad = true
		return false
	}
	s.head, s.limit = head, head+s.mask+1
	return s.limit-s.pos >= n
}

// Bad reports whether the receiver has written nonsense into the queue: nothing more goes this way.
func (s *Sender) Bad() bool { return s.bad }

// Put sends m. There is Room.
func (s *Sender) Put(m *Message) {
	slot := unsafe.Add(s.slots, uintptr(s.pos&s.mask)*slotSize)
	*(*Message)(slot) = *m
	s.pos++
	(*atomic.Uint32)(unsafe.Add(slot, seqAt)).Store(s.pos)
}

// Receiver is the receiving end of a queue.
type Receiver struct {
	box   unsafe.Pointer
	slots unsafe.Pointer
	mask  uint32
	pos   uint32
	told  uint32 // head as last written
}

func (r *Receiver) init(box unsafe.Pointer, slots uint32) {
	*r = Receiver{box: box, slots: unsafe.Add(box, line), mask: slots - 1}
}

func (r *Receiver) slot() unsafe.Pointer {
	return unsafe.Add(r.slots, uintptr(r.pos&r.mask)*slotSize)
}

func (r *Receiver) full() bool {
	return (*atomic.Uint32)(unsafe.Add(r.slot(), seqAt)).Load() == r.pos+1
}

// Take copies the next message to m, if there is one.
func (r *Receiver) Take(m *Message) bool {
	slot := r.slot()
	if (*atomic.Uint32)(unsafe.Add(slot, seqAt)).Load() != r.pos+1 {
		return false
	}
	*m = *(*Message)(slot)
	if r.pos++; r.pos-r.told > r.mask>>2 {
		(*atomic.Uint32)(r.box).Store(r.pos)
		r.told = r.pos
	}
	return true
}
