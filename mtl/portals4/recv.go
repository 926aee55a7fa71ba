package portals4

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mtl"
	ptl "github.com/ompi-go/ompi-go/portals4"
)

// recvReq is a receive.
type recvReq struct {
	r    *mtl.Request
	x    *channel
	mem  []byte  // where the message goes
	buf  *buffer // where mem lies, if it is not the user's memory: packed data
	conv datatype.Convertor

	entry  ptl.Entry
	posted bool  // entry is linked, as far as is known
	from   *peer // whom the receive names; nil: anybody
	err    *core.Error

	p       *peer // the sender, once matched
	source  int
	tag     int
	total   int    // length of the message
	got     int    // bytes in mem
	asked   int    // by the get under way
	key     uint64 // of the rest
	getting bool   // a get is under way, or waits for a slot
	counted bool   // in channel.unarmed

	ct      *ptl.CT // armed: see triggered.go
	put     bool    // its first part has come
	replied bool    // its second part
	fail    ptl.FailType

	at   int // in module.recvs
	next *recvReq
}

const recvOptions = ptl.OpPut | ptl.UseOnce | ptl.EventLinkDisable | ptl.EventUnlinkDisable

// Recv implements mtl.Module.
func (m *module) Recv(r *mtl.Request) {
	x := m.chans[r.Ch.ID]
	bits, ignore, ok := m.split.pattern(r.Ch.ID, r.Peer, r.Tag)
	var p *peer
	id := ptl.AnyProcess
	if r.Peer != core.AnySource {
		p = m.peerOf(r.Ch, r.Peer)
		id = p.id
	}
	err := m.refusal(r.Ch, x, nil)
	if !ok {
		err = m.split.tagError(r.Tag)
	}
	if err != nil {
		r.Owner.Done(r, core.EmptyStatus(), err)
		return
	}
	q := m.newRecv(r, x)
	q.from = p
	var d ptl.ME // by fields: put together elsewhere and copied, its words would be read wider than they were written, which the processor waits for
	d.Start, d.UID, d.Options = q.mem, ptl.AnyUID, recvOptions
	d.MatchID, d.MatchBits, d.IgnoreBits = id, bits, ignore
	if m.trig {
		m.arm(q, &d)
	}
	m.post(q)
	var e error
	if q.entry, e = m.recvPT.MEAppend(&d, ptl.PriorityList, q); e != nil {
		m.unpost(q)
		q.err = interfaceError("PtlMEAppend", e)
		m.endRecv(q)
		return
	}
	m.settle()
	if m.credit.begged > 0 && r.Priv == q && q.posted {
		m.credit.missed(m, p)
	}
}

// newRecv makes a receive and its memory.
func (m *module) newRecv(r *mtl.Request, x *channel) *recvReq {
	q := m.free.recvs
	if q == nil {
		q = new(recvReq)
	} else {
		m.free.recvs = q.next
		q.next = nil
	}
	q.r, q.x = r, x
	r.Priv = q
	mem, whole := block(r.Buf, &q.conv)
	if !whole {
		n := r.Buf.Bytes()
		q.buf = m.pools.get(int(n))
		mem = q.buf.mem[:n]
	}
	q.mem = mem
	q.at = len(m.recvs)
	m.recvs = append(m.recvs, q)
	return q
}

// post and unpost count the receives that wait, for those who lend credit.
func (m *module) post(q *recvReq) {
	q.posted = true
	m.credit.post(q.from)
}

func (m *module) unpost(q *recvReq) {
	if q.posted {
		q.posted = false
		m.credit.unpost(q.from)
	}
}

func (q *recvReq) uncount() {
	if q.counted {
		q.counted = false
		q.x.unarmed--
	}
}

// arrival is what the match bits and hdr_data of an event say.
type arrival struct {
	source, tag, total int
	p                  *peer
	proto              uint64
}

