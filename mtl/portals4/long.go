package portals4

import (
	"github.com/ompi-go/ompi-go/core"
	ptl "github.com/ompi-go/ompi-go/portals4"
)

// A message is exposed before its put, so that its receiver finds it whatever it does. Only the receiver's process may get it, under a
// key that no other message of this rank to it has, until the send is over.

const exposedOptions = ptl.EventLinkDisable | ptl.EventUnlinkDisable

// expose links what the peer gets the message from, or tells that it has matched.
func (m *module) expose(s *sendReq) *core.Error {
	m.hide(s)
	if s.proto == protoShort && !s.sync {
		return nil
	}
	d := ptl.ME{MatchID: s.p.id, UID: ptl.AnyUID, MatchBits: s.hdr(), Options: exposedOptions}
	if s.proto == protoShort {
		d.Options |= ptl.OpPut | ptl.UseOnce
	} else {
		d.Options |= ptl.OpGet
		d.Start = s.data
	}
	var err error
	if s.entry, err = m.readPT.MEAppend(&d, ptl.PriorityList, s); err != nil {
		return interfaceError("PtlMEAppend", err)
	}
	s.exposed = true
	if s.proto != protoRndv || !m.trig {
		return nil
	}
	d.MatchBits = triggerKey(s.bits)
	d.Options |= ptl.UseOnce
	if s.armed, err = m.flowPT.MEAppend(&d, ptl.PriorityList, s); err != nil {
		return interfaceError("PtlMEAppend", err)
	}
	s.keyed = true
	m.trigs.exposed++
	return nil
}

// openRead prepares the portal table entry read. Its flow control is for the queue of events; that a peer asks for what is not there any more, since
// its sender has given it up, must not set it off: an entry without memory takes that.
func (m *module) openRead() error {
	_, err := m.readPT.MEAppend(&ptl.ME{MatchID: ptl.AnyProcess, UID: ptl.AnyUID, IgnoreBits: ^uint64(0),
		Options: exposedOptions | ptl.OpPut | ptl.OpGet | ptl.EventCommDisable | ptl.UnexpectedHdrDisable}, ptl.OverflowList, nil)
	return err
}

// hide unlinks it. An entry that a get is using stays until that is over, and with it s, since its event will name s and no other message may have its key.
func (m *module) hide(s *sendReq) {
	if s.exposed && !busy(s.entry.Unlink()) {
		s.exposed = false
	}
	if s.keyed && !busy(s.armed.Unlink()) {
		s.keyed = false
		m.trigs.exposed--
	}
}

// busy reports whether an entry could not be unlinked because an operation is under way in it.
func busy(err error) bool {
	e, ok := err.(*ptl.Error)
	return ok && e.Code == ptl.ErrInUse
}

// release pools s, which is over, when nothing refers to it any more.
func (m *module) release(s *sendReq) {
	if !s.flying && !s.exposed && !s.keyed {
		m.freeSend(s)
	}
}

// readEvent is an event of the portal table entry read: a peer has got a part of a message, or tells that it has matched.
func (m *module) readEvent(ev *ptl.Event) {
	if ev.Type == ptl.EventPTDisabled {
		m.reopen = true
		return
	}
	s, ok := ev.UserPtr.(*sendReq)
	flow := ev.PT == m.flowPT.Index()
	if !ok || s.p == nil || !flow && ev.MatchBits != s.hdr() || flow && ev.MatchBits != triggerKey(s.bits) {
		return
	}
	if s.over {
		m.hide(s)
		m.release(s)
		return
	}
	if ev.NIFail != ptl.OK {
		m.endSend(s, m.failure(s.x.ch, s.p, ev.NIFail))
		return
	}
	switch {
	case flow: // the get of an armed receive, or the claim of another
		if s.keyed {
			s.keyed = false
			m.trigs.exposed--
		}
		s.matched = ev.RLength > 0
	case ev.Type == ptl.EventPut:
		s.matched = true
	case ev.Type == ptl.EventGet:
		s.matched = ev.RemoteOffset+ev.RLength == uint64(len(s.data)) // the last part, or the end of one that wants no more
	}
	if s.matched {
		m.endSend(s, nil)
	}
}

// getQueue holds receives whose get waits for a slot, or is to be tried again.
type getQueue struct{ head, tail *recvReq }

func (q *getQueue) add(r *recvReq) {
	r.next = nil
	if q.head == nil {
		q.head = r
	} else {
		q.tail.next = r
	}
	q.tail = r
}

func (m *module) pumpGets() int {
	n := 0
	list := m.gets
	m.gets = getQueue{}
	for q := list.head; q != nil && m.broken == nil; { // if it breaks down, all have ended
		next := q.next
		q.next = nil
		m.fetch(q)
		n++
		q = next
	}
	return n
}

// fetch gets the next part of a message that was not put whole. After the last part wanted, the sender is told by a get up to its end.
func (m *module) fetch(q *recvReq) {
	if q.err != nil {
		m.endRecv(q)
		return
	}
	if m.slots == 0 {
		m.gets.add(q)
		return
	}
	want := min(q.total, len(q.mem))
	from, n := q.got, min(want-q.got, int(m.opt.MaxMsgSize))
	if n == 0 {
		from = q.total
	}
	t := &m.xfer
	*t = ptl.Transfer{Mem: q.mem[q.got : q.got+n], Length: uint64(n), Target: q.p.id, PT: m.readPT.Index(), MatchBits: q.key, RemoteOffset: uint64(from), UserPtr: q}
	m.slots--
	q.asked = n
	q.getting = true
	err := m.md.Get(t)
	t.Mem = nil
	if err != nil {
		m.slots++
		q.getting = false
		q.err = interfaceError("PtlGet", err)
		m.endRecv(q)
		return
	}
}

// replied: a get of q has been answered.
func (m *module) replied(q *recvReq, ev *ptl.Event) {
	if q.ct != nil {
		m.armedReply(q, ev)
		return
	}
	m.slots++
	q.getting = false
	switch {
	case q.err != nil:
	case ev.NIFail == ptl.PTDisabled: // the sender has not looked at its events for long; it opens again
		m.stats.retries++
		m.gets.add(q)
		return
	case ev.NIFail != ptl.OK:
		q.err = m.failure(q.x.ch, q.p, ev.NIFail)
	case ev.List == ptl.OverflowList: // see openRead
		q.err = m.failure(q.x.ch, q.p, ptl.Dropped)
	case ev.MLength != uint64(q.asked):
		q.err = core.NewError(core.ErrIntern, "mtl portals4: rank %d of the job gave %d of %d bytes of a message", q.p.proc.Rank, ev.MLength, q.asked)
	}
	q.got += q.asked
	want := min(q.total, len(q.mem))
	if q.err == nil && (q.got < want || q.got < q.total && q.asked > 0) {
		m.fetch(q)
		return
	}
	m.endRecv(q)
}
