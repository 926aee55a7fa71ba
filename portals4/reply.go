package portals4

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
)

// What a target tells initiators.

// reply sends the data of a get.
func (i *Interface) reply(a *arrival) {
	l, n := a.l, a.mlength
	if n == 0 {
		i.respond(a, OK, nil)
		i.finish(a, OK, false)
		return
	}
	b, whole := a.at.part(a.used, n)
	r := response{kind: respData, list: a.list, handle: a.handle, mlength: n, offset: a.used}
	if int(n) <= l.eager {
		if !whole {
			b = make([]byte, n)
			a.at.get(a.used, b)
		}
		if i.sendResponse(&r, l, b) {
			i.finish(a, OK, false)
			return
		}
		w0, w1 := r.words()
		o := i.newOut(l, tagResponse, w0, w1)
		o.HdrLen += uint8(len(r.appendTail(o.Hdr[btl.InlineHeader:btl.InlineHeader])))
		if n <= scratchSize { // as it is now, whatever comes behind (NI.OrderedSizes)
			o.copied(b)
			i.send(o)
			i.finish(a, OK, false)
			return
		}
		k := i.keep(a)
		k.kept = b
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
	a.part = *a.at
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
		i.plain(l, a.handle, a.e != nil && a.e.options&AckSoon != 0)
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
	return l.inline(tagResponse, w0, w1, all)
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
