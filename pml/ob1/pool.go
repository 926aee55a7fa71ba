package ob1

import (
	"math/bits"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
)

// Pools. Everything a message needs comes from a list under the token and goes back to it; requests that users give back outside
// the token come through a Recycler, emptied when the list is.

func (o *module) newSend() *sendReq {
	if o.sends == nil {
		for r := o.sendsBack.TakeAll(); r != nil; {
			next := r.Next()
			o.freeSend(r.Owner.(*sendReq))
			r = next
		}
	}
	s := o.sends
	if s == nil {
		s = new(sendReq)
		s.o, s.Owner, s.Engine = o, s, o.engine
		s.frag.Owner = s
	} else {
		o.sends = s.link
	}
	o.nFree.sends++
	return s
}

func (o *module) freeSend(s *sendReq) {
	s.Buf = core.Buffer{}
	s.peer, s.ch = nil, nil
	s.frag.Data, s.frag.Conv = nil, nil
	s.link = o.sends
	o.sends = s
	o.nFree.sends--
}

func (o *module) newRecv() *recvReq {
	if o.recvs == nil {
		for r := o.recvsBack.TakeAll(); r != nil; {
			next := r.Next()
			o.freeRecv(r.Owner.(*recvReq))
			r = next
		}
	}
	r := o.recvs
	if r == nil {
		r = new(recvReq)
		r.o, r.Owner, r.Engine = o, r, o.engine
	} else {
		o.recvs = r.link
	}
	o.nFree.recvs++
	return r
}

func (o *module) freeRecv(r *recvReq) {
	r.Buf = core.Buffer{}
	r.ch = nil
	r.link = o.recvs
	o.recvs = r
	o.nFree.recvs--
}

// message is one that came before it could be delivered: unexpected, out of sequence, or of an unknown communicator.
type message struct {
	at      [4]entry // exact, all, and the two half wildcards
	next    *message // pool, held list
	frame   uint8    // frame type
	flags   uint8
	seq     uint16
	source  int32 // rank in the communicator
	tag     int32
	from    int   // job rank
	length  int64 // of the whole message
	sendID  uint64
	handle  btl.MemHandle
	payload []byte // what came with the header
	class   int    // of payload's memory
	ch      *channel
}

func (o *module) newMsg(payload []byte) *message {
	s := o.msgs
	if s == nil {
		s = new(message)
	} else {
		o.msgs = s.next
		s.next = nil
	}
	s.payload, s.class = o.payloads.copyOf(payload)
	o.nFree.msgs++
	return s
}

func (o *module) freeMsg(s *message) {
	o.payloads.give(s.payload, s.class)
	*s = message{next: o.msgs}
	o.msgs = s
	o.nFree.msgs--
}

// payloadPool keeps the memory of messages by size, in powers of two.
type payloadPool struct {
	free [40][][]byte
	held int64
}

const (
	payloadMin  = 6        // 64 bytes
	payloadKeep = 16 << 20 // bytes kept for reuse; the rest goes to the collector
)

func (p *payloadPool) copyOf(b []byte) ([]byte, int) {
	if len(b) == 0 {
		return nil, -1
	}
	class := max(payloadMin, bits.Len(uint(len(b)-1)))
	var mem []byte
	if l := p.free[class]; len(l) > 0 {
		mem = l[len(l)-1]
		p.free[class] = l[:len(l)-1]
		p.held -= 1 << class
	} else {
		mem = make([]byte, 1<<class)
	}
	mem = mem[:len(b)]
	copy(mem, b)
	return mem, class
}

func (p *payloadPool) give(mem []byte, class int) {
	if class < 0 || p.held+1<<class > payloadKeep {
		return
	}
	p.held += 1 << class
	p.free[class] = append(p.free[class], mem[:1<<class])
}

// idTable gives requests the names by which peers speak of them: index and generation.
type idTable struct {
	slots []idSlot
	free  []uint32
	live  int
}

type idSlot struct {
	gen  uint32
	send *sendReq
	recv *recvReq
}

func (t *idTable) init() {}

func (t *idTable) add(s *sendReq, r *recvReq) uint64 {
	var i uint32
	if n := len(t.free); n > 0 {
		i = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		i = uint32(len(t.slots))
		t.slots = append(t.slots, idSlot{})
	}
	x := &t.slots[i]
	x.gen++
	x.send, x.recv = s, r
	t.live++
	return uint64(i)<<32 | uint64(x.gen)
}

func (t *idTable) find(id uint64) *idSlot {
	i := id >> 32
	if i >= uint64(len(t.slots)) || t.slots[i].gen != uint32(id) {
		return nil
	}
	return &t.slots[i]
}

func (t *idTable) send(id uint64) *sendReq {
	if x := t.find(id); x != nil {
		return x.send
	}
	return nil
}

func (t *idTable) recv(id uint64) *recvReq {
	if x := t.find(id); x != nil {
		return x.recv
	}
	return nil
}

func (t *idTable) remove(id uint64) {
	x := t.find(id)
	if x == nil || (x.send == nil && x.recv == nil) {
		return
	}
	x.send, x.recv = nil, nil
	t.free = append(t.free, uint32(id>>32))
	t.live--
}
