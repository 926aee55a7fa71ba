package portals4

import (
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/portals4/match"
)

// arrival is an operation at its target. One that is through at once lives in Interface.now; one whose data takes time in the table.
type arrival struct {
	move
	request
	live      bool
	index     uint32
	gen       uint32
	ni        *NI
	l         *link // nil: from this process
	initiator Process
	uid       uint32
	pt        *PT
	e         *entry
	h         *header
	list      List
	used      uint64 // offset in the entry
	mlength   uint64
	owes      int // an event, to the queue of a flow-controlled portal table entry
	reg       btl.MemHandle
	exposed   bool
	part      memory  // what is read or streamed
	at        *memory // the entry's, or own
	own       memory  // of an entry of a Space
	placing   uint64  // bytes that a NAL is writing into the entry
	kept      []byte
	res       result // for who is in this process
	old       []byte
}

// arrivalTable finds arrivals by token, like opTable.
type arrivalTable struct {
	all  []*arrival
	free []uint32
	used int
}

func (a *arrival) token() uint32 { return a.gen<<indexBits | a.index }

// keep moves an arrival from i.now into the table; its entry and its portal table entry stay in use.
func (i *Interface) keep(a *arrival) *arrival {
	t := &i.arrivals
	var k *arrival
	if n := len(t.free); n > 0 {
		k = t.all[t.free[n-1]]
		t.free = t.free[:n-1]
	} else {
		k = &arrival{index: uint32(len(t.all))}
		k.move.owner = k
		t.all = append(t.all, k)
	}
	t.used++
	k.live = true
	k.request, k.ni, k.l, k.initiator, k.uid, k.pt, k.e, k.h, k.list, k.used, k.mlength = a.request, a.ni, a.l, a.initiator, a.uid, a.pt, a.e, a.h, a.list, a.used, a.mlength
	if k.at = a.at; a.at == &a.own {
		k.own, k.at = a.own, &k.own
	}
	k.request.data, k.request.operand = nil, nil
	k.move.n, k.placing = 0, 0
	k.e.active++
	k.pt.active++
	if k.owes = 0; k.pt.flow && k.e.options&EventCommDisable == 0 {
		k.owes = 1
		k.pt.eq.owed++
	}
	if k.h != nil {
		k.h.pending = true
	}
	return k
}

func (t *arrivalTable) find(l *link, token uint32) *arrival {
	k := token & indexMask
	if int(k) >= len(t.all) {
		return nil
	}
	a := t.all[k]
	if !a.live || a.gen != token>>indexBits || a.l != l {
		return nil
	}
	return a
}

// full reports whether there are as many as tokens: peers decide how many there are.
func (t *arrivalTable) full() bool { return len(t.free) == 0 && len(t.all) > indexMask }

func (t *arrivalTable) put(a *arrival) {
	a.live, a.exposed = false, false
	a.gen = (a.gen + 1) & genMask
	a.l, a.pt, a.e, a.h, a.ni, a.kept, a.part, a.at, a.own = nil, nil, nil, nil, nil, nil, memory{}, nil, memory{}
	t.free = append(t.free, a.index)
	t.used--
}

// arrive matches an operation, moves its data or begins to, and answers. Nothing of a lasts.
func (i *Interface) arrive(a *arrival) {
	ni := a.ni
	var pt *PT
	if int(a.request.pt) < len(ni.pts) {
		pt = ni.pts[a.request.pt]
	}
	switch {
	case pt == nil:
		i.reject(a, Dropped)
		return
	case !pt.enabled:
		i.reject(a, PTDisabled)
		return
	}
	q := match.Query{Bits: a.bits, Offset: a.offset, Length: a.length}
	if ni.logical() {
		q.Src.A = a.initiator.Rank
	} else {
		q.Src = match.Source{A: a.initiator.NID, B: a.initiator.PID}
	}
	a.list = PriorityList
	m := pt.priority.Find(&q)
	if m == nil {
		a.list = OverflowList
		if m = pt.overflow.Find(&q); m == nil {
			if pt.flow {
				pt.stop(false)
				i.reject(a, PTDisabled)
			} else {
				i.reject(a, Dropped)
			}
			return
		}
	}
	e := m.Owner
	for !e.holds(a) { // others of the same match bits may have other pieces
		if m = pt.priority.Next(m, &q); m == nil {
			i.reject(a, SegV)
			return
		}
		e = m.Owner
	}
	if f := e.permits(a); f != OK {
		i.reject(a, f)
		return
	}
	keepHeader := a.list == OverflowList && e.options&UnexpectedHdrDisable == 0
	if keepHeader && ni.headers.used[kindOf(pt.flow)] >= ni.limits.MaxUnexpectedHeaders {
		if pt.flow {
			pt.stop(e.options&EventFlowCtrlDisable != 0)
			i.reject(a, PTDisabled)
		} else {
			i.reject(a, Dropped)
		}
		return
	}
	if pt.flow && pt.eq.unreserved() < 2 && pt.eq.unreserved() < e.events() {
		pt.stop(e.options&EventFlowCtrlDisable != 0)
		pt.eq.stopAll()
		i.reject(a, PTDisabled)
		return
	}
	if a.flags&hasLength != 0 && i.arrivals.full() {
		i.reject(a, Dropped)
		return
	}
	a.pt, a.e, a.h = pt, e, nil
	e.place(a)
	if keepHeader {
		i.keepHeader(a)
	}
	i.carry(a)
}

