package portalstest

import (
	"errors"

	"github.com/ompi-go/ompi-go/portals4"
)

func flowCases() []testCase {
	return []testCase{
		{"FlowNoReceive", any4, testFlowNoReceive}, {"FlowNoHeader", any4, testFlowNoHeader}, {"FlowNoEventSlot", any4, testFlowNoEventSlot},
		{"FlowLong", any4, testFlowLong}, {"FlowRecovery", any4, testFlowRecovery}, {"FlowSeveral", any4, testFlowSeveral}, {"FlowCtrlDisable", any4, testFlowCtrlDisable},
		{"WithoutFlowControl", any4, testWithoutFlowControl}, {"TestDisableDrains", any4, testDisableDrains}, {"DisableIsSilent", any4, testDisableIsSilent},
		{"DisabledPTStillGets", any4, testDisabledPTStillGets}, {"PTEnableTwice", any4, testPTEnableTwice},
	}
}

// flood makes n puts of that size and gives how many were taken. All behind the first that was refused were refused, too, in that way. Their answers
// may come in any order.
func (r *rig) flood(pt *portals4.PT, n, size int, why portals4.FailType) (taken int) {
	r.Helper()
	q := r.newEQ(r.src, n)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, size), EQ: q, Options: portals4.MDEventSendDisable})
	for k := range n {
		x := r.xfer(pt, size)
		x.Ack, x.HdrData, x.UserPtr = portals4.Ack, uint64(k), k
		r.must(md.Put(x))
	}
	refused := n
	for range n {
		ev := r.next(q)
		check(r, "event", ev.Type, portals4.EventAck)
		if ev.NIFail == portals4.OK {
			taken++
			continue
		}
		check(r, "end", ev.NIFail, why)
		refused = min(refused, ev.UserPtr.(int))
	}
	check(r, "the first message that was refused", refused, taken)
	r.must(md.Release())
	r.must(q.Free())
	return taken
}

// testFlowNoReceive: without a place for a message the portal table entry is disabled, everybody is told, and the counts add up.
func testFlowNoReceive(r *rig) {
	q := r.newEQ(r.dst, 64)
	pt := r.newPT(r.dst, portals4.PTFlowCtrl, q)
	for range 10 {
		r.link(pt, entry(make([]byte, 8), portals4.OpPut|portals4.UseOnce|quiet), nil)
	}
	drops := r.status(r.dst, portals4.DropCount)
	check(r, "messages taken", r.flood(pt, 25, 8, portals4.PTDisabled), 10)
	for range 10 {
		r.want(q, portals4.EventPut)
	}
	check(r, "PT", r.next(q).PT, pt.Index())
	check(r, "drops", r.status(r.dst, portals4.DropCount), drops+15)
	r.none(q) // it is told once
	// It stays disabled though there is place now.
	r.link(pt, entry(make([]byte, 8), portals4.OpPut|quiet), nil)
	r.refused(*r.xfer(pt, 8), portals4.PTDisabled)
	r.must(pt.Enable())
	r.send(pt, 0, pattern(8, 0))
	r.want(q, portals4.EventPut)
	r.none(q)
}

// testFlowNoHeader: the same when there is no room for another unexpected header.
func testFlowNoHeader(r *rig) {
	l := r.nis[r.dst].Limits()
	l.MaxUnexpectedHeaders = 16
	r.reopen(l)
	n := r.nis[r.dst].Limits().MaxUnexpectedHeaders
	if n > 4096 {
		r.Skipf("the interface has room for %d headers at least", n)
	}
	q := r.newEQ(r.dst, 64)
	pt := r.newPT(r.dst, portals4.PTFlowCtrl, q)
	r.linkOverflow(pt, entry(make([]byte, 8), portals4.OpPut|portals4.EventLinkDisable|portals4.EventCommDisable), nil)
	check(r, "messages taken", r.flood(pt, n+5, 8, portals4.PTDisabled), n)
	check(r, "event", r.next(q).Type, portals4.EventPTDisabled)
	other := r.newPT(r.dst, 0, r.newEQ(r.dst, 64)) // what cannot refuse and have it sent again has room still
	r.linkOverflow(other, entry(make([]byte, 8), portals4.OpPut|portals4.EventLinkDisable|portals4.EventCommDisable), nil)
	check(r, "messages taken without flow control", r.flood(other, 3, 8, portals4.Dropped), 3)
	for k := range n {
		r.link(pt, entry(make([]byte, 8), portals4.OpPut|portals4.UseOnce|quiet), k)
		check(r, "UserPtr", r.want(q, portals4.EventPutOverflow).UserPtr, any(k))
	}
	r.must(pt.Enable())
	check(r, "messages taken", r.flood(pt, 3, 8, portals4.PTDisabled), 3)
	r.none(q)
	// A message with an entry of its own needs no header.
	r.link(pt, entry(make([]byte, 8), portals4.OpPut|quiet), nil)
	for range 3 {
		r.want(q, portals4.EventPutOverflow)
	}
	check(r, "messages taken", r.flood(pt, n+1, 8, portals4.PTDisabled) > 0, true)
}

