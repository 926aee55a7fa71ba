package portals4

import "github.com/ompi-go/ompi-go/portals4/atomics"

func legal(op AtomicOp, typ Type, swap bool) bool {
	return atomics.Legal(uint8(op), uint8(typ), swap) || op == User && typ == Uint8 && !swap
}

func single(op AtomicOp) bool { return op > Swap && op != User }

// size is that of a datum, in bytes; 0 for types that are not supported.
func (t Type) size() int { return atomics.Size(uint8(t)) }

// Atomic combines the local data with that of the target (PtlAtomic), datum by datum. Events are those of Put.
func (md *MDHandle) Atomic(t *Transfer, op AtomicOp, typ Type) error {
	i, err := md.enter("PtlAtomic")
	if err != nil {
		return err
	}
	err = md.atomic(t, op, typ)
	i.leave()
	return err
}

func (md *MDHandle) checkAtomic(name string, t *Transfer, op AtomicOp, typ Type) (n uint64, rank int, err error) {
	if !legal(op, typ, false) {
		return 0, 0, bad(name, "operation %d on type %d", op, typ)
	}
	if n, err = md.length(name, t.Offset, t.Length, t.Mem, md.ni.limits.MaxAtomicSize); err != nil {
		return 0, 0, err
	}
	if n%uint64(typ.size()) != 0 {
		return 0, 0, bad(name, "%d bytes are no whole number of data of %d bytes", n, typ.size())
	}
	if err = md.checkAck(name, t.Ack); err != nil {
		return 0, 0, err
	}
	rank, err = md.checkTarget(name, t)
	return n, rank, err
}

func (md *MDHandle) atomic(t *Transfer, op AtomicOp, typ Type) error {
	const name = "PtlAtomic"
	n, rank, err := md.checkAtomic(name, t, op, typ)
	if err != nil {
		return err
	}
	i := md.ni.i
	if rank == i.rank {
		i.putSelf(md, t, opAtomic, n, op, typ)
		return nil
	}
	l := i.to(rank)
	if l.dead != nil {
		md.sent(t.UserPtr, n, Undeliverable)
		return nil
	}
	r := request{op: opAtomic, flavour: md.ni.flavour, ack: uint8(t.Ack), pt: uint8(t.PT), bits: t.MatchBits, offset: t.RemoteOffset, hdrData: t.HdrData, atomic: op, typ: typ}
	return i.sendRequest(name, &r, l, md, t, n, nil)
}

// FetchAtomic is Atomic that also fetches what was there before (PtlFetchAtomic): SEND tells of md's memory, REPLY of into's.
func (md *MDHandle) FetchAtomic(t *Transfer, into *Into, op AtomicOp, typ Type) error {
	const name = "PtlFetchAtomic"
	i, err := md.enter(name)
	if err != nil {
		return err
	}
	if swaps(op) {
		err = bad(name, "operation %d is for swaps", op)
	} else {
		err = md.fetch(t, into, nil, op, typ)
	}
	i.leave()
	return err
}

// Swap exchanges data with the target, conditionally or masked (PtlSwap); operand is one datum, for CSwap and its kin (compared with the target's: operand OP target)
// and for MSwap (the mask), and ignored otherwise.
func (md *MDHandle) Swap(t *Transfer, into *Into, operand []byte, op AtomicOp, typ Type) error {
	const name = "PtlSwap"
	i, err := md.enter(name)
	if err != nil {
		return err
	}
	if !swaps(op) {
		err = bad(name, "operation %d is no swap", op)
	} else {
		err = md.fetch(t, into, operand, op, typ)
	}
	i.leave()
	return err
}

func (md *MDHandle) checkFetch(name string, t *Transfer, into *Into, operand []byte, op AtomicOp, typ Type) (n uint64, rank int, err error) {
	if !legal(op, typ, swaps(op)) {
		return 0, 0, bad(name, "operation %d on type %d", op, typ)
	}
	if into == nil || into.MD == nil || into.MD.released || into.MD.ni != md.ni {
		return 0, 0, bad(name, "the memory descriptor to fetch into is none of this interface")
	}
	if n, err = md.length(name, t.Offset, t.Length, t.Mem, md.ni.limits.MaxFetchAtomicSize); err != nil {
		return 0, 0, err
	}
	if into.MD.anywhere {
		if uint64(len(into.Mem)) < n {
			return 0, 0, bad(name, "%d bytes to fetch into %d", n, len(into.Mem))
		}
	} else if !into.MD.mem.inside(into.Offset, n) {
		return 0, 0, bad(name, "[%d,+%d) is not in the memory descriptor of %d bytes to fetch into", into.Offset, n, into.MD.mem.size)
	}
	size := uint64(typ.size())
	switch {
	case single(op) && n != size:
		return 0, 0, bad(name, "%d bytes, this operation is on one datum of %d", n, size)
	case single(op) && uint64(len(operand)) < size:
		return 0, 0, bad(name, "an operand of %d bytes, must be a datum of %d", len(operand), size)
	case n%size != 0:
		return 0, 0, bad(name, "%d bytes are no whole number of data of %d bytes", n, size)
	}
	rank, err = md.checkTarget(name, t)
	return n, rank, err
}

// fetch is FetchAtomic and Swap for who has the token.
func (md *MDHandle) fetch(t *Transfer, into *Into, operand []byte, op AtomicOp, typ Type) error {
	name, code := "PtlFetchAtomic", uint8(opFetch)
	if swaps(op) {
		name, code = "PtlSwap", opSwap
	}
	n, rank, err := md.checkFetch(name, t, into, operand, op, typ)
	if err != nil {
		return err
	}
	i := md.ni.i
	if single(op) {
		operand = operand[:typ.size()]
	} else {
		operand = nil
	}
	if rank == i.rank {
		i.fetchSelf(md, t, into, operand, n, op, typ, code)
		return nil
	}
	l := i.to(rank)
	if l.dead != nil {
		md.sent(t.UserPtr, n, Undeliverable)
		into.MD.answered(EventReply, true, t.UserPtr, &result{fail: Undeliverable}, n)
		return nil
	}
	o, err := i.newOp(name, code, l, md, t, n)
	if err != nil {
		return err
	}
	o.wait, o.into = true, into.MD
	if into.MD != md {
		into.MD.pending++
	}
	o.setDst(into.MD, into.Offset, into.Mem)
	r := request{op: code, flavour: md.ni.flavour, pt: uint8(t.PT), bits: t.MatchBits, offset: t.RemoteOffset, hdrData: t.HdrData, atomic: op, typ: typ}
	if operand != nil {
		r.flags |= hasOperand
		r.operand = operand
	}
	return i.sendRequest(name, &r, l, md, t, n, o)
}
