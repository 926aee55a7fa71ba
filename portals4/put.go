package portals4

import (
	"bytes"

	"github.com/ompi-go/ompi-go/btl"
)

// Put moves the local memory of t to an entry of the target (PtlPut). The end is told by events and counts: SEND when the memory may be used again, ACK, if t.Ack
// wants one, with what became of it.
func (md *MDHandle) Put(t *Transfer) error {
	i, err := md.enter("PtlPut")
	if err != nil {
		return err
	}
	err = md.put(t)
	i.leave()
	return err
}

// checkTarget looks at what all operations have.
func (md *MDHandle) checkTarget(op string, t *Transfer) (int, error) {
	if t.PT > uint32(most.MaxPTIndex) {
		return 0, bad(op, "portal table index %d, the largest is %d", t.PT, most.MaxPTIndex)
	}
	return md.ni.route(op, t.Target)
}

// checkAck looks at the acknowledgement that is asked for.
func (md *MDHandle) checkAck(op string, a AckReq) error {
	switch {
	case a > OCAck:
		return bad(op, "acknowledgement %d", a)
	case a == Ack && md.eq == nil:
		return bad(op, "an ACK event is asked for, and the memory descriptor has no event queue")
	case (a == CTAck || a == OCAck) && md.ct == nil:
		return bad(op, "a counted acknowledgement is asked for, and the memory descriptor has no counting event")
	}
	return nil
}

func (md *MDHandle) checkPut(op string, t *Transfer) (n uint64, rank int, err error) {
	if n, err = md.length(op, t.Offset, t.Length, t.Mem, md.ni.limits.MaxMsgSize); err != nil {
		return 0, 0, err
	}
	if t.Ack != NoAck {
		if err = md.checkAck(op, t.Ack); err != nil {
			return 0, 0, err
		}
	}
	rank, err = md.checkTarget(op, t)
	return n, rank, err
}

// put is Put for who has the token.
func (md *MDHandle) put(t *Transfer) error {
	const name = "PtlPut"
	n, rank, err := md.checkPut(name, t)
	if err != nil {
		return err
	}
	ni := md.ni
	i := ni.i
	if rank == i.rank {
		i.putSelf(md, t, opPut, n, 0, 0)
		return nil
	}
	l := i.links[rank]
	if l == nil {
		l = i.to(rank)
	}
	if l.dead != nil {
		md.sent(t.UserPtr, n, Undeliverable)
		return nil
	}
	r := request{op: opPut, flavour: ni.flavour, ack: uint8(t.Ack), pt: uint8(t.PT), bits: t.MatchBits, offset: t.RemoteOffset, hdrData: t.HdrData, length: n}
	if n > uint64(l.eager) && n > 0 {
		return i.putLong(name, &r, l, md, t, n)
	}
	return i.sendRequest(name, &r, l, md, t, n, nil)
}

// sendRequest sends a request with its payload, n bytes of md; o is its operation if it has one already.
func (i *Interface) sendRequest(name string, r *request, l *link, md *MDHandle, t *Transfer, n uint64, o *op) (err error) {
	if o == nil && r.ack != 0 {
		if o, err = i.newOp(name, r.op, l, md, t, n); err != nil {
			return err
		}
		o.wait = true
	}
	if o != nil && o.wait {
		r.flags |= hasHandle
		r.handle = o.handle()
	}
	if r.offset != 0 {
		r.flags |= hasOffset
	}
	if r.hdrData != 0 {
		r.flags |= hasHdr
	}
	if l.nacks > 0 && r.flags&(hasMem|hasOperand) == 0 {
		l.nacks--
		r.flags |= hasAck
		r.acked = l.acks[l.nacks]
	}
	r.number = l.sent
	l.sent++
	w0, w1 := r.words()
	if n < scratchSize && l.head == nil {
		b := r.appendTail(i.scratch[:0])
		if all := len(b) + int(n); all <= l.MaxInline {
			switch {
			case n == 0:
			case !md.anywhere:
				md.mem.get(t.Offset, i.scratch[len(b):all])
			case n == 8:
				*(*[8]byte)(i.scratch[len(b):]) = [8]byte(t.Mem)
			default:
				copy(i.scratch[len(b):], t.Mem)
			}
			if l.inline(tagRequest, w0, w1, all) {
				if o == nil {
					md.sent(t.UserPtr, n, OK)
				} else {
					i.opSent(o, nil)
				}
				return nil
			}
		}
	}
	if o == nil {
		if o, err = i.newOp(name, r.op, l, md, t, n); err != nil {
			l.sent--
			if r.flags&hasAck != 0 { // it goes with the next
				l.acks[l.nacks] = r.acked
				l.nacks++
			}
			return err
		}
	}
	m := i.newOut(l, tagRequest, w0, w1)
	m.HdrLen += uint8(len(r.appendTail(m.Hdr[btl.InlineHeader:btl.InlineHeader])))
	if n > 0 {
		o.source = md.local(t.Offset, n, t.Mem)
		if md.volatile(n) {
			m.copied(o.source)
			o.source = nil
		} else {
			m.payload(o.source)
		}
	}
	m.op, o.flying = o, true
	i.send(m)
	return nil
}

