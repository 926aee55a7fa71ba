package portals4

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mtl"
	ptl "github.com/ompi-go/ompi-go/portals4"
)

// Quick sends. With credit there is memory for a short message at its receiver, so that nothing is refused and nobody asks for an ACK: the
// interface copies the message (a volatile descriptor), and the MTL forgets it. What has been refused against all sums cannot be sent again, so that
// it is the end of this MTL (module.overflow), and loans stay within what the interface has headers for beside all shares (credits.spare).
//
// When a communicator is freed, its members have to know that all their messages have come. The interface takes the messages of a sender in
// order, so that the ACK of one more put, a mark, says that of all before it.

// marker is the mark on its way to a peer.
type marker struct {
	p     *peer
	count uint64 // messages sent when it was
}

// quick sends a short message without keeping it, and reports whether it could.
func (m *module) quick(p *peer, x *channel, t uint64, buf core.Buffer, n int) bool {
	if !m.credit.on || p.proc.Rank == m.me || uint64(n) > m.limits.MaxVolatileSize {
		return false
	}
	var mem []byte
	if n > 0 {
		var conv datatype.Convertor
		var whole bool
		if mem, whole = block(buf, &conv); !whole {
			return false
		}
	}
	bits := m.split.bits(x.ch.ID, x.ch.Comm.MyRank, t) | protoShort<<protoShift
	if !m.swift.PutQuick(p.id, m.recvPT.Index(), bits, uint64(n), mem) {
		m.xfer = ptl.Transfer{Mem: mem, Target: p.id, PT: m.recvPT.Index(), MatchBits: bits, HdrData: uint64(n)}
		if err := m.swift.Put(&m.xfer); err != nil {
			return false
		}
	}
	p.seq++
	p.unmarked++
	m.credit.spend(p, protoShort, n)
	m.stats.short++
	m.stats.bytes += uint64(n)
	return true
}

// marked reports whether all quick sends to p have come, and has it found out if not.
func (m *module) marked(p *peer) bool {
	if p.marked == p.unmarked || p.proc.Failed() != nil || m.broken != nil {
		return true
	}
	if p.mark.p == nil && m.slots > 0 {
		p.mark = marker{p: p, count: p.unmarked}
		m.slots--
		m.xfer = ptl.Transfer{Ack: ptl.Ack, Target: p.id, PT: m.flowPT.Index(), MatchBits: flowMark | uint64(m.me), UserPtr: &p.mark}
		if err := m.md.Put(&m.xfer); err != nil {
			m.breakDown(interfaceError("PtlPut", err))
		}
	}
	return false
}

// markDone is the ACK of a mark. That it was refused would say the same.
func (m *module) markDone(k *marker) {
	m.slots++
	if k.p != nil {
		k.p.marked = k.count
		k.p = nil
	}
}

// Flushed implements mtl.Module.
func (m *module) Flushed(c *core.Comm) bool {
	x := m.chans[c.P2P.ID]
	if x == nil {
		return true
	}
	all := x.open == 0
	for _, p := range c.Procs {
		all = m.marked(m.peers[p.Rank]) && all
	}
	return all
}

var _ mtl.Module = (*module)(nil)
