package portals4

import (
	"encoding/binary"
	"errors"
	"strings"

	"github.com/ompi-go/ompi-go/btl"
)

// What peers send. A message is looked at once: it may lie in memory that its sender can write.
type (
	helloHandler    Interface
	requestHandler  Interface
	responseHandler Interface
	acksHandler     Interface
	ctsHandler      Interface
	bodyHandler     Interface
	replyHandler    Interface
	finHandler      Interface
	listener        Interface
)

// from gives the link to a sender; nil: it is not listened to any more.
func (i *Interface) from(peer int) *link {
	l := i.links[peer]
	if l == nil {
		l = i.to(peer)
	}
	if l.dead != nil {
		return nil
	}
	return l
}

// Receive implements btl.Handler.
func (h *helloHandler) Receive(peer int, hdr, payload []byte) {
	i := (*Interface)(h)
	l := i.from(peer)
	if l == nil {
		return
	}
	w0, w1, tail, _, ok := split(hdr, payload)
	if !ok || l.greet || uint32(w0) != magic || uint16(w0>>32) != version || len(tail) < 4+nalNameMax || uint32(w1) != l.phys.NID || uint32(w1>>32) != l.phys.PID {
		i.garbage(l, errHello)
		return
	}
	l.uid, l.greet = binary.LittleEndian.Uint32(tail), true
	l.same = strings.TrimRight(string(tail[4:4+nalNameMax]), "\x00") == l.Name
	i.overtaken(l)
	i.settle()
}

var errHello = errors.New("a greeting of another version, or in the name of another process: all ranks must be of one build")

var errFlood = errors.New("more requests than it can have under way, and reads no answers")

// inOrder takes the next request of its sender.
func (i *Interface) inOrder(l *link, w0, w1 uint64, tail, data []byte) {
	a := &i.now
	if err := a.request.parse(w0, w1, tail, data); err != nil {
		i.garbage(l, err)
		return
	}
	l.await++
	if a.flags&hasAck != 0 {
		if i.plainAck(l, a.acked); l.dead != nil {
			return
		}
	}
	ni := i.nis[a.flavour]
	a.l, a.uid, a.e, a.pt, a.h = l, l.uid, nil, nil, nil
	if ni == nil || ni.refs == 0 {
		i.counts.noInterface++
		a.ni = nil
		a.used, a.mlength, a.list = 0, 0, PriorityList
		i.respond(a, Dropped, nil)
		return
	}
	a.ni = ni
	if ni.logical() {
		a.initiator = ni.named(l.proc.Rank)
	} else {
		a.initiator = l.phys
	}
	i.arrive(a)
}

// early keeps a request that overtook others.
func (i *Interface) early(l *link, number uint16, hdr, payload []byte) {
	n := len(hdr) + len(payload)
	if l.early == nil {
		l.early = make(map[uint16][]byte)
	}
	if _, twice := l.early[number]; twice || number-l.await > earlyMax && l.greet || len(l.early) >= earlyMax || l.held+n > earlyBytesMax {
		i.garbage(l, errGarbage)
		return
	}
	b := make([]byte, 1, 1+n)
	b[0] = uint8(len(hdr))
	b = append(append(b, hdr...), payload...)
	l.early[number] = b
	l.held += n
}

// overtaken takes the requests whose turn has come.
func (i *Interface) overtaken(l *link) {
	for l.dead == nil && l.greet {
		b, ok := l.early[l.await]
		if !ok {
			return
		}
		delete(l.early, l.await)
		l.held -= len(b) - 1
		w0, w1, tail, data, _ := split(b[1:1+b[0]], b[1+b[0]:])
		i.inOrder(l, w0, w1, tail, data)
		i.settle() // queues need hold no more than the events of one message
	}
}

