package sm

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/shm"
)

// endpoint is the way to one rank of this host.
type endpoint struct {
	m         *module
	peer      *shm.Peer
	proc      *core.Proc
	ring      producer
	inline    int   // largest inline payload
	noCopy    error // why process_vm_readv is not possible
	unmapped  int   // times that memory of the peer could not be mapped
	noHelp    bool  // the peer cannot copy its part of a Get
	noHelpMap bool  // nor into memory that it could map
	helped    bool  // it did a good part of the last Get that it was asked to
	misses    int   // such Gets in a row of which it did not
	skip      int   // Gets that it is not asked to help with
	pulls     [boards]pull
	dead      error
	report    *progress.Timer // the peer spoiled the ring, and the upper layer is about to hear of it
	fenced    atomic.Uint32   // target of the barrier where membarrier is missing
}

// connect makes the ring and offers it to the peer.
func (ep *endpoint) connect() error {
	m := ep.m
	p, box, err := m.shm.AllocAt(ep.peer, m.geo.boxSize())
	if err != nil {
		return fmt.Errorf("a ring to rank %d: %w", ep.proc.Rank, err)
	}
	ep.ring.init(box, m.geo)
	ep.initBoards()
	m.shm.Offer(ep.peer, p)
	return nil
}

// ready tells whether the ring has a free slot.
func (ep *endpoint) ready() error {
	if ep.ring.box == nil {
		if ep.dead != nil {
			return ep.dead
		}
		return btl.ErrAgain // it had ended before there was a ring: the next Poll says so
	}
	if !ep.ring.room() {
		return ep.full()
	}
	return nil
}

// full is why nothing can be taken: no room now, or never again.
func (ep *endpoint) full() error {
	switch {
	case ep.dead != nil:
		return ep.dead
	case ep.ring.bad:
		if ep.report == nil { // not from inside Send
			ep.report = ep.m.engine.AddTimer(0, ep)
		}
		return ep.m.garbage(ep.proc.Rank)
	}
	return btl.ErrAgain
}

// Expired is the timer's call.
func (ep *endpoint) Expired() {
	ep.dead = ep.m.garbage(ep.proc.Rank)
	ep.m.env.Upcalls.EndpointFailed(ep.m, ep.proc, true, ep.dead)
}

// ring the peer if it sleeps. Its flag is read after the slot was written: where the reader of the flag cannot be sure that the
// sleeper sees the slot, a barrier goes between.
func (ep *endpoint) wake() {
	if ep.m.fence {
		ep.fenced.Add(1)
	}
	ep.m.shm.Ring(ep.peer)
}

// MaxInline implements btl.InlineSender.
func (ep *endpoint) MaxInline() int { return ep.inline }

// SendInline implements btl.InlineSender.
func (ep *endpoint) SendInline(tag btl.Tag, h0, h1 uint64, data unsafe.Pointer, n int) bool {
	r := &ep.ring
	if n > ep.inline || (r.pos == r.limit && ep.ready() != nil) {
		return false
	}
	slot := r.slot()
	*(*uint64)(unsafe.Add(slot, 8)) = h0
	*(*uint64)(unsafe.Add(slot, 16)) = h1
	if n <= slotRoom-btl.InlineHeader {
		switch n {
		case 0:
		case 8:
			*(*uint64)(unsafe.Add(slot, 24)) = *(*uint64)(data)
		case 4:
			*(*uint32)(unsafe.Add(slot, 24)) = *(*uint32)(data)
		case 16:
			*(*uint64)(unsafe.Add(slot, 24)) = *(*uint64)(data) // as it was written: a wider look waits until that is done
			*(*uint64)(unsafe.Add(slot, 32)) = *(*uint64)(unsafe.Add(data, 8))
		default:
			copy(unsafe.Slice((*byte)(unsafe.Add(slot, 24)), n), unsafe.Slice((*byte)(data), n))
		}
		r.commit(slot, word(r.pos, uint8(tag), btl.InlineHeader, n, kindSmall), r.tail)
		ep.wake()
		return true
	}
	off, end, ok := r.reserve(uint32(n))
	if !ok {
		return false
	}
	copy(unsafe.Slice((*byte)(unsafe.Add(r.data, off)), n), unsafe.Slice((*byte)(data), n))
	*(*uint64)(unsafe.Add(slot, posAt)) = uint64(off)
	*(*uint64)(unsafe.Add(slot, lenAt)) = uint64(n)
	r.commit(slot, word(r.pos, uint8(tag), btl.InlineHeader, 0, kindData), end)
	ep.wake()
	return true
}

// Send implements btl.Endpoint: it copies at once or takes nothing.
func (ep *endpoint) Send(f *btl.Frag) (bool, error) {
	if err := ep.ready(); err != nil {
		return false, err
	}
	r := &ep.ring
	hdr := int(f.HdrLen)
	slot := r.slot()
	if hdr+f.Len <= slotRoom {
		copy(unsafe.Slice((*byte)(unsafe.Add(slot, 8)), hdr), f.Hdr[:hdr])
		fill(f, unsafe.Add(slot, 8+hdr))
		r.commit(slot, word(r.pos, uint8(f.Tag), hdr, f.Len, kindSmall), r.tail)
		ep.wake()
		return true, nil
	}
	kind, at, n := kindData, unsafe.Add(slot, 8), f.Len
	if hdr > dataHdrMax {
		kind, n = kindLong, hdr+f.Len
	}
	if uint64(n) > uint64(r.size) {
		return false, fmt.Errorf("btl sm: a fragment of %d+%d bytes is above btl_sm_max_send_size", hdr, f.Len)
	}
	if f.Len > streamMin && hdr <= streamHdrMax {
		if !ep.sendStream(f) {
			return false, ep.full()
		}
		return true, nil
	}
	off, end, ok := r.reserve(uint32(n))
	if !ok {
		return false, ep.full()
	}
	data := unsafe.Add(r.data, off)
	if kind == kindLong {
		at, data = data, unsafe.Add(data, hdr)
	}
	copy(unsafe.Slice((*byte)(at), hdr), f.Hdr[:hdr])
	fill(f, data)
	*(*uint64)(unsafe.Add(slot, posAt)) = uint64(off)
	*(*uint64)(unsafe.Add(slot, lenAt)) = uint64(n)
	r.commit(slot, word(r.pos, uint8(f.Tag), hdr, 0, kind), end)
	ep.wake()
	return true, nil
}

// fill copies or packs the fragment's payload to dst.
func fill(f *btl.Frag, dst unsafe.Pointer) {
	if f.Len == 0 {
		return
	}
	to := unsafe.Slice((*byte)(dst), f.Len)
	if f.Data != nil {
		copy(to, unsafe.Slice((*byte)(f.Data), f.Len))
		return
	}
	f.Conv.Pack(to)
}
