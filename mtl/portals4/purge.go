package portals4

import ptl "github.com/ompi-go/ompi-go/portals4"

// purge is the user pointer of the searches that drop the messages of a channel, one by one, until they find none.
type purge struct {
	x    *channel
	over bool
}

// purge drops the messages of a channel that nobody has received: the next communicator may have its number.
func (m *module) purge(x *channel) {
	m.drain()
	d := ptl.ME{MatchID: ptl.AnyProcess, UID: ptl.AnyUID, MatchBits: uint64(x.ch.ID) << ctxShift, IgnoreBits: anyProto | (1<<ctxShift - 1), Options: ptl.OpPut | ptl.UseOnce}
	for u := (&purge{x: x}); !u.over && m.broken == nil; {
		if err := m.recvPT.MESearch(&d, ptl.SearchDelete, u); err != nil {
			m.breakDown(interfaceError("PtlMESearch", err))
		}
		m.settle()
	}
}

// dropped: such a message is gone. Its sender gets its credit back, and hears that there is nothing to wait for.
func (m *module) dropped(u *purge, ev *ptl.Event) {
	m.stats.dropped++
	var a arrival
	switch {
	case !m.arrived(u.x, ev, &a) || a.p.proc.Failed() != nil:
	case a.proto != protoShort:
		m.dismiss(a.p, ev.HdrData)
	case ev.HdrData&hdrSync != 0:
		m.tell(a.p, ev.HdrData)
	}
}

// dismiss is the last get of a message of which nothing is wanted.
func (m *module) dismiss(p *peer, hdr uint64) {
	n := m.newNote(p, m.readPT.Index(), hdr)
	n.get, n.from = true, lengthOf(hdr)
	m.putNote(n)
}