// permits is the check of user id and operation. It comes after matching: an entry that refuses is not used up, and no other is looked for.
func (e *entry) permits(a *arrival) FailType {
	if e.uid != AnyUID && e.uid != a.uid {
		return PermViolation
	}
	need := OpPut
	switch a.op {
	case opGet:
		need = OpGet
	case opFetch, opSwap:
		need = OpPut | OpGet
	}
	if e.options&need != need || a.op >= opAtomic && a.atomic == User && e.operator == nil {
		return OpViolation
	}
	return OK
}

// events is how many events the next operation makes at most.
func (e *entry) events() int {
	n := 0
	if e.options&(EventCommDisable|EventSuccessDisable) == 0 {
		n++
	}
	if e.options&EventUnlinkDisable == 0 && (e.options&UseOnce != 0 || e.local && e.minFree > 0) {
		n++
	}
	return n
}

// place decides where the data goes and how much of it, and takes an entry that is used up out of its list.
func (e *entry) place(a *arrival) {
	off := a.offset
	if e.local {
		off = e.cursor
	}
	if off > a.at.size {
		off = a.at.size
	}
	a.used = off
	a.mlength = min(a.length, a.at.size-off)
	if single(a.atomic) && a.mlength < a.length && a.op == opSwap {
		a.mlength = 0 // half a datum is none
	} else if a.op >= opAtomic {
		a.mlength -= a.mlength % uint64(a.typ.size())
	}
	if e.local {
		e.cursor += a.mlength
		e.Room = e.mem.size - e.cursor
	}
	if e.options&UseOnce != 0 || e.local && e.minFree > 0 && e.mem.size-e.cursor < e.minFree {
		e.unlink()
		e.auto = true
		if e.pt.flow && e.options&EventUnlinkDisable == 0 {
			e.owes = 1
			e.pt.eq.owed++
		}
	}
}

// keepHeader notes an operation that the overflow list has taken.
func (i *Interface) keepHeader(a *arrival) {
	h := a.ni.newHeader(kindOf(a.pt.flow))
	h.e = a.e
	a.e.headers++
	a.h = h
	h.Query = match.Query{Bits: a.bits, Offset: a.offset, Length: a.length}
	if a.ni.logical() {
		h.Query.Src.A = a.initiator.Rank
	} else {
		h.Query.Src = match.Source{A: a.initiator.NID, B: a.initiator.PID}
	}
	a.event(&h.ev, OK)
	h.ev.Type++ // of overflow
	a.pt.unexpected.Add(&h.Header)
}

// event fills in what an event tells of the operation, but for UserPtr.
func (a *arrival) event(ev *Event, f FailType) {
	ev.Type, ev.NIFail, ev.List, ev.PT, ev.UID, ev.Initiator = kinds[a.op], f, a.list, a.pt.index, a.uid, a.initiator
	ev.AtomicOp, ev.AtomicType = a.atomic, a.typ
	ev.MatchBits, ev.RLength, ev.MLength, ev.RemoteOffset, ev.Offset, ev.HdrData = a.bits, a.length, a.mlength, a.offset, a.used, a.hdrData
	ev.Start, ev.UserPtr = nil, nil
	if b, ok := a.at.part(a.used, a.mlength); ok {
		ev.Start = b
	}
}

var kinds = [operations]Kind{opPut: EventPut, opGet: EventGet, opAtomic: EventAtomic, opFetch: EventFetchAtomic, opSwap: EventFetchAtomic}