// Receive implements btl.Handler.
func (h *responseHandler) Receive(peer int, hdr, payload []byte) {
	i := (*Interface)(h)
	l := i.from(peer)
	if l == nil {
		return
	}
	w0, w1, tail, data, ok := split(hdr, payload)
	var r response
	if !ok || r.parse(w0, w1, tail, data) != nil {
		i.garbage(l, errGarbage)
		return
	}
	o := i.ops.find(l, r.handle)
	if o == nil || o.over || o.known || r.mlength > o.length || !answers[r.kind][o.kind] {
		i.garbage(l, unknown("a response to", r.handle))
		return
	}
	res := result{fail: r.fail, list: r.list, mlength: r.mlength, offset: r.offset, noAck: r.kind == respQuiet}
	switch r.kind {
	case respData:
		if r.mlength > 0 {
			o.dst.put(o.base, r.data)
		}
		i.opDone(o, res)
	case respFollows:
		o.res, o.known = res, true
		i.replyOn(o)
	case respReadable:
		if l.Get == nil || !l.same {
			i.garbage(l, errGarbage)
			return
		}
		o.res, o.known, o.token = res, true, r.token
		o.move.start(l, r.mem, &o.dst, o.base, r.mlength)
	default:
		i.opDone(o, res)
	}
	i.settle()
}

// answers are the kinds of response that the operations may have.
var answers = [respKinds][operations]bool{respDone: {opPut: true, opAtomic: true}, respQuiet: {opPut: true, opAtomic: true},
	respData: {opGet: true, opFetch: true, opSwap: true}, respFollows: {opGet: true}, respReadable: {opGet: true}}

// Receive implements btl.Handler.
func (h *acksHandler) Receive(peer int, hdr, payload []byte) {
	i := (*Interface)(h)
	l := i.from(peer)
	if l == nil {
		return
	}
	_, _, tail, _, ok := split(hdr, payload)
	if !ok || len(tail)%4 != 0 {
		i.garbage(l, errGarbage)
		return
	}
	for ; len(tail) > 0 && l.dead == nil; tail = tail[4:] {
		i.plainAck(l, binary.LittleEndian.Uint32(tail))
	}
	i.settle()
}

// plainAck is the end of an operation that went as asked.
func (i *Interface) plainAck(l *link, handle uint32) {
	o := i.ops.find(l, handle)
	if o == nil || o.over || o.kind != opPut && o.kind != opAtomic {
		i.garbage(l, unknown("an acknowledgement of", handle))
		return
	}
	i.opDone(o, result{mlength: o.length, offset: o.asked})
}

// Receive implements btl.Handler: the target wants the data of a put.
func (h *ctsHandler) Receive(peer int, hdr, payload []byte) {
	i := (*Interface)(h)
	l := i.from(peer)
	if l == nil {
		return
	}
	w0, n, _, _, ok := split(hdr, payload)
	var o *op
	if ok {
		o = i.ops.find(l, uint32(w0>>32))
	}
	if o == nil || o.kind != opPut || o.source == nil || o.over || o.flying || n == 0 || n > o.length {
		i.garbage(l, unknown("a request for the data of", uint32(w0>>32)))
		return
	}
	i.unregister(o)
	o.flying = true
	o.src = memory{base: o.source, size: uint64(len(o.source))}
	i.stream(l, tagBody, uint64(uint32(w0)), &o.src, 0, n, o, nil)
	i.settle()
}

// bodyAt finds where a piece of a put's data goes.
func (i *Interface) bodyAt(peer int, hdr []byte, n int) (*arrival, uint64, bool) {
	l := i.from(peer)
	if l == nil {
		return nil, 0, false
	}
	w0, at, _, _, ok := split(hdr, nil)
	var a *arrival
	if ok {
		a = i.arrivals.find(l, uint32(w0))
	}
	if a == nil || a.op != opPut || a.move.on || a.part.size == 0 || at > a.mlength || uint64(n) > a.mlength-at || uint64(n) > a.mlength-a.move.at-a.placing {
		i.garbage(l, unknown("data of", uint32(w0)))
		return nil, 0, false
	}
	return a, at, true
}

// Receive implements btl.Handler.
func (h *bodyHandler) Receive(peer int, hdr, payload []byte) {
	i := (*Interface)(h)
	if a, at, ok := i.bodyAt(peer, hdr, len(payload)); ok {
		a.at.put(a.used+at, payload)
		i.bodyCame(a, len(payload))
	}
}

// Place implements btl.Placer.
func (h *bodyHandler) Place(peer int, hdr []byte, n int) []byte {
	i := (*Interface)(h)
	a, at, ok := i.bodyAt(peer, hdr, n)
	if !ok || n == 0 {
		return nil
	}
	b, whole := a.at.part(a.used+at, uint64(n))
	if !whole {
		return nil
	}
	a.placing += uint64(n) // it does not end before Placed
	return b
}

