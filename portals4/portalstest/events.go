package portalstest

import "github.com/ompi-go/ompi-go/portals4"

func eventCases() []testCase {
	return []testCase{
		{"EventFields", any4, testEventFields}, {"EventFieldsOverflow", any4, testEventFieldsOverflow}, {"EventFieldsAtomic", any4, testEventFieldsAtomic},
		{"FailedEventFields", any4, testFailedEvents}, {"TargetEventOptions", any4, testTargetEventOptions}, {"TestLinkNotHiddenBySuccessDisable", any4, testLinkNotHidden},
		{"TestCommBeforeAutoUnlink", any4, testCommBeforeAutoUnlink}, {"TestReleaseAfterFinalEvent", any4, testReleaseAfterFinalEvent}, {"AckDisable", any4, testAckDisable},
		{"Names", any4, testNames},
	}
}

// initiator wants an event's initiator to be the rank.
func (r *rig) initiator(ev *portals4.Event, rank int) {
	r.Helper()
	who := r.nis[r.dst].ProcessOf(rank)
	if r.logical {
		check(r, "Initiator", ev.Initiator.Rank, who.Rank)
		return
	}
	check(r, "Initiator's NID", ev.Initiator.NID, who.NID)
	check(r, "Initiator's PID", ev.Initiator.PID, who.PID)
}

// target looks at the fields that all events of operations at the target have.
func (r *rig) target(ev *portals4.Event, pt *portals4.PT, x *portals4.Transfer, user any, l portals4.List) {
	r.Helper()
	uid, err := r.nis[r.src].UID()
	r.must(err)
	r.initiator(ev, r.src)
	check(r, "PT", ev.PT, pt.Index())
	check(r, "UID", ev.UID, uid)
	check(r, "UserPtr", ev.UserPtr, user)
	check(r, "List", ev.List, l)
	check(r, "RLength", ev.RLength, x.Length)
	check(r, "RemoteOffset", ev.RemoteOffset, x.RemoteOffset)
	if r.matching {
		check(r, "MatchBits", ev.MatchBits, x.MatchBits)
	}
}

func (r *rig) start(ev *portals4.Event, mem []byte, offset, n uint64) {
	r.Helper()
	check(r, "MLength", ev.MLength, n)
	check(r, "Offset", ev.Offset, offset)
	check(r, "length of Start", len(ev.Start), int(n))
	if n > 0 && &ev.Start[0] != &mem[offset] {
		r.Fatal("Start is not the entry's memory at the offset")
	}
}

func testEventFields(r *rig) {
	mem := make([]byte, 64)
	q, sent := r.newEQ(r.dst, 8), r.newEQ(r.src, 8)
	pt := r.newPT(r.dst, 0, q)
	r.link(pt, entry(mem, portals4.OpPut|portals4.OpGet), "entry")
	ev := r.want(q, portals4.EventLink)
	check(r, "UserPtr of LINK", ev.UserPtr, any("entry"))
	check(r, "PT of LINK", ev.PT, pt.Index())
	md := r.bind(r.src, portals4.MD{Start: pattern(64, 0), EQ: sent})
	x := r.xfer(pt, 40)
	x.RemoteOffset, x.Offset, x.Ack, x.MatchBits, x.HdrData = 32, 4, portals4.Ack, 0xdeadbeefcafef00d, 0x123456789abcdef0
	r.must(md.Put(x))
	ev = r.want(q, portals4.EventPut)
	r.target(&ev, pt, x, "entry", portals4.PriorityList)
	r.start(&ev, mem, 32, 32)
	check(r, "HdrData", ev.HdrData, x.HdrData)
	evs := r.all(sent, portals4.EventSend, portals4.EventAck)
	for _, e := range evs {
		check(r, "UserPtr", e.UserPtr, any("request"))
	}
	check(r, "MLength of ACK", evs[1].MLength, 32)
	check(r, "RemoteOffset of ACK", evs[1].RemoteOffset, 32)
	check(r, "List of ACK", evs[1].List, portals4.PriorityList)

	x.RemoteOffset, x.Length = 60, 8
	r.must(md.Get(x))
	ev = r.want(q, portals4.EventGet)
	r.target(&ev, pt, x, "entry", portals4.PriorityList)
	r.start(&ev, mem, 60, 4)
	ev = r.want(sent, portals4.EventReply)
	check(r, "UserPtr of REPLY", ev.UserPtr, any("request"))
	check(r, "MLength of REPLY", ev.MLength, 4)
	check(r, "RemoteOffset of REPLY", ev.RemoteOffset, 60)
	r.none(q)
	r.none(sent)
}

