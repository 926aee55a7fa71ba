package sm

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/ompi-go/ompi-go/shm"
)

const line = 64

// A box is the memory of one ring, written by one rank and read by another:
//
//	line 0        geometry: slots u32, data u32            producer, once
//	line 1        head u32: slots consumed                 consumer, now and then
//	line 2…       slots, one line each                     producer
//	then          data area                                producer
//	then          boards, one line each                    both, see coop.go
//
// A slot:
//
//	 0        8                                            64
//	+--------+----------------------------------------------+
//	| word   | header, then payload: 56 bytes together       |   small
//	+--------+--------------------------------+------+------+
//	| word   | header: at most 40 bytes       | pos  | len  |   payload in the data area
//	+--------+-------------------------+------+------+------+
//	| word   | header: at most 32      | total| pos  | len  |   first len of total bytes there
//	+--------+-------------------------+------+------+------+
//	| word   |                                       | len  |   len more of them
//	+--------+---------------------------------------+------+
//	| word   |                                | pos  | len  |   header, then payload in the data area
//	+--------+--------------------------------+------+------+
//
// word, written last: sequence u32 | tag u8 | header length u8 | payload length u8 | kind u8. A slot is full when its sequence is
// the position that the consumer awaits, plus one.
const (
	slotRoom   = line - 8
	dataHdrMax = 40
	totalAt    = 40
	posAt      = 48
	lenAt      = 56

	streamHdrMax = 32

	kindSmall  = 0
	kindData   = 1
	kindStream = 2
	kindMore   = 3
	kindLong   = 4
	kindHelp   = 5 // a request, see coop.go
)

type geometry struct{ slots, data uint32 }

func (g geometry) boxSize() int64 { return int64(2+g.slots)*line + int64(g.data) + boardsSize }

func (g geometry) valid() error {
	if g.slots < 8 || g.slots > 1<<16 || g.slots&(g.slots-1) != 0 || g.data < line || g.data > 1<<30 || g.data%line != 0 {
		return fmt.Errorf("a ring of %d slots and %d data bytes is not possible", g.slots, g.data)
	}
	return nil
}

func word(pos uint32, tag uint8, hdr, n, kind int) uint64 {
	return uint64(pos+1) | uint64(tag)<<32 | uint64(hdr)<<40 | uint64(n)<<48 | uint64(kind)<<56
}

// producer is the sending end. All its fields are the sender's own; the consumer's head is read only when the ring looks full.
type producer struct {
	box   unsafe.Pointer
	slots unsafe.Pointer
	data  unsafe.Pointer
	mask  uint32
	pos   uint32 // next slot
	limit uint32 // slots up to here (exclusive) are known to be free: pos <= limit <= head+len
	size  uint32

	tail uint64   // data bytes ever taken, gaps included
	free uint64   // data bytes ever given back: tail-free <= size
	ends []uint64 // tail behind each slot's data, by slot
	head uint32   // head as last read
	bad  bool     // the consumer wrote nonsense: nothing more goes this way
}

func (p *producer) init(box unsafe.Pointer, g geometry) {
	*p = producer{box: box, slots: unsafe.Add(box, 2*line), mask: g.slots - 1, size: g.data, ends: make([]uint64, g.slots), limit: g.slots}
	p.data = unsafe.Add(p.slots, int64(g.slots)*line)
	*(*uint32)(box) = g.slots
	*(*uint32)(unsafe.Add(box, 4)) = g.data
}

// room reports whether a slot is free, looking at the consumer's head if need be.
func (p *producer) room() bool {
	if p.pos != p.limit {
		return true
	}
	return p.refresh()
}

func (p *producer) refresh() bool {
	head := (*atomic.Uint32)(unsafe.Add(p.box, line)).Load()
	if head-p.head > p.pos-p.head {
		p.bad = true // it went back, or beyond what was written: never overwrite what the peer has not read
		return false
	}
	for h := p.head; h != head; h++ {
		p.free = p.ends[h&p.mask]
	}
	p.head = head
	p.limit = head + p.mask + 1
	return p.pos != p.limit
}

func (p *producer) slot() unsafe.Pointer {
	return unsafe.Add(p.slots, uintptr(p.pos&p.mask)*line)
}

// reserve finds n bytes in one piece of the data area; ok is false when there is no room now.
func (p *producer) reserve(n uint32) (off uint32, end uint64, ok bool) {
	need := uint64(n+line-1) &^ (line - 1)
	start := p.tail
	off = uint32(start % uint64(p.size))
	if uint64(off)+need > uint64(p.size) {
		start += uint64(p.size - off)
		off = 0
	}
	end = start + need
	if end-p.free > uint64(p.size) {
		p.refresh()
		if end-p.free > uint64(p.size) {
			return 0, 0, false
		}
	}
	return off, end, true
}

// commit publishes the slot at pos.
func (p *producer) commit(slot unsafe.Pointer, w uint64, end uint64) {
	p.ends[p.pos&p.mask] = end
	p.tail = end
	p.pos++
	publish((*uint64)(slot), w, unsafe.Add(p.slots, uintptr((p.pos+2)&p.mask)*line))
}

// consumer is the receiving end.
type consumer struct {
	box      unsafe.Pointer
	slots    unsafe.Pointer
	data     unsafe.Pointer
	mask     uint32
	pos      uint32
	told     uint32 // head as last published
	size     uint32
	owed     uint32 // data bytes consumed since
	peer     int
	rank     *shm.Peer // the same, once it has asked for help
	unmapped int       // times that its memory could not be mapped for that
	st       stream    // the payload that is being read
}

func (c *consumer) init(box unsafe.Pointer, g geometry, peer int) {
	*c = consumer{box: box, slots: unsafe.Add(box, 2*line), mask: g.slots - 1, size: g.data, peer: peer}
	c.data = unsafe.Add(c.slots, int64(g.slots)*line)
}

// peek is the word of the next slot if that is full.
func (c *consumer) peek() (unsafe.Pointer, uint64, bool) {
	slot := unsafe.Add(c.slots, uintptr(c.pos&c.mask)*line)
	w := atomic.LoadUint64((*uint64)(slot))
	return slot, w, uint32(w) == c.pos+1
}

// fetchAhead starts loading a slot that will be looked at soon.
func (c *consumer) fetchAhead() {
	prefetch(unsafe.Add(c.slots, uintptr((c.pos+fetchDistance)&c.mask)*line))
}

const fetchDistance = 4

// tell publishes the head.
func (c *consumer) tell() {
	c.told, c.owed = c.pos, 0
	(*atomic.Uint32)(unsafe.Add(c.box, line)).Store(c.pos)
}