// arrived reads an event of a message into a, and reports whether it is what it says. It gives back what the message has cost of its sender's credit.
func (m *module) arrived(x *channel, ev *ptl.Event, a *arrival) bool {
	a.source, a.tag = m.split.sourceOf(ev.MatchBits), m.split.tagOf(ev.MatchBits)
	a.total, a.proto = lengthOf(ev.HdrData), protoOf(ev.MatchBits)
	whole := ev.RLength == uint64(a.total)
	if a.source >= len(x.ch.Comm.Procs) || !whole && (a.proto == protoShort || ev.RLength > uint64(a.total)) {
		m.stats.refused++
		return false
	}
	a.p = m.peerOf(x.ch, a.source)
	if ev.Initiator != a.p.id { // a receive from anybody matches whoever says that he is somebody
		m.stats.refused++
		return false
	}
	m.credit.came(m, a.p, a.proto, ev)
	return true
}

// matched: a message was put into q's memory, or had been put into the overflow list before.
func (m *module) matched(q *recvReq, ev *ptl.Event) {
	m.unpost(q)
	var a arrival
	if !m.arrived(q.x, ev, &a) {
		q.err = core.NewError(core.ErrIntern, "mtl portals4: a message that is not what it says: from rank %d of the communicator, %d bytes", a.source, a.total)
		m.endRecv(q)
		return
	}
	q.p, q.source, q.tag, q.total = a.p, a.source, a.tag, a.total
	if t := q.r.Tag; t != core.AnyTag {
		q.tag = t
	}
	if ev.NIFail != ptl.OK && q.err == nil {
		q.err = m.failure(q.x.ch, q.p, ev.NIFail)
	}
	late := ev.Type == ptl.EventPutOverflow
	m.stats.received(a.proto, late)
	fired := q.ct != nil && m.fired(ev) || q.replied
	if !fired {
		m.disarm(q)
		if m.trig && a.proto == protoRndv {
			m.claim(q.x, a.p, ev.MatchBits)
		}
		q.uncount()
	}
	if q.err != nil && !fired {
		m.endRecv(q)
		return
	}
	q.got = int(ev.MLength)
	if late {
		q.got = copy(q.mem, ev.Start)
		if a.proto == protoShort && ev.HdrData&hdrSync != 0 {
			m.tell(a.p, ev.HdrData)
		}
		m.stats.wasted += ev.RLength - ev.MLength
	}
	if fired {
		m.armedPut(q)
		return
	}
	if a.proto == protoShort || !late && ev.RLength == uint64(a.total) {
		m.endRecv(q)
		return
	}
	m.fetchRest(q, ev)
}

// fetchRest gets what the put has not brought.
func (m *module) fetchRest(q *recvReq, ev *ptl.Event) {
	q.getting = true
	q.key = ev.HdrData
	m.fetch(q)
}

// endRecv tells the user the end.
func (m *module) endRecv(q *recvReq) {
	m.unpost(q)
	q.uncount()
	r := q.r
	st := core.EmptyStatus()
	err := q.err
	if q.p != nil {
		n := min(q.got, len(q.mem))
		st = core.MakeStatus(q.source, q.tag, int64(n))
		if q.buf != nil && err == nil {
			q.conv.SetPosition(0)
			q.conv.Unpack(q.mem[:n])
		}
		if err == nil && q.total > len(q.mem) {
			err = core.NewError(core.ErrTruncate, "the message has %d bytes, the buffer has room for %d", q.total, len(q.mem))
			err.Peer = q.source
		}
	}
	m.freeRecv(q)
	if r != nil {
		r.Priv = nil
		if err != nil {
			r.Owner.Done(r, st, err)
		} else {
			r.Owner.Done(r, st, nil)
		}
	}
}

func (m *module) freeRecv(q *recvReq) {
	m.pools.put(q.buf)
	last := len(m.recvs) - 1
	moved := m.recvs[last]
	m.recvs[q.at] = moved
	moved.at = q.at
	m.recvs[last] = nil
	m.recvs = m.recvs[:last]
	*q = recvReq{}
	q.next = m.free.recvs
	m.free.recvs = q
}

// Cancel implements mtl.Module: what can be unlinked has not matched.
func (m *module) Cancel(r *mtl.Request) bool {
	m.drain()
	q, ok := r.Priv.(*recvReq)
	if !ok || !q.posted || q.entry.Unlink() != nil {
		return false
	}
	m.disarm(q)
	m.unpost(q)
	q.uncount()
	r.Priv = nil
	m.freeRecv(q)
	return true
}