func testEventFieldsOverflow(r *rig) {
	mem := make([]byte, 64)
	q, sent := r.newEQ(r.dst, 8), r.newEQ(r.src, 8)
	pt := r.newPT(r.dst, 0, q)
	r.linkOverflow(pt, entry(mem, portals4.OpPut), "block")
	r.want(q, portals4.EventLink)
	md := r.bind(r.src, portals4.MD{Start: pattern(64, 0), EQ: sent, Options: portals4.MDEventSendDisable})
	x := r.xfer(pt, 24)
	x.RemoteOffset, x.Ack, x.HdrData = 16, portals4.Ack, 99
	r.must(md.Put(x))
	ev := r.want(q, portals4.EventPut)
	r.target(&ev, pt, x, "block", portals4.OverflowList)
	r.start(&ev, mem, 16, 24)
	check(r, "List of ACK", r.want(sent, portals4.EventAck).List, portals4.OverflowList)
	r.link(pt, entry(make([]byte, 64), portals4.OpPut|portals4.UseOnce), "receive")
	ev = r.want(q, portals4.EventPutOverflow)
	r.target(&ev, pt, x, "receive", portals4.OverflowList)
	r.start(&ev, mem, 16, 24)
	check(r, "HdrData", ev.HdrData, 99)
	ev = r.want(q, portals4.EventAutoUnlink)
	check(r, "UserPtr of AUTO_UNLINK", ev.UserPtr, any("receive"))
	check(r, "PT of AUTO_UNLINK", ev.PT, pt.Index())
	r.none(q)
}

func testEventFieldsAtomic(r *rig) {
	mem := make([]byte, 64)
	q, sent, got := r.newEQ(r.dst, 8), r.newEQ(r.src, 8), r.newEQ(r.src, 8)
	pt := r.newPT(r.dst, 0, q)
	r.link(pt, entry(mem, portals4.OpPut|portals4.OpGet|portals4.EventLinkDisable), "entry")
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 64), EQ: sent})
	into := r.bind(r.src, portals4.MD{Start: make([]byte, 64), EQ: got})
	x := r.xfer(pt, 8)
	x.RemoteOffset, x.Ack = 16, portals4.Ack
	r.must(md.Atomic(x, portals4.Bor, portals4.Uint32))
	ev := r.want(q, portals4.EventAtomic)
	r.target(&ev, pt, x, "entry", portals4.PriorityList)
	r.start(&ev, mem, 16, 8)
	check(r, "AtomicOp", ev.AtomicOp, portals4.Bor)
	check(r, "AtomicType", ev.AtomicType, portals4.Uint32)
	check(r, "HdrData", ev.HdrData, x.HdrData)
	r.all(sent, portals4.EventSend, portals4.EventAck)
	r.must(md.FetchAtomic(x, &portals4.Into{MD: into, Offset: 8}, portals4.Sum, portals4.Double))
	ev = r.want(q, portals4.EventFetchAtomic)
	r.target(&ev, pt, x, "entry", portals4.PriorityList)
	r.start(&ev, mem, 16, 8)
	check(r, "AtomicOp", ev.AtomicOp, portals4.Sum)
	check(r, "AtomicType", ev.AtomicType, portals4.Double)
	r.want(sent, portals4.EventSend)
	ev = r.want(got, portals4.EventReply)
	check(r, "MLength of REPLY", ev.MLength, 8)
	check(r, "RemoteOffset of REPLY", ev.RemoteOffset, 16)
	check(r, "UserPtr of REPLY", ev.UserPtr, any("request"))
	r.must(md.Swap(x, &portals4.Into{MD: into}, make([]byte, 8), portals4.CSwap, portals4.Int64))
	ev = r.want(q, portals4.EventFetchAtomic)
	check(r, "AtomicOp", ev.AtomicOp, portals4.CSwap)
	check(r, "AtomicType", ev.AtomicType, portals4.Int64)
	r.want(sent, portals4.EventSend)
	r.want(got, portals4.EventReply)
	r.none(q)
	r.none(sent)
	r.none(got)
}