// volatile reports whether the memory of a put of n bytes may be used again when the call returns.
func (md *MDHandle) volatile(n uint64) bool { return md.options&MDVolatile != 0 && n <= volatileMax }

// putLong announces a put. What the target wants of it, it reads, or asks for by CTS.
func (i *Interface) putLong(name string, r *request, l *link, md *MDHandle, t *Transfer, n uint64) error {
	o, err := i.newOp(name, opPut, l, md, t, n)
	if err != nil {
		return err
	}
	o.wait = true
	o.source = md.local(t.Offset, n, t.Mem)
	if md.volatile(n) {
		o.source = bytes.Clone(o.source)
	}
	r.flags |= hasLength | hasHandle
	r.handle = o.handle()
	if i.expose(o) {
		r.flags |= hasMem
		r.mem = o.reg
	}
	i.sendBare(r, l, nil)
	return nil
}

// sendBare sends a request without payload.
func (i *Interface) sendBare(r *request, l *link, _ *op) {
	if r.offset != 0 {
		r.flags |= hasOffset
	}
	if r.hdrData != 0 {
		r.flags |= hasHdr
	}
	r.number = l.sent
	l.sent++
	w0, w1 := r.words()
	if l.head == nil {
		b := r.appendTail(i.scratch[:0])
		if len(b) <= l.MaxInline && l.inline(tagRequest, w0, w1, len(b)) {
			return
		}
	}
	m := i.newOut(l, tagRequest, w0, w1)
	m.HdrLen += uint8(len(r.appendTail(m.Hdr[btl.InlineHeader:btl.InlineHeader])))
	i.send(m)
}

// Get moves memory of an entry of the target here (PtlGet). REPLY tells the end.
func (md *MDHandle) Get(t *Transfer) error {
	i, err := md.enter("PtlGet")
	if err != nil {
		return err
	}
	err = md.get(t)
	i.leave()
	return err
}

func (md *MDHandle) checkGet(op string, t *Transfer) (n uint64, rank int, err error) {
	if n, err = md.length(op, t.Offset, t.Length, t.Mem, md.ni.limits.MaxMsgSize); err != nil {
		return 0, 0, err
	}
	rank, err = md.checkTarget(op, t)
	return n, rank, err
}

func (md *MDHandle) get(t *Transfer) error {
	const name = "PtlGet"
	n, rank, err := md.checkGet(name, t)
	if err != nil {
		return err
	}
	i := md.ni.i
	if rank == i.rank {
		i.getSelf(md, t, n)
		return nil
	}
	l := i.links[rank]
	if l == nil {
		l = i.to(rank)
	}
	if l.dead != nil {
		md.answered(EventReply, true, t.UserPtr, &result{fail: Undeliverable}, n)
		return nil
	}
	o, err := i.newOp(name, opGet, l, md, t, n)
	if err != nil {
		return err
	}
	o.wait, o.sent = true, true
	o.setDst(md, t.Offset, t.Mem)
	r := request{op: opGet, flavour: md.ni.flavour, flags: hasHandle | hasLength, pt: uint8(t.PT), bits: t.MatchBits, offset: t.RemoteOffset, hdrData: t.HdrData, length: n, handle: o.handle()}
	i.sendBare(&r, l, o)
	return nil
}

// setDst says where what is fetched goes.
func (o *op) setDst(md *MDHandle, off uint64, mem []byte) {
	if md.anywhere {
		o.dst, o.base = memory{base: mem, size: uint64(len(mem))}, 0
	} else {
		o.dst, o.base = md.mem, off
	}
}
