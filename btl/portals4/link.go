package portals4

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/portals4"
)

// link is the way to a peer, and what is known of it as a sender.
type link struct {
	m      *module
	proc   *core.Proc
	target portals4.Process
	dead   error
	cause  error // why the interface cannot reach it, until that is told
	slots  int   // in use

	// What may be sent to the peer.
	room  int64 // bytes
	count int   // messages
	asked bool

	// What may come from it, and what of it was delivered but not given back yet.
	granted bool
	window  int64
	windowN int
	expect  int64
	expectN int
	done    int64
	doneN   int
	owes    bool // it is among the debtors
}

// link gives the link to a rank, making it when there is none.
func (m *module) link(rank int) *link {
	l := m.links[rank]
	if l == nil {
		l = &link{m: m, proc: m.env.Procs[rank], target: m.ni.ProcessOf(rank)}
		m.links[rank] = l
	}
	return l
}

// fail gives the peer up. What it had completed here may not have come, so the process counts as failed. Not from inside Send.
func (l *link) fail(cause error) {
	if l.dead != nil {
		return
	}
	l.dead = fmt.Errorf("btl portals4: rank %d: %w", l.proc.Rank, cause)
	l.m.slots.giveBack(l, l.dead)
	l.m.pending.giveBack(l, l.dead)
	l.m.env.Upcalls.EndpointFailed(l.m, l.proc, true, l.dead)
}

// lost has the peer given up in the next pass: not from inside Send.
func (l *link) lost(cause error) {
	if l.cause == nil {
		l.cause = cause
		l.m.failing = append(l.m.failing, l)
		l.m.later()
	}
}

// put sends a message of these bytes from md.
func (l *link) put(md *portals4.MDHandle, w words, mem []byte, user any) error {
	x := &l.m.x
	x.Mem, x.Length, x.Ack, x.Target, x.PT = mem, uint64(len(mem)), portals4.NoAck, l.target, l.m.amIndex
	x.MatchBits, x.HdrData, x.RemoteOffset, x.UserPtr = w.match, w.data, w.meta, user
	err := md.Put(x)
	x.Mem, x.UserPtr = nil, nil
	if err == nil {
		return nil
	}
	if errors.Is(err, portals4.ErrNoSpace) {
		return btl.ErrAgain
	}
	l.lost(err)
	return fmt.Errorf("btl portals4: rank %d: %w", l.proc.Rank, err)
}

// Send implements btl.Endpoint.
func (l *link) Send(f *btl.Frag) (bool, error) {
	m := l.m
	if l.dead != nil {
		return false, l.dead
	}
	w, rest := pack(f.Tag, &f.Hdr, int(f.HdrLen))
	n := len(rest) + f.Len
	switch {
	case int64(n) > m.most:
		return false, fmt.Errorf("btl portals4: a fragment of %d+%d bytes is above btl_portals4_max_send_size", f.HdrLen, f.Len)
	case !l.mayTake(n):
		return false, btl.ErrAgain
	case n <= m.volatile:
		mem := m.scratch[:n]
		if len(rest) == 0 && (f.Data != nil || n == 0) {
			mem = unsafe.Slice((*byte)(f.Data), n)
		} else if at, ok := l.assemble(mem, rest, f); !ok {
			f.Conv.SetPosition(at)
			return false, errShort
		}
		if err := l.put(m.quick, w, mem, nil); err != nil {
			return false, err
		}
		l.took(n)
		return true, nil
	}
	s := m.slots.take(l)
	if s == nil {
		return false, btl.ErrAgain
	}
	direct := len(rest) == 0 && f.Data != nil && int64(n) > m.opt.CopyLimit
	var mem []byte
	at := int64(0)
	if direct {
		s.f, mem = f, unsafe.Slice((*byte)(f.Data), n)
	} else {
		mem = s.memory(n)
		var ok bool
		if at, ok = l.assemble(mem, rest, f); !ok {
			m.slots.put(s)
			f.Conv.SetPosition(at)
			return false, errShort
		}
	}
	if err := l.put(m.fromSlot, w, mem, s); err != nil {
		if f.Data == nil && f.Len > 0 {
			f.Conv.SetPosition(at) // nothing was taken
		}
		m.slots.put(s)
		return false, err
	}
	l.took(n)
	return !direct, nil
}

