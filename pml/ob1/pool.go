package ob1

import (
	"math/bits"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/internal/invariants"
)

// Pools. Everything a message needs comes from a list under the token and goes back to it. A request that a user holds is given
// back outside the token, by a change of its generation alone: it stands in a list of those that are out, and is found there
// when the pool is empty.

// lookAtMost bounds how many requests that are out are looked at before a new one is made. Those still in use go to the end, so
// the pool exceeds what is in use by a sixteenth at most.
const lookAtMost = 16

// sendList is a first-in first-out list of sends.
type sendList struct{ head, tail *sendReq }

func (l *sendList) push(s *sendReq) {
	s.link = nil
	if l.tail == nil {
		l.head = s
	} else {
		l.tail.link = s
	}
	l.tail = s
}

func (l *sendList) pop() *sendReq {
	s := l.head
	if s != nil {
		if l.head = s.link; l.head == nil {
			l.tail = nil
		}
	}
	return s
}

func (o *module) newSend() *sendReq {
	s := o.sends
	if s == nil {
		s = o.findSend()
	} else {
		o.sends = s.link
	}
	return s
}

// findSend looks for sends that users have given back.
func (o *module) findSend() *sendReq {
	for range lookAtMost {
		s := o.sendsOut.pop()
		if s == nil {
			break
		}
		if !s.Retired() {
			o.sendsOut.push(s)
			continue
		}
		o.freeSend(s)
	}
	if s := o.sends; s != nil {
		o.sends = s.link
		return s
	}
	s := new(sendReq)
	s.o, s.Owner, s.Engine = o, s, o.engine
	s.frag.Owner = s
	return s
}

// forget lets go of what a send that is over refers to.
func (s *sendReq) forget() {
	s.Buf = core.Buffer{}
	s.peer, s.path, s.via = nil, nil, nil
	s.frag.Data, s.frag.Conv = nil, nil
}

func (o *module) freeSend(s *sendReq) {
	s.forget()
	s.link = o.sends
	o.sends = s
}

// recvList is a first-in first-out list of receives.
type recvList struct{ head, tail *recvReq }

func (l *recvList) push(r *recvReq) {
	r.link = nil
	if l.tail == nil {
		l.head = r
	} else {
		l.tail.link = r
	}
	l.tail = r
}

func (l *recvList) pop() *recvReq {
	r := l.head
	if r != nil {
		if l.head = r.link; l.head == nil {
			l.tail = nil
		}
	}
	return r
}

func (o *module) newRecv() *recvReq {
	r := o.recvs
	if r == nil {
		r = o.findRecv()
	} else {
		o.recvs = r.link
	}
	return r
}

// findRecv looks for a receive that its user has given back.
func (o *module) findRecv() *recvReq {
	for range lookAtMost {
		r := o.recvsOut.pop()
		if r == nil {
			break
		}
		if r.Retired() {
			return r // in whose place another stands at once: nothing of it needs to be forgotten
		}
		o.recvsOut.push(r)
	}
	r := new(recvReq)
	r.o, r.Owner, r.Engine = o, r, o.engine
	return r
}

func (o *module) freeRecv(r *recvReq) {
	r.Buf = core.Buffer{}
	r.link = o.recvs
	o.recvs = r
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
	ext     ext
	payload []byte // what came with the header
	class   int    // of payload's memory
	came    arrival
	cost    int64 // see costOf
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
	o.tr.transferEnd(s.came.mark)
	o.credit.drop(s)
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
	if invariants.On {
		invariants.Poison(mem)
	}
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
	if x.gen++; x.gen == 0 {
		x.gen = 1 // so that no id is 0, which means none
	}
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
