package portals4

import (
	"errors"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/portals4/atomics"
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
	part      memory // what is read or streamed
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
	k.request.data, k.request.operand = nil, nil
	k.move.n = 0
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
	a.l, a.pt, a.e, a.h, a.ni, a.kept, a.part = nil, nil, nil, nil, nil, nil, memory{}
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
	if e.options&need != need {
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
	if off > e.mem.size {
		off = e.mem.size
	}
	a.used = off
	a.mlength = min(a.length, e.mem.size-off)
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
	if b, ok := a.e.mem.part(a.used, a.mlength); ok {
		ev.Start = b
	}
}

var kinds = [operations]Kind{opPut: EventPut, opGet: EventGet, opAtomic: EventAtomic, opFetch: EventFetchAtomic, opSwap: EventFetchAtomic}

// carry moves the data, or begins to.
func (i *Interface) carry(a *arrival) {
	e, l := a.e, a.l
	switch a.op {
	case opPut:
		if a.flags&hasLength != 0 && a.mlength > 0 && l != nil {
			i.fetchBody(i.keep(a))
			return
		}
		if n := uint64(len(a.data)); n > a.mlength {
			a.ni.status[WastedBytes] += n - a.mlength
		}
		if a.mlength > 0 {
			e.mem.put(a.used, a.data[:a.mlength])
		}
	case opGet:
		if l != nil {
			i.reply(a)
			return
		}
		if a.mlength > 0 {
			a.copyOut()
		}
	default:
		i.operate(a)
		if a.op != opAtomic && l != nil {
			i.respond(a, OK, i.old[:a.mlength])
			i.finish(a, OK, false)
			return
		}
	}
	i.finish(a, OK, false)
	if l != nil {
		i.respond(a, OK, nil)
	}
}

// operate is what an atomic operation does to the entry's memory; what was there before goes to i.old.
func (i *Interface) operate(a *arrival) {
	n := a.mlength
	if uint64(cap(i.old)) < n {
		i.old = make([]byte, maxAtomic)
	}
	i.old = i.old[:cap(i.old)]
	if n == 0 {
		return
	}
	target, ok := a.e.mem.part(a.used, n)
	if !ok { // in several pieces: worked on in one, put back
		target = make([]byte, n)
		a.e.mem.get(a.used, target)
	}
	switch a.op {
	case opAtomic:
		atomics.Apply(uint8(a.atomic), uint8(a.typ), target, a.data[:n])
	case opFetch:
		atomics.Fetch(uint8(a.atomic), uint8(a.typ), target, a.data[:n], i.old[:n])
	default:
		var operand []byte
		if single(a.atomic) {
			operand = a.operand[:a.typ.size()]
		}
		atomics.SwapApply(uint8(a.atomic), uint8(a.typ), target, a.data[:n], operand, i.old[:n])
	}
	if !ok {
		a.e.mem.put(a.used, target)
	}
}

// fetchBody gets the data of a put: the part that the entry takes, and no more. It reads the initiator's memory or asks for it.
func (i *Interface) fetchBody(a *arrival) {
	l := a.l
	if a.flags&hasMem != 0 && l.Get != nil && l.same {
		a.move.start(l, a.mem, &a.e.mem, a.used, a.mlength)
		return
	}
	i.askBody(a)
}

func (i *Interface) askBody(a *arrival) {
	a.move.at = 0
	a.part = a.e.mem // what comes goes here (bodyHandler)
	i.send(i.newOut(a.l, tagCTS, uint64(a.token())|uint64(a.handle)<<32, a.mlength))
}

// moved implements mover: the data of a put was read, or cannot be.
func (a *arrival) moved(err error) {
	i := a.l.i
	switch {
	case errors.Is(err, btl.ErrNotSupported) && a.l.dead == nil:
		i.counts.copied++
		i.askBody(a)
	case err != nil:
		i.ended(a, Undeliverable)
	default:
		i.ended(a, OK)
	}
}

// ended ends an arrival of the table.
func (i *Interface) ended(a *arrival, f FailType) {
	if a.op == opPut {
		if f != OK {
			a.mlength = 0
		}
		i.respond(a, f, nil)
	}
	i.finish(a, f, true)
}

// reply sends the data of a get.
func (i *Interface) reply(a *arrival) {
	l, n := a.l, a.mlength
	if n == 0 {
		i.respond(a, OK, nil)
		i.finish(a, OK, false)
		return
	}
	b, whole := a.e.mem.part(a.used, n)
	r := response{kind: respData, list: a.list, handle: a.handle, mlength: n, offset: a.used}
	if int(n) <= l.eager {
		if !whole {
			b = make([]byte, n)
			a.e.mem.get(a.used, b)
		}
		if i.sendResponse(&r, l, b) {
			i.finish(a, OK, false)
			return
		}
		k := i.keep(a)
		k.kept = b
		w0, w1 := r.words()
		o := i.newOut(l, tagResponse, w0, w1)
		o.HdrLen += uint8(len(r.appendTail(o.Hdr[btl.InlineHeader:btl.InlineHeader])))
		o.payload(b)
		o.in = k
		i.send(o)
		return
	}
	k := i.keep(a)
	if whole && l.Get != nil && l.Reg != nil && l.same {
		if h, err := l.Reg.Register(unsafe.Pointer(unsafe.SliceData(b)), int64(n)); err == nil {
			k.reg, k.exposed, k.kept = h, true, b
			r.kind, r.token, r.mem = respReadable, k.token(), h
			i.sendResponseLater(&r, l)
			return
		}
		i.counts.unregistered++
	}
	r.kind = respFollows
	i.sendResponseLater(&r, l)
	i.streamReply(k)
}

func (i *Interface) streamReply(a *arrival) {
	a.part = a.e.mem
	i.stream(a.l, tagReply, uint64(a.handle), &a.part, a.used, a.mlength, nil, a)
}

// replySent is the end of the data of a get on its way out.
func (i *Interface) replySent(a *arrival, err error) {
	f := OK
	if err != nil {
		f = Undeliverable
	}
	i.finish(a, f, true)
}

// respond answers the initiator of an operation that is through.
func (i *Interface) respond(a *arrival, f FailType, data []byte) {
	l := a.l
	if l == nil || a.flags&hasHandle == 0 || l.dead != nil {
		return
	}
	quiet := a.e != nil && a.e.options&AckDisable != 0 && f == OK && a.op != opGet && a.op < opFetch
	if f == OK && !quiet && a.list == PriorityList && a.mlength == a.length && a.used == a.offset && (a.op == opPut || a.op == opAtomic) {
		i.plain(l, a.handle)
		return
	}
	r := response{kind: respDone, fail: f, list: a.list, handle: a.handle, mlength: a.mlength, offset: a.used}
	switch {
	case quiet:
		r.kind = respQuiet
	case a.op == opGet || a.op >= opFetch:
		r.kind = respData
	}
	if len(data) == 0 {
		i.sendResponseLater(&r, l)
	} else if !i.sendResponse(&r, l, data) {
		w0, w1 := r.words()
		o := i.newOut(l, tagResponse, w0, w1)
		o.HdrLen += uint8(len(r.appendTail(o.Hdr[btl.InlineHeader:btl.InlineHeader])))
		o.copied(data)
		i.send(o)
	}
}

// sendResponse sends a response with data if that can be done at once.
func (i *Interface) sendResponse(r *response, l *link, data []byte) bool {
	if l.head != nil || len(data) >= scratchSize {
		return false
	}
	b := r.appendTail(i.scratch[:0])
	all := len(b) + len(data)
	if all > l.MaxInline {
		return false
	}
	copy(i.scratch[len(b):], data)
	w0, w1 := r.words()
	return l.Inline.SendInline(tagResponse, w0, w1, unsafe.Pointer(&i.scratch), all)
}

// sendResponseLater sends a response without data.
func (i *Interface) sendResponseLater(r *response, l *link) {
	if i.sendResponse(r, l, nil) {
		return
	}
	w0, w1 := r.words()
	o := i.newOut(l, tagResponse, w0, w1)
	o.HdrLen += uint8(len(r.appendTail(o.Hdr[btl.InlineHeader:btl.InlineHeader])))
	i.send(o)
}

// reject is an operation that finds no memory.
func (i *Interface) reject(a *arrival, f FailType) {
	ni := a.ni
	switch f {
	case PermViolation:
		ni.status[PermissionViolations]++
	case OpViolation:
		ni.status[OperationViolations]++
	default:
		ni.status[DropCount]++
	}
	if a.l != nil {
		ni.status[WastedBytes] += uint64(len(a.data))
	}
	a.e, a.used, a.mlength = nil, 0, 0
	a.res = result{fail: f, list: PriorityList}
	a.list = PriorityList
	i.respond(a, f, nil)
}

// finish is the end of an operation at its target: counts and events, and what waited for it.
func (i *Interface) finish(a *arrival, f FailType, kept bool) {
	e, pt, h := a.e, a.pt, a.h
	if a.exposed {
		a.l.Reg.Deregister(a.reg)
		a.exposed = false
	}
	if kept && pt.eq != nil {
		pt.eq.owed -= a.owes
	}
	if e.ct != nil && e.options&EventCTComm != 0 {
		e.ct.count(e.options&EventCTBytes != 0, a.mlength, f)
	}
	if pt.eq != nil && e.options&EventCommDisable == 0 && (f != OK || e.options&EventSuccessDisable == 0) {
		ev := pt.eq.slot()
		a.event(ev, f)
		ev.UserPtr = e.userPtr
		pt.eq.posted()
	}
	if a.l == nil {
		a.res = result{fail: f, list: a.list, mlength: a.mlength, offset: a.used, noAck: e.options&AckDisable != 0}
	}
	if kept {
		e.active--
		pt.active--
		i.arrivals.put(a)
	}
	if h != nil {
		if h.pending {
			pt.landed(h, f)
		} else if f != OK {
			h.ev.NIFail = f
		}
	}
	if !e.linked {
		e.settled()
	}
	if kept {
		pt.idle()
	}
}

// landed is the arrival of the data that a header waited for.
func (pt *PT) landed(h *header, f FailType) {
	h.pending = false
	if h.ev.NIFail = f; f != OK {
		h.ev.MLength, h.ev.Start = 0, nil
	}
	for k := range h.claims {
		c := h.claims[k]
		pt.overflowed(h, c)
		if c.ct != nil {
			c.ct.users--
		}
	}
	if h.removed {
		h.e.headers--
		h.recycle()
	}
}