// testFlowNoEventSlot: no event of a portal table entry with flow control is lost; before the queue is full the entry is disabled.
func testFlowNoEventSlot(r *rig) {
	const n = 100
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, portals4.PTFlowCtrl, q)
	r.link(pt, entry(make([]byte, 8), portals4.OpPut|quiet), nil)
	drops := r.status(r.dst, portals4.DropCount)
	taken := r.flood(pt, n, 8, portals4.PTDisabled)
	if taken < 8 || taken == n {
		r.Fatalf("%d of %d messages were taken by a queue for 16 events", taken, n)
	}
	check(r, "drops", r.status(r.dst, portals4.DropCount), drops+uint64(n-taken))
	for k := range taken {
		check(r, "HdrData", r.want(q, portals4.EventPut).HdrData, uint64(k))
	}
	check(r, "event", r.next(q).Type, portals4.EventPTDisabled)
	r.none(q)
	r.must(pt.Enable())
	check(r, "messages taken by the empty queue", r.flood(pt, taken, 8, portals4.PTDisabled), taken)
}

// testFlowLong: messages whose data is still on the way have events to come, for which there must be room.
func testFlowLong(r *rig) {
	const n, size = 40, 150 << 10
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, portals4.PTFlowCtrl, q)
	r.link(pt, entry(make([]byte, size), portals4.OpPut|quiet), nil)
	taken := r.flood(pt, n, size, portals4.PTDisabled)
	check(r, "there is room for some", taken > 4 && taken < n, true)
	for range taken {
		r.want(q, portals4.EventPut) // none was lost
	}
	check(r, "event", r.next(q).Type, portals4.EventPTDisabled)
	r.none(q)
	r.must(pt.Enable())
	r.send(pt, 0, make([]byte, size))
	r.want(q, portals4.EventPut)
}

// testFlowRecovery: a receiver that falls behind again and again gets everything in the end, once and in order.
func testFlowRecovery(r *rig) {
	const n = 200
	q, sent := r.newEQ(r.dst, 16), r.newEQ(r.src, 2*n)
	pt := r.newPT(r.dst, portals4.PTFlowCtrl, q)
	r.link(pt, entry(make([]byte, 8), portals4.OpPut|quiet), nil)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 8), EQ: sent, Options: portals4.MDEventSendDisable})
	next, came, rounds := 0, 0, 0
	for came < n {
		rounds++
		first := next
		for k := first; k < n; k++ {
			x := r.xfer(pt, 8)
			x.Ack, x.HdrData, x.UserPtr = portals4.Ack, uint64(k), k
			r.must(md.Put(x))
		}
		for range n - first {
			if ev := r.next(sent); ev.NIFail == portals4.OK {
				check(r, "the next that is taken", ev.UserPtr, any(next))
				next++
			} else {
				check(r, "end", ev.NIFail, portals4.PTDisabled)
			}
		}
		if next < n {
			for came < next {
				check(r, "HdrData", r.want(q, portals4.EventPut).HdrData, uint64(came))
				came++
			}
			check(r, "event", r.next(q).Type, portals4.EventPTDisabled)
			r.none(q)
			r.must(pt.Enable())
			continue
		}
		for ; came < n; came++ {
			check(r, "HdrData", r.want(q, portals4.EventPut).HdrData, uint64(came))
		}
	}
	r.none(q)
	check(r, "it took several rounds", rounds > 2, true)
}

// testFlowSeveral: entries that share a queue have each a slot for its end.
func testFlowSeveral(r *rig) {
	const n = 5
	q := r.newEQ(r.dst, 16)
	var pts []*portals4.PT
	for range n {
		pt := r.newPT(r.dst, portals4.PTFlowCtrl, q)
		r.link(pt, entry(make([]byte, 8), portals4.OpPut|quiet), nil)
		pts = append(pts, pt)
	}
	taken := map[uint32]int{}
	for _, pt := range pts {
		taken[pt.Index()] = r.flood(pt, 30, 8, portals4.PTDisabled)
	}
	disabled := map[uint32]int{}
	var ev portals4.Event
	r.settle()
	for {
		err := q.Get(&ev)
		if errors.Is(err, portals4.ErrEQEmpty) {
			break
		}
		r.must(err) // nothing was lost
		if ev.Type == portals4.EventPTDisabled {
			disabled[ev.PT]++
			continue
		}
		check(r, "event", ev.Type, portals4.EventPut)
		taken[ev.PT]--
	}
	for _, pt := range pts {
		check(r, "messages taken without an event", taken[pt.Index()], 0)
		check(r, "PT_DISABLED events", disabled[pt.Index()], 1)
		r.must(pt.Enable())
	}
	for _, pt := range pts {
		r.send(pt, 0, pattern(8, 0))
		r.want(q, portals4.EventPut)
	}
}