// testFailedEvents: who asked is told why nothing happened, even where successes are silent; SEND says that the request went.
func testFailedEvents(r *rig) {
	q, sent, c := r.newEQ(r.dst, 8), r.newEQ(r.src, 8), r.newCT(r.src)
	pt := r.newPT(r.dst, 0, q)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 8), EQ: sent, CT: c, Options: portals4.MDEventCTAck | portals4.MDEventCTReply | portals4.MDEventCTBytes})
	silent := r.bind(r.src, portals4.MD{Start: make([]byte, 8), EQ: sent, Options: portals4.MDEventSuccessDisable})
	x := r.xfer(pt, 8)
	x.Ack = portals4.Ack
	r.must(md.Put(x))
	ev := r.allFail(sent, portals4.Dropped, portals4.EventSend, portals4.EventAck)[1]
	check(r, "UserPtr", ev.UserPtr, any("request"))
	check(r, "MLength", ev.MLength, 0)
	r.reach(c, 0, 1)
	r.must(md.Get(x))
	ev = r.wantFail(sent, portals4.EventReply, portals4.Dropped)
	check(r, "UserPtr", ev.UserPtr, any("request"))
	r.reach(c, 0, 2)
	r.must(md.FetchAtomic(x, &portals4.Into{MD: md}, portals4.Sum, portals4.Int64))
	r.allFail(sent, portals4.Dropped, portals4.EventSend, portals4.EventReply)
	r.reach(c, 0, 3)
	r.must(silent.Put(x))
	r.wantFail(sent, portals4.EventAck, portals4.Dropped)
	r.must(silent.Get(x))
	r.wantFail(sent, portals4.EventReply, portals4.Dropped)
	r.none(sent)
	r.none(q)
}

// testTargetEventOptions: each option of an entry hides its event and no other.
func testTargetEventOptions(r *rig) {
	for _, c := range []struct {
		options portals4.EntryOptions
		want    []portals4.Kind
	}{
		{0, []portals4.Kind{portals4.EventLink, portals4.EventPut, portals4.EventAutoUnlink}},
		{portals4.EventLinkDisable, []portals4.Kind{portals4.EventPut, portals4.EventAutoUnlink}},
		{portals4.EventCommDisable, []portals4.Kind{portals4.EventLink, portals4.EventAutoUnlink}},
		{portals4.EventSuccessDisable, []portals4.Kind{portals4.EventLink, portals4.EventAutoUnlink}},
		{portals4.EventUnlinkDisable, []portals4.Kind{portals4.EventLink, portals4.EventPut}},
		{portals4.EventOverDisable, []portals4.Kind{portals4.EventLink, portals4.EventPut, portals4.EventAutoUnlink}},
		{portals4.EventLinkDisable | portals4.EventCommDisable | portals4.EventUnlinkDisable, nil},
	} {
		q, n := r.newEQ(r.dst, 8), r.newCT(r.dst)
		pt := r.newPT(r.dst, 0, q)
		e := entry(make([]byte, 8), portals4.OpPut|portals4.UseOnce|portals4.EventCTComm|c.options)
		e.CT = n
		r.link(pt, e, nil)
		md := r.bind(r.src, portals4.MD{Start: make([]byte, 8)})
		r.must(md.Put(r.xfer(pt, 8)))
		for _, k := range c.want {
			r.want(q, k)
		}
		r.none(q)
		r.reach(n, 1, 0) // counting is none of these options' business
		r.must(md.Put(r.xfer(pt, 8)))
		r.none(q) // the entry is gone
	}
}

// testLinkNotHidden: one may wait for LINK of an entry whose successes are silent.
func testLinkNotHidden(r *rig) {
	q := r.newEQ(r.dst, 8)
	pt := r.newPT(r.dst, 0, q)
	for _, l := range []portals4.List{portals4.PriorityList, portals4.OverflowList} {
		_, err := r.appendErr(pt, entry(make([]byte, 8), portals4.OpPut|portals4.EventSuccessDisable), l, int(l))
		r.must(err)
		check(r, "UserPtr", r.want(q, portals4.EventLink).UserPtr, any(int(l)))
	}
}