var errShort = errors.New("btl portals4: the convertor has less than the fragment's length")

// assemble copies what goes in front, and the payload, behind each other. at is where the convertor stood.
func (l *link) assemble(mem, rest []byte, f *btl.Frag) (at int64, ok bool) {
	payload := mem[copy(mem, rest):]
	switch {
	case f.Data != nil:
		copy(payload, unsafe.Slice((*byte)(f.Data), f.Len))
	case f.Len > 0:
		at = f.Conv.Position()
		return at, f.Conv.Pack(payload) == len(payload)
	}
	return at, true
}

// MaxInline implements btl.InlineSender.
func (l *link) MaxInline() int { return int(l.m.opt.Inline) }

// SendInline implements btl.InlineSender: one put, of bytes that the interface copies at once.
func (l *link) SendInline(tag btl.Tag, h0, h1 uint64, data unsafe.Pointer, n int) bool {
	m := l.m
	if int64(n) > m.opt.Inline || l.dead != nil || !l.mayTake(n) {
		return false
	}
	mem, w := unsafe.Slice((*byte)(data), n), words{metaWord(kindPlain, tag, plainHeader), h0, h1}
	if n <= m.volatile {
		if l.put(m.quick, w, mem, nil) != nil {
			return false
		}
		l.took(n)
		return true
	}
	s := m.slots.take(l)
	if s == nil {
		return false
	}
	copied := s.memory(n)
	copy(copied, mem)
	if l.put(m.fromSlot, w, copied, s) != nil {
		m.slots.put(s)
		return false
	}
	l.took(n)
	return true
}

// slot is a fragment on its way out: the sender's, until its SEND event, or a copy.
type slot struct {
	l    *link
	f    *btl.Frag // nil: the sender has gone on
	copy []byte
	most int
	next *slot
}

// memory is n bytes for a copy. Most slots never need more than a little.
func (s *slot) memory(n int) []byte {
	if cap(s.copy) < n {
		s.copy = make([]byte, min(max(n, 4<<10, 2*cap(s.copy)), s.most))
	}
	return s.copy[:n]
}

// freeSlots are the slots of a module.
type freeSlots struct {
	all  []slot
	free *slot
	used int
	each int // that one peer may have: one that does not listen is not to keep others from being sent to
}

func (q *freeSlots) init(n, most int) {
	q.all, q.each = make([]slot, n), max(n/2, 1)
	for i := range q.all {
		q.all[i].most = most
		q.all[i].next, q.free = q.free, &q.all[i]
	}
}

func (q *freeSlots) take(l *link) *slot {
	s := q.free
	if s == nil || l.slots == q.each {
		return nil
	}
	q.free, s.next, s.l = s.next, nil, l
	q.used++
	l.slots++
	return s
}

func (q *freeSlots) put(s *slot) {
	s.l.slots--
	q.used--
	s.l, s.f, s.next = nil, nil, q.free
	q.free = s
}

// giveBack gives the fragments to a peer, or to all, back to their owners. The slots stay in use until their events come.
func (q *freeSlots) giveBack(l *link, err error) {
	for i := range q.all {
		if s := &q.all[i]; s.f != nil && (l == nil || s.l == l) {
			f := s.f
			s.f = nil
			f.Owner.FragDone(f, err)
		}
	}
}

// reclaim frees the slots of a peer of which no event comes any more.
func (q *freeSlots) reclaim(l *link) {
	for i := range q.all {
		if s := &q.all[i]; s.l == l {
			q.put(s)
		}
	}
}

// sent: a SEND event, successful or not.
func (m *module) sent(s *slot, ev *portals4.Event) {
	f, l := s.f, s.l
	m.slots.put(s)
	if f == nil {
		return
	}
	var err error
	if ev.NIFail != portals4.OK {
		err = fmt.Errorf("btl portals4: a message to rank %d: %v", l.proc.Rank, ev.NIFail)
	}
	f.Owner.FragDone(f, err)
}

// What the component offers beyond the contract.
var (
	_ btl.InlineSender = (*link)(nil)
	_ btl.Getter       = (*link)(nil)
	_ btl.Putter       = (*link)(nil)
	_ btl.Atomics      = (*link)(nil)
	_ btl.Registrar    = (*module)(nil)
)