// testFlowCtrlDisable: an entry can have it that nobody is told.
func testFlowCtrlDisable(r *rig) {
	l := r.nis[r.dst].Limits()
	l.MaxUnexpectedHeaders = 16
	r.reopen(l)
	n := r.nis[r.dst].Limits().MaxUnexpectedHeaders
	if n > 4096 {
		r.Skipf("the interface has room for %d headers at least", n)
	}
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, portals4.PTFlowCtrl, q)
	r.linkOverflow(pt, entry(make([]byte, 8), portals4.OpPut|portals4.EventLinkDisable|portals4.EventCommDisable|portals4.EventFlowCtrlDisable), nil)
	check(r, "messages taken", r.flood(pt, n+5, 8, portals4.PTDisabled), n)
	r.none(q)
	r.must(pt.Enable())
}

// testWithoutFlowControl: the same conditions lose what they concern, and nothing else.
func testWithoutFlowControl(r *rig) {
	q := r.newEQ(r.dst, 64)
	pt := r.newPT(r.dst, 0, q)
	r.refused(*r.xfer(pt, 8), portals4.Dropped)
	r.link(pt, entry(make([]byte, 8), portals4.OpPut|quiet), nil)
	r.send(pt, 0, pattern(8, 0))
	r.want(q, portals4.EventPut)
	r.none(q)
	l := r.nis[r.dst].Limits()
	l.MaxUnexpectedHeaders = 16
	r.reopen(l)
	n := r.nis[r.dst].Limits().MaxUnexpectedHeaders
	if n > 4096 {
		return
	}
	pt = r.newPT(r.dst, 0, nil)
	r.linkOverflow(pt, entry(make([]byte, 8), portals4.OpPut), nil)
	check(r, "messages taken", r.flood(pt, n+5, 8, portals4.Dropped), n)
}

// testDisableDrains: when Disable returns, what was taken is there with its events, and nothing else comes.
func testDisableDrains(r *rig) {
	const n = 1 << 20
	q, sent := r.newEQ(r.dst, 64), r.newEQ(r.src, 64)
	pt := r.newPT(r.dst, 0, q)
	mem := make([]byte, 8*n)
	e := entry(mem, portals4.OpPut|quiet)
	r.link(pt, e, nil)
	data := pattern(n, 3)
	md := r.bind(r.src, portals4.MD{Start: data, EQ: sent, Options: portals4.MDEventSendDisable})
	for round := range 4 {
		clear(mem)
		r.move()
		for k := range 8 {
			x := r.xfer(pt, n)
			x.RemoteOffset, x.Ack = uint64(k*n), portals4.Ack
			r.must(md.Put(x))
		}
		for range round {
			r.move()
		}
		r.must(pt.Disable())
		events := 0
		var ev portals4.Event
		for q.Take(&ev) == nil {
			check(r, "event", ev.Type, portals4.EventPut)
			r.same("what came", ev.Start, data)
			events++
		}
		taken := 0
		for range 8 {
			if ev := r.next(sent); ev.NIFail == portals4.OK {
				taken++
			} else {
				check(r, "end", ev.NIFail, portals4.PTDisabled)
			}
		}
		check(r, "messages taken without an event when Disable returned", taken-events, 0)
		r.none(q)
		r.must(pt.Enable())
	}
}

func testDisableIsSilent(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, portals4.PTFlowCtrl, q)
	r.link(pt, entry(make([]byte, 8), portals4.OpPut|quiet), nil)
	r.must(pt.Disable())
	r.must(pt.Disable())
	r.refused(*r.xfer(pt, 8), portals4.PTDisabled)
	r.none(q)
	// Entries can be linked and unlinked meanwhile.
	h := r.link(pt, entry(make([]byte, 8), portals4.OpPut), nil)
	r.want(q, portals4.EventLink)
	r.must(h.Unlink())
	r.must(pt.Enable())
	r.send(pt, 0, pattern(8, 0))
	r.want(q, portals4.EventPut)
}

// testDisabledPTStillGets: what a process asks of others is no business of its own portal table.
func testDisabledPTStillGets(r *rig) {
	mine, pt := r.newPT(r.src, 0, nil), r.newPT(r.dst, 0, nil)
	r.must(mine.Disable())
	r.link(pt, entry(pattern(8, 6), portals4.OpPut|portals4.OpGet), nil)
	buf, c := make([]byte, 8), r.newCT(r.src)
	md := r.bind(r.src, portals4.MD{Start: buf, CT: c, Options: portals4.MDEventCTReply})
	r.must(md.Get(r.xfer(pt, 8)))
	r.reach(c, 1, 0)
	r.same("what was got", buf, pattern(8, 6))
}

func testPTEnableTwice(r *rig) {
	pt := r.newPT(r.dst, 0, nil)
	r.link(pt, entry(make([]byte, 8), portals4.OpPut), nil)
	r.must(pt.Enable())
	r.must(pt.Disable())
	r.must(pt.Enable())
	r.must(pt.Enable())
	r.send(pt, 0, pattern(8, 0))
}
