package portals4

import (
	"github.com/ompi-go/ompi-go/core"
	ptl "github.com/ompi-go/ompi-go/portals4"
)

// The protocol "triggered" is rndv whose get needs nobody: a receive arms it when it is posted, on its counting event, to go off when the first
// part of a message, which has exactly eager_limit bytes, has come. Short messages have less, and so does what else is put.
//
// A receive cannot know the number that a send will have, so such a message is exposed under its match bits instead, for one get. Of
// several messages with the same bits the gets must come in the order of the messages: headers of gets stay in order, entries are found
// in the order of their appending, which is that of the sends. What the receives are matched with keeps that order, and so do gets that
// matching itself sets off. But a receive that is not armed, since it has wildcards or no room, gets what it must by its host, later.
// So a receive is armed only while no such receive is open on its channel (channel.unarmed). The host that deals with a message claims it when it
// matches, by a get of nothing under the bits, and gets it under its number, as under rndv, in its own time: also what a matched probe has taken.
//
// Entries for gets under the bits are on the portal table entry flow: it has no flow control, and so never refuses the first of two gets and takes the second. Its
// queue has room for all that are exposed.
type triggers struct {
	most    int // receives that may be armed
	armed   int
	exposed int // messages of ours
	cts     []*ptl.CT
}

const mostArmed = 64

func (t *triggers) init(m *module) { t.most = min(mostArmed, m.limits.MaxCTs/4) }

// triggerKey is under what a message is exposed whose receive may be armed.
func triggerKey(bits uint64) uint64 { return bits&^anyProto | protoKey<<protoShift }

// room reports whether a message whose second part has n bytes can be exposed so.
func (t *triggers) room(m *module, n int) bool {
	return t.exposed < m.opt.SendSlots && n <= int(m.opt.MaxMsgSize)
}

// arm has q get the second part of its message without anybody's help, if that can be.
func (m *module) arm(q *recvReq, d *ptl.ME) {
	first := int(m.opt.EagerLimit)
	if d.IgnoreBits == anyProto && q.from != nil && q.x.unarmed == 0 && len(q.mem) > first && len(q.mem)-first <= int(m.opt.MaxMsgSize) && m.trigs.armed < m.trigs.most {
		if ct := m.takeCT(); ct != nil {
			t := &m.xfer
			*t = ptl.Transfer{Mem: q.mem[first:], Length: uint64(len(q.mem) - first), Target: q.from.id, PT: m.flowPT.Index(),
				MatchBits: triggerKey(d.MatchBits), RemoteOffset: uint64(first), UserPtr: q}
			if m.md.TriggeredGet(t, ct, uint64(first)) == nil {
				q.ct = ct
				d.CT = ct
				d.Options |= ptl.EventCTComm | ptl.EventCTBytes
				m.trigs.armed++
				return
			}
			m.giveCT(ct)
		}
	}
	q.counted = true
	q.x.unarmed++
}

func (m *module) takeCT() *ptl.CT {
	if n := len(m.trigs.cts); n > 0 {
		ct := m.trigs.cts[n-1]
		m.trigs.cts = m.trigs.cts[:n-1]
		return ct
	}
	ct, err := m.ni.CTAlloc()
	if err != nil {
		return nil // the host gets, then
	}
	return ct
}

func (m *module) giveCT(ct *ptl.CT) {
	if err := ct.CancelTriggered(); err != nil {
		m.breakDown(interfaceError("PtlCTCancelTriggered", err))
	}
	if err := ct.Set(ptl.CTEvent{}); err != nil {
		m.breakDown(interfaceError("PtlCTSet", err))
	}
	m.trigs.cts = append(m.trigs.cts, ct)
}

// disarm takes back a get that has not gone off.
func (m *module) disarm(q *recvReq) {
	if q.ct != nil {
		m.giveCT(q.ct)
		q.ct = nil
		m.trigs.armed--
	}
}

// fired reports whether the message of an event has set off the get of the receive that it matched.
func (m *module) fired(ev *ptl.Event) bool {
	return ev.Type == ptl.EventPut && ev.MLength >= uint64(m.opt.EagerLimit)
}

// armedPut: the first part of q's message has come, and the rest is being got.
func (m *module) armedPut(q *recvReq) {
	q.put = true
	m.stats.triggered++
	if q.replied {
		m.armedEnd(q)
	}
}

// armedReply: the rest has come.
func (m *module) armedReply(q *recvReq, ev *ptl.Event) {
	m.trigs.armed--
	m.giveCT(q.ct)
	q.ct = nil
	q.replied = true
	q.asked = int(ev.MLength)
	q.fail = ev.NIFail
	if q.put {
		m.armedEnd(q)
	}
}

func (m *module) armedEnd(q *recvReq) {
	if q.fail != ptl.OK && q.err == nil {
		q.err = m.failure(q.x.ch, q.p, q.fail)
	}
	q.got += q.asked
	if want := min(q.total, len(q.mem)); q.err == nil && q.got != want {
		q.err = core.NewError(core.ErrIntern, "mtl portals4: rank %d of the job gave %d of %d bytes of a message", q.p.proc.Rank, q.got, want)
	}
	m.endRecv(q)
}