// Placed implements btl.Placer.
func (h *bodyHandler) Placed(peer int, hdr []byte, n int, err error) {
	i := (*Interface)(h)
	if l := i.links[peer]; l != nil && len(hdr) >= 4 {
		if a := i.arrivals.find(l, binary.LittleEndian.Uint32(hdr)); a != nil {
			a.placing -= min(a.placing, uint64(n))
		}
	}
	if err != nil {
		return // the link ends, and with it what came over it; or the message comes again
	}
	if a, _, ok := i.bodyAt(peer, hdr, n); ok {
		i.bodyCame(a, n)
	}
}

func (i *Interface) bodyCame(a *arrival, n int) {
	if a.move.at += uint64(n); a.move.at == a.mlength {
		i.ended(a, OK)
	}
	i.settle()
}

// replyAt finds where a piece of a get's data goes.
func (i *Interface) replyAt(peer int, hdr []byte, n int) (*op, uint64, bool) {
	l := i.from(peer)
	if l == nil {
		return nil, 0, false
	}
	w0, at, _, _, ok := split(hdr, nil)
	var o *op
	if ok {
		o = i.ops.find(l, uint32(w0))
	}
	if o == nil || o.kind != opGet || o.over || o.move.on || at > o.length || uint64(n) > o.length-at || uint64(n) > o.length-o.got-o.placing {
		i.garbage(l, unknown("data for", uint32(w0)))
		return nil, 0, false
	}
	return o, at, true
}

// Receive implements btl.Handler.
func (h *replyHandler) Receive(peer int, hdr, payload []byte) {
	i := (*Interface)(h)
	if o, at, ok := i.replyAt(peer, hdr, len(payload)); ok {
		o.dst.put(o.base+at, payload)
		o.got += uint64(len(payload))
		i.replyOn(o)
		i.settle()
	}
}

// Place implements btl.Placer.
func (h *replyHandler) Place(peer int, hdr []byte, n int) []byte {
	i := (*Interface)(h)
	o, at, ok := i.replyAt(peer, hdr, n)
	if !ok || n == 0 {
		return nil
	}
	b, whole := o.dst.part(o.base+at, uint64(n))
	if !whole {
		return nil
	}
	o.placing += uint64(n)
	return b
}

// Placed implements btl.Placer.
func (h *replyHandler) Placed(peer int, hdr []byte, n int, err error) {
	i := (*Interface)(h)
	if l := i.links[peer]; l != nil && len(hdr) >= 4 {
		if o := i.ops.find(l, binary.LittleEndian.Uint32(hdr)); o != nil {
			o.placing -= min(o.placing, uint64(n))
		}
	}
	if err != nil {
		return
	}
	if o, _, ok := i.replyAt(peer, hdr, n); ok {
		o.got += uint64(n)
		i.replyOn(o)
		i.settle()
	}
}

// replyOn ends a get when all its data has come.
func (i *Interface) replyOn(o *op) {
	if o.known && o.got >= o.res.mlength && o.placing == 0 {
		o.over = true
		i.answer(o)
	}
}

// Receive implements btl.Handler: a get's data was read, or is to be sent instead.
func (h *finHandler) Receive(peer int, hdr, payload []byte) {
	i := (*Interface)(h)
	l := i.from(peer)
	if l == nil {
		return
	}
	w0, _, _, _, ok := split(hdr, payload)
	var a *arrival
	if ok {
		a = i.arrivals.find(l, uint32(w0))
	}
	if a == nil || a.op != opGet || !a.exposed {
		i.garbage(l, unknown("the end of reading", uint32(w0)))
		return
	}
	switch w0 >> 32 {
	case finRead:
		i.finish(a, OK, true)
	case finSend:
		l.Reg.Deregister(a.reg)
		a.exposed = false
		i.counts.copied++
		i.streamReply(a)
	default:
		i.finish(a, Undeliverable, true)
	}
	i.settle()
}

var (
	_ btl.Placer      = (*bodyHandler)(nil)
	_ btl.Placer      = (*replyHandler)(nil)
	_ btl.Completer   = (*out)(nil)
	_ btl.Transferrer = (*move)(nil)
)