func testCommBeforeAutoUnlink(r *rig) {
	q := r.newEQ(r.dst, 256)
	pt := r.newPT(r.dst, 0, q)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 1<<20)})
	sizes := []int{8, 1 << 20, 0, 100 << 10, 1}
	for k, n := range sizes {
		r.link(pt, entry(make([]byte, n), portals4.OpPut|portals4.UseOnce|portals4.EventLinkDisable), k)
	}
	for _, n := range sizes {
		r.must(md.Put(r.xfer(pt, n)))
	}
	came := make([]bool, len(sizes))
	for range 2 * len(sizes) {
		ev := r.next(q)
		k := ev.UserPtr.(int)
		switch ev.Type {
		case portals4.EventPut:
			came[k] = true
		case portals4.EventAutoUnlink:
			check(r, "PUT came before AUTO_UNLINK", came[k], true)
		default:
			r.Fatalf("event %v", &ev)
		}
	}
	r.none(q)
}

// testReleaseAfterFinalEvent: who has seen the last event of the last operation may release the memory descriptor at once.
func testReleaseAfterFinalEvent(r *rig) {
	pt, q := r.newPT(r.dst, 0, nil), r.newEQ(r.src, 8)
	r.link(pt, entry(make([]byte, 256<<10), portals4.OpPut|portals4.OpGet), nil)
	for k := range 40 {
		n := []int{8, 0, 256 << 10, 4096}[k%4]
		md, err := r.nis[r.src].MDBind(&portals4.MD{Start: make([]byte, n), EQ: q})
		r.must(err)
		x := r.xfer(pt, n)
		if k%3 == 0 {
			r.must(md.Get(x))
			r.want(q, portals4.EventReply)
		} else {
			x.Ack = portals4.Ack
			r.must(md.Put(x))
			r.all(q, portals4.EventSend, portals4.EventAck)
		}
		r.must(md.Release())
		r.code(md.Release(), portals4.ErrArgInvalid)
	}
}

// testAckDisable: the target can forbid acknowledgements; the initiator forgets the operation nevertheless.
func testAckDisable(r *rig) {
	pt, q, c := r.newPT(r.dst, 0, nil), r.newEQ(r.src, 8), r.newCT(r.src)
	r.link(pt, entry(make([]byte, 8), portals4.OpPut|portals4.OpGet|portals4.AckDisable), nil)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 8), EQ: q, CT: c, Options: portals4.MDEventCTAck})
	for _, ack := range []portals4.AckReq{portals4.Ack, portals4.CTAck, portals4.OCAck} {
		x := r.xfer(pt, 8)
		x.Ack = ack
		r.must(md.Put(x))
		r.want(q, portals4.EventSend)
		r.none(q)
	}
	r.stays(c, 0, 0)
	r.must(md.Get(r.xfer(pt, 8))) // a reply is no acknowledgement
	r.want(q, portals4.EventReply)
	r.must(md.Release())
}

// testNames: everything that programs print has the specification's name.
func testNames(r *rig) {
	check(r, "name", portals4.EventPutOverflow.String(), "PTL_EVENT_PUT_OVERFLOW")
	check(r, "name", portals4.Kind(0).String(), "PTL_EVENT(0)")
	check(r, "name", portals4.Kind(77).String(), "PTL_EVENT(77)")
	check(r, "name", portals4.PermViolation.String(), "PTL_NI_PERM_VIOLATION")
	check(r, "name", portals4.FailType(99).String(), "PTL_NI(99)")
	check(r, "name", portals4.OverflowList.String(), "PTL_OVERFLOW_LIST")
	check(r, "name", portals4.PriorityList.String(), "PTL_PRIORITY_LIST")
	for c := portals4.ErrArgInvalid; c <= portals4.ErrPTInUse; c++ {
		if c.Error() == "" {
			r.Errorf("return code %d has no name", c)
		}
	}
}
