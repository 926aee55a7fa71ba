package portals4

// Operations of a process on itself: they are through when the call returns.

// selfArrival prepares i.now.
func (i *Interface) selfArrival(md *MDHandle, t *Transfer, op uint8, n uint64) *arrival {
	a := &i.now
	a.request = request{op: op, pt: uint8(t.PT), bits: t.MatchBits, offset: t.RemoteOffset, hdrData: t.HdrData, length: n}
	a.ni, a.l, a.initiator, a.uid = md.ni, nil, md.ni.named(i.rank), i.uid
	return a
}

func (i *Interface) putSelf(md *MDHandle, t *Transfer, op uint8, n uint64, aop AtomicOp, typ Type) {
	a := i.selfArrival(md, t, op, n)
	a.atomic, a.typ = aop, typ
	if n > 0 {
		a.data = md.local(t.Offset, n, t.Mem)
	}
	i.arrive(a)
	r := a.res
	md.sent(t.UserPtr, n, OK)
	switch {
	case t.Ack == NoAck || r.noAck && r.fail == OK:
	case t.Ack == OCAck:
		md.answered(EventAck, false, t.UserPtr, &result{oc: true}, n)
	default:
		md.answered(EventAck, t.Ack == Ack, t.UserPtr, &r, n)
	}
	a.data = nil
}

func (i *Interface) getSelf(md *MDHandle, t *Transfer, n uint64) {
	a := i.selfArrival(md, t, opGet, n)
	if md.anywhere {
		a.move.to, a.move.off = nil, 0
		a.old = t.Mem
	} else {
		a.move.to, a.move.off = &md.mem, t.Offset
		a.old = nil
	}
	i.arrive(a)
	a.move.to, a.old = nil, nil
	r := a.res
	md.answered(EventReply, true, t.UserPtr, &r, n)
}

// copyOut is a get's data on its way within the process.
func (a *arrival) copyOut() {
	if a.old != nil {
		a.at.get(a.used, a.old[:a.mlength])
		return
	}
	for at := uint64(0); at < a.mlength; {
		b := a.move.to.at(a.move.off+at, a.mlength-at)
		a.at.get(a.used+at, b)
		at += uint64(len(b))
	}
}

func (i *Interface) fetchSelf(md *MDHandle, t *Transfer, into *Into, operand []byte, n uint64, op AtomicOp, typ Type, code uint8) {
	a := i.selfArrival(md, t, code, n)
	a.atomic, a.typ, a.operand = op, typ, operand
	if n > 0 {
		a.data = md.local(t.Offset, n, t.Mem)
	}
	i.arrive(a)
	r := a.res
	if r.fail == OK {
		if old := i.old[:r.mlength]; into.MD.anywhere {
			copy(into.Mem, old)
		} else {
			into.MD.mem.put(into.Offset, old)
		}
	}
	a.data, a.operand = nil, nil
	md.sent(t.UserPtr, n, OK)
	into.MD.answered(EventReply, true, t.UserPtr, &r, n)
}
