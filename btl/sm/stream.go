package sm

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
)

// Streams. A payload of several kilobytes takes as long to write as to read, and each side waits for lines from the other's
// cache. So it is announced when its first piece is written, and the receiver reads one piece while the sender writes the next:
// straight into the user's buffer when the handler says where the payload belongs (btl.Placer). The pieces of a payload are
// consecutive in the ring and in the data area.

// streamMin is the least payload worth it, and the least piece.
const streamMin = 1024

// piecesMax bounds the slots that one payload takes. It takes no more than half of a ring either: the consumer tells of what it
// has read only now and then, so that a full ring's worth may never look free.
const piecesMax = 8

// piece is how much of n bytes is written between two announcements, in a ring of that many slots.
func piece(n, slots int) int {
	p := (n/min(piecesMax, slots/2) + line) &^ (line - 1)
	return max(p, streamMin)
}

// sendStream writes f in pieces; the ring has a free slot. sent is false when there is no room for all of it.
func (ep *endpoint) sendStream(f *btl.Frag) (sent bool) {
	r := &ep.ring
	step := piece(f.Len, int(r.mask+1))
	slots := uint32((f.Len + step - 1) / step)
	if r.limit-r.pos < slots {
		if r.refresh(); r.limit-r.pos < slots {
			return false
		}
	}
	off, end, ok := r.reserve(uint32(f.Len))
	if !ok {
		return false
	}
	hdr := int(f.HdrLen)
	slot := r.slot()
	copy(unsafe.Slice((*byte)(unsafe.Add(slot, 8)), hdr), f.Hdr[:hdr])
	*(*uint64)(unsafe.Add(slot, totalAt)) = uint64(f.Len)
	*(*uint64)(unsafe.Add(slot, posAt)) = uint64(off)
	dst := unsafe.Slice((*byte)(unsafe.Add(r.data, off)), f.Len)
	kind := kindStream
	for at := 0; at < f.Len; {
		n := min(step, f.Len-at)
		if f.Data != nil {
			copy(dst[at:at+n], unsafe.Slice((*byte)(unsafe.Add(f.Data, at)), n))
		} else {
			f.Conv.Pack(dst[at : at+n])
		}
		at += n
		upTo := r.tail
		if at == f.Len {
			upTo = end
		}
		*(*uint64)(unsafe.Add(slot, lenAt)) = uint64(n)
		r.commit(slot, word(r.pos, uint8(f.Tag), hdr, 0, kind), upTo)
		if kind == kindStream {
			ep.wake()
		}
		kind, hdr = kindMore, 0
		slot = r.slot()
	}
	ep.wake()
	return true
}

// stream is the payload that a consumer is in the middle of.
type stream struct {
	on     bool
	tag    uint8
	hdrLen uint8
	hdr    [streamHdrMax]byte
	data   []byte // all of it in the data area; the first got bytes are written
	got    int
	placed []byte // where it belongs, nil: delivered as a whole in the end
	placer btl.Placer
}

// begin takes the first slot of a stream; it reports false when the slot makes no sense.
func (m *module) begin(c *consumer, slot unsafe.Pointer, tag uint8, hdrLen uintptr) bool {
	total, pos, n := *(*uint64)(unsafe.Add(slot, totalAt)), *(*uint64)(unsafe.Add(slot, posAt)), *(*uint64)(unsafe.Add(slot, lenAt))
	if c.st.on || hdrLen > streamHdrMax || pos >= uint64(c.size) || total > uint64(c.size)-pos || n > total || m.dispatch.Handlers[tag] == nil {
		return false
	}
	s := &c.st
	s.on, s.tag, s.hdrLen, s.got, s.placed = true, tag, uint8(hdrLen), 0, nil
	copy(s.hdr[:hdrLen], unsafe.Slice((*byte)(unsafe.Add(slot, 8)), hdrLen))
	s.data = unsafe.Slice((*byte)(unsafe.Add(c.data, pos)), total)
	if p, ok := m.dispatch.Handlers[tag].(btl.Placer); ok {
		if s.placed = p.Place(c.peer, s.hdr[:hdrLen], int(total)); s.placed != nil {
			s.placer = p
		}
	}
	return m.more(c, n)
}

// more takes n further bytes of a stream.
func (m *module) more(c *consumer, size uint64) bool {
	s := &c.st
	if !s.on || size == 0 || size > uint64(len(s.data)-s.got) {
		return false
	}
	n := int(size)
	if s.placed != nil {
		copy(s.placed[s.got:s.got+n], s.data[s.got:s.got+n])
	}
	if s.got += n; s.got < len(s.data) {
		return true
	}
	s.on = false
	c.owed += uint32(len(s.data))
	hdr := s.hdr[:s.hdrLen]
	if s.placed != nil {
		s.placed = nil
		s.placer.Placed(c.peer, hdr, len(s.data), nil)
	} else {
		m.dispatch.Handlers[s.tag].Receive(c.peer, hdr, s.data)
	}
	s.data = nil
	return true
}

// abort gives up the payload that c is in the middle of: nothing is written to where it belonged any more.
func (c *consumer) abort(err error) {
	s := &c.st
	if !s.on {
		return
	}
	placed := s.placed
	s.on, s.placed, s.data = false, nil, nil
	if placed != nil {
		s.placer.Placed(c.peer, s.hdr[:s.hdrLen], len(placed), err)
	}
}
