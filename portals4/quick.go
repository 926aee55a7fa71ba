package portals4

import (
	"encoding/binary"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/portals4/match"
)

// Most messages of components are short puts that ask for no answer, into entries that are used once and tell of it by one event. What is here does
// for these what sendRequest at the initiator and inOrder, arrive, carry and finish at the target do for all, and leaves everything else to those, without
// having changed anything.

// notQuick are the bits of a request's first word that a put has not which quickPut can take: it asks for no acknowledgement, and brings header data at
// most. The bits left out are the flavour, that flag, the portal table index and the number.
const notQuick = uint64(1<<48-1) &^ (3<<4 | hasHdr<<8 | 0xff<<16)

// plainNeeds are the options of an entry that quickPut serves, plainAllows those that make no difference to it.
const (
	plainNeeds  = OpPut | UseOnce | EventUnlinkDisable
	plainAllows = OpGet | AckDisable | IsAccessible | EventLinkDisable | UnexpectedHdrDisable | EventFlowCtrlDisable | EventOverDisable | MENoTruncate
)

// isPlain reports whether quickPut may serve an entry of the priority list.
func (e *entry) isPlain() bool {
	return e.options&^plainAllows == plainNeeds && e.ct == nil && e.mem.iov == nil && e.pt.eq != nil
}

// quickPut takes a put whose turn it is, b its header data and data, if a plain entry is the first that it matches.
func (i *Interface) quickPut(l *link, w0, w1 uint64, b []byte) bool {
	ni := i.nis[w0>>4&3]
	if ni == nil || ni.refs == 0 {
		return false
	}
	k := w0 >> 16 & 0xff
	if k >= uint64(len(ni.pts)) {
		return false
	}
	pt := ni.pts[k]
	if pt == nil || !pt.enabled {
		return false
	}
	hdrData := uint64(0)
	if w0&(hasHdr<<8) != 0 {
		if len(b) < 8 {
			return false
		}
		hdrData, b = binary.LittleEndian.Uint64(b), b[8:]
	}
	n := uint64(len(b))
	initiator := l.phys
	q := match.Query{Bits: w1, Length: n, Src: match.Source{A: initiator.NID, B: initiator.PID}}
	if ni.logical() {
		initiator = ni.named(l.proc.Rank)
		q.Src = match.Source{A: initiator.Rank}
	}
	m := pt.priority.Find(&q)
	if m == nil {
		return false
	}
	e, eq := m.Owner, pt.eq
	if !e.plain || e.uid != AnyUID && e.uid != l.uid || pt.flow && eq.unreserved() < 2 {
		return false
	}
	l.await++
	moved := min(n, e.mem.size)
	if n > moved {
		ni.status[WastedBytes] += n - moved
	}
	pt.priority.Remove(m)
	e.linked = false
	mem := e.mem.base[:moved:moved]
	if moved == 8 {
		*(*[8]byte)(mem) = [8]byte(b)
	} else {
		copy(mem, b)
	}
	ev := eq.slot()
	ev.Type, ev.NIFail, ev.List, ev.AtomicOp, ev.AtomicType = EventPut, OK, PriorityList, 0, 0
	ev.PT, ev.UID, ev.Initiator, ev.MatchBits = pt.index, l.uid, initiator, w1
	ev.RLength, ev.MLength, ev.RemoteOffset, ev.Offset, ev.HdrData = n, moved, 0, 0, hdrData
	ev.Start, ev.UserPtr = mem, e.userPtr
	e.release()
	eq.posted()
	return true
}

// PutQuick is Put of a few bytes for components, who hold the token: without acknowledgement, to offset 0 of the entry, from a descriptor of memory anywhere that
// has neither an event queue nor a counting event. mem may be used again when it returns. It reports false when it has done nothing, since this is not such a put or
// there is no room for it now: Put takes it then, or says what is wrong with it.
func (md *MDHandle) PutQuick(target Process, pt uint32, matchBits, hdrData uint64, mem []byte) bool {
	ni := md.ni
	i := ni.i
	if !i.held || ni.refs == 0 || md.released || !md.anywhere || md.eq != nil || md.ct != nil || pt > uint32(most.MaxPTIndex) {
		return false
	}
	rank, there := 0, false
	if !ni.logical() {
		rank, there = i.jobRank(target)
	} else if there = ni.mapped && target.Rank < uint32(len(ni.ranks)); there {
		rank = int(ni.ranks[target.Rank])
	}
	if !there || rank == i.rank {
		return false
	}
	n := len(mem)
	l := i.links[rank]
	if l == nil || l.dead != nil || l.head != nil || l.nacks > 0 || n > l.eager || uint64(n) > ni.limits.MaxMsgSize {
		return false
	}
	w0 := uint64(opPut) | uint64(ni.flavour)<<4 | uint64(pt)<<16 | uint64(l.sent)<<48
	at := 0
	if hdrData != 0 {
		w0 |= hasHdr << 8
		at = 8
	}
	if at+n > l.MaxInline {
		return false
	}
	binary.LittleEndian.PutUint64(i.scratch[:], hdrData) // or written over
	if n == 8 {
		*(*[8]byte)(i.scratch[at:]) = [8]byte(mem)
	} else {
		copy(i.scratch[at:], mem)
	}
	if !l.inline(tagRequest, w0, matchBits, at+n) {
		return false
	}
	l.sent++
	return true
}

// Receive implements btl.Handler.
func (h *requestHandler) Receive(peer int, hdr, payload []byte) {
	i := (*Interface)(h)
	l := i.links[peer]
	if l == nil || l.dead != nil {
		if l = i.from(peer); l == nil {
			return
		}
	}
	w0, w1, tail, data, ok := split(hdr, payload)
	if !ok {
		i.garbage(l, errGarbage)
		return
	}
	if uint16(w0>>48) != l.await || !l.greet {
		i.early(l, uint16(w0>>48), hdr, payload)
		return
	}
	if w0&notQuick != 0 || len(hdr) != btl.InlineHeader || !i.quickPut(l, w0, w1, tail) {
		i.inOrder(l, w0, w1, tail, data)
		if l.queued > queuedMax {
			i.garbage(l, errFlood)
		}
	}
	if len(l.early) > 0 {
		i.overtaken(l)
	}
	i.settle()
}
