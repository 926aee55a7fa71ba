package portals4

import "github.com/ompi-go/ompi-go/internal/invariants"

// MDHandle is a bound memory descriptor (ptl_handle_md_t).
type MDHandle struct {
	ni       *NI
	mem      memory
	anywhere bool
	options  MDOptions
	eq       *EQ
	ct       *CT
	pending  int // operations under way
	armed    int // triggered operations that wait
	released bool
}

// MDBind makes a memory descriptor (PtlMDBind); d is not kept.
func (ni *NI) MDBind(d *MD) (*MDHandle, error) {
	const op = "PtlMDBind"
	i, err := ni.enter(op)
	if err != nil {
		return nil, err
	}
	defer i.leave()
	switch {
	case d == nil:
		return nil, bad(op, "no descriptor")
	case d.Options >= mdOptionsEnd:
		return nil, bad(op, "options %#x", d.Options)
	case d.Start != nil && d.Iovec != nil || d.Anywhere && (d.Start != nil || d.Iovec != nil):
		return nil, bad(op, "memory is given in two ways; it is a slice, an iovec or anywhere")
	case len(d.Iovec) > ni.limits.MaxIovecs:
		return nil, bad(op, "an iovec of %d pieces, the most is %d", len(d.Iovec), ni.limits.MaxIovecs)
	case d.EQ != nil && (d.EQ.freed || d.EQ.ni != ni):
		return nil, bad(op, "the event queue is none of this interface")
	case d.CT != nil && (d.CT.freed || d.CT.ni != ni):
		return nil, bad(op, "the counting event is none of this interface")
	case ni.mds >= ni.limits.MaxMDs:
		return nil, fail(op, ErrNoSpace, "all %d memory descriptors are in use (max_mds)", ni.limits.MaxMDs)
	}
	ni.mds++
	md := &MDHandle{ni: ni, mem: newMemory(d.Start, d.Iovec), anywhere: d.Anywhere, options: d.Options, eq: d.EQ, ct: d.CT}
	if md.eq != nil {
		md.eq.users++
	}
	if md.ct != nil {
		md.ct.users++
	}
	if invariants.On {
		ni.bound = append(ni.bound, md)
	}
	return md, nil
}

// Release ends the descriptor (PtlMDRelease): ErrInUse while operations are under way, which their last event ends.
func (md *MDHandle) Release() error {
	i, err := md.enter("PtlMDRelease")
	if err != nil {
		return err
	}
	defer i.leave()
	if md.pending > 0 || md.armed > 0 {
		return fail("PtlMDRelease", ErrInUse, "%d operations are under way and %d wait for a counting event", md.pending, md.armed)
	}
	md.released = true
	md.ni.mds--
	if md.eq != nil {
		md.eq.users--
	}
	if md.ct != nil {
		md.ct.users--
	}
	md.mem = memory{}
	return nil
}

func (md *MDHandle) enter(op string) (*Interface, error) {
	if md == nil {
		return nil, bad(op, "no memory descriptor")
	}
	i, err := md.ni.enter(op)
	if err == nil && md.released {
		i.leave()
		return nil, bad(op, "the memory descriptor was released")
	}
	return i, err
}

// length is how many bytes t moves, and whether they lie in the descriptor.
func (md *MDHandle) length(op string, off, n uint64, mem []byte, most uint64) (uint64, error) {
	if md.anywhere {
		n = uint64(len(mem))
	} else if !md.mem.inside(off, n) {
		return 0, bad(op, "[%d,+%d) is not in the memory descriptor of %d bytes", off, n, md.mem.size)
	}
	if n > most {
		return 0, bad(op, "%d bytes, the most is %d", n, most)
	}
	return n, nil
}

// local gives the memory of a transfer in one piece: what lies in several is gathered into new memory.
func (md *MDHandle) local(off, n uint64, mem []byte) []byte {
	if md.anywhere {
		return mem
	}
	if b, ok := md.mem.part(off, n); ok {
		return b
	}
	b := make([]byte, n)
	md.mem.get(off, b)
	return b
}

// sent posts that the memory of a put may be used again.
func (md *MDHandle) sent(userPtr any, n uint64, f FailType) {
	if md == nil {
		return
	}
	if md.ct != nil && md.options&MDEventCTSend != 0 {
		md.ct.count(md.options&MDEventCTBytes != 0, n, f)
	}
	// A failure is told whatever is disabled: no ACK follows it.
	if md.eq != nil && !md.eq.freed && (f != OK || md.options&(MDEventSendDisable|MDEventSuccessDisable) == 0) {
		ev := md.eq.slot()
		ev.Type, ev.NIFail, ev.UserPtr = EventSend, f, userPtr
		ev.PT, ev.UID, ev.List, ev.AtomicOp, ev.AtomicType, ev.Initiator = 0, 0, 0, 0, 0, Process{}
		ev.MatchBits, ev.RLength, ev.MLength, ev.RemoteOffset, ev.Offset, ev.HdrData, ev.Start = 0, n, n, 0, 0, 0, nil
		md.eq.posted()
	}
}

// answered posts what the target has made of an operation: an ACK, or a REPLY.
func (md *MDHandle) answered(kind Kind, event bool, userPtr any, r *result, rlength uint64) {
	counts := MDEventCTAck
	if kind == EventReply {
		counts = MDEventCTReply
	}
	if md.ct != nil && md.options&counts != 0 {
		md.ct.count(md.options&MDEventCTBytes != 0 && !r.oc, r.mlength, r.fail)
	}
	if event && md.eq != nil && !md.eq.freed && (r.fail != OK || md.options&MDEventSuccessDisable == 0) {
		ev := md.eq.slot()
		*ev = Event{Type: kind, NIFail: r.fail, List: r.list, RLength: rlength, MLength: r.mlength, RemoteOffset: r.offset, UserPtr: userPtr}
		md.eq.posted()
	}
}

// result is what a target has made of an operation.
type result struct {
	fail    FailType
	list    List
	mlength uint64
	offset  uint64 // used
	oc      bool   // only that it was processed
	noAck   bool   // the entry wants nobody to hear of it
}
