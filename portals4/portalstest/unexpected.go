package portalstest

import (
	"sync"

	"github.com/ompi-go/ompi-go/portals4"
)

func unexpectedCases() []testCase {
	return []testCase{
		{"UnexpectedPut", any4, testUnexpectedPut}, {"PutOverflowCT", any4, testPutOverflowCT}, {"CTOverflow", any4, testCTOverflow},
		{"UnexpectedOrder", matching, testUnexpectedOrder}, {"PersistentTakesAll", matching, testPersistentTakesAll},
		{"OverflowAppendNeverSearches", any4, testOverflowAppend}, {"UnexpectedKinds", any4, testUnexpectedKinds}, {"UnexpectedHeaderOnly", any4, testHeaderOnly},
		{"UnexpectedHdrDisable", any4, testHdrDisable}, {"NoCheckOfUnexpected", any4, testNoCheckOfUnexpected}, {"TestAutoFreeLast", any4, testAutoFreeLast},
		{"AutoFreeManageLocal", matching, testAutoFreeManageLocal}, {"OverflowOptions", any4, testOverflowOptions}, {"UnexpectedNoTruncate", matching, testUnexpectedNoTruncate},
		{"TestAppendVersusArrival", any4, testAppendVersusArrival}, {"UnexpectedWhileMoving", any4, testUnexpectedWhileMoving},
		{"AutoFreeWhileMoving", any4, testAutoFreeWhileMoving},
	}
}

// block links an overflow entry without events of its own, large enough for all.
func (r *rig) block(pt *portals4.PT, n int) []byte {
	r.Helper()
	mem := make([]byte, n)
	o := portals4.OpPut | portals4.OpGet | portals4.EventLinkDisable | portals4.EventCommDisable
	if r.matching {
		o |= portals4.MEManageLocal
	}
	r.linkOverflow(pt, entry(mem, o), "block")
	return mem
}

// send puts data with those match bits, and waits until the target has it.
func (r *rig) send(pt *portals4.PT, bits uint64, data []byte) {
	r.Helper()
	q := r.newEQ(r.src, 4)
	md := r.bind(r.src, portals4.MD{Start: data, EQ: q, Options: portals4.MDEventSendDisable})
	x := r.xfer(pt, len(data))
	x.MatchBits, x.Ack, x.HdrData = bits, portals4.Ack, bits+1
	r.must(md.Put(x))
	r.want(q, portals4.EventAck)
	r.must(md.Release())
	r.must(q.Free())
}

func testUnexpectedPut(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	r.block(pt, 64)
	r.send(pt, 3, pattern(16, 3))
	r.none(q)
	h := r.link(pt, exact(make([]byte, 16), portals4.OpPut|portals4.UseOnce, 3), "receive")
	ev := r.want(q, portals4.EventPutOverflow)
	check(r, "UserPtr", ev.UserPtr, any("receive"))
	r.same("what came", ev.Start, pattern(16, 3))
	r.want(q, portals4.EventAutoUnlink)
	r.none(q) // no LINK: the entry was never in the list
	r.code(h.Unlink(), portals4.ErrArgInvalid)
	h = r.link(pt, exact(make([]byte, 16), portals4.OpPut|portals4.UseOnce, 3), "next")
	r.want(q, portals4.EventLink)
	r.must(h.Unlink())
}

// testPutOverflowCT: an overflow entry counts what it takes.
func testPutOverflowCT(r *rig) {
	pt, c := r.newPT(r.dst, 0, nil), r.newCT(r.dst)
	e := entry(make([]byte, 64), portals4.OpPut|portals4.EventCTComm)
	e.CT = c
	r.linkOverflow(pt, e, nil)
	for k := range 5 {
		r.send(pt, uint64(k), pattern(8, 0))
	}
	r.reach(c, 5, 0)
}

// testCTOverflow: an entry counts what it finds, with events or without.
func testCTOverflow(r *rig) {
	for _, events := range []bool{true, false} {
		var q *portals4.EQ
		if events {
			q = r.newEQ(r.dst, 16)
		}
		pt, c, bytes := r.newPT(r.dst, 0, q), r.newCT(r.dst), r.newCT(r.dst)
		r.block(pt, 256)
		for range 5 {
			r.send(pt, 1, pattern(8, 0))
		}
		e := exact(make([]byte, 64), portals4.OpPut|portals4.EventCTOverflow|portals4.UseOnce|portals4.EventCTBytes|portals4.EventUnlinkDisable, 1)
		e.CT = bytes
		r.link(pt, e, nil)
		e = exact(make([]byte, 64), portals4.OpPut|portals4.EventCTOverflow, 1)
		e.CT = c
		h := r.link(pt, e, nil)
		if events {
			for range 5 {
				r.want(q, portals4.EventPutOverflow)
			}
			r.want(q, portals4.EventLink)
		}
		r.reach(c, 4, 0)
		r.reach(bytes, 8, 0)
		r.send(pt, 1, pattern(8, 0)) // an ordinary one is not of this option's kind
		r.stays(c, 4, 0)
		r.must(h.Unlink())
	}
}

// testUnexpectedOrder: what came first is found first, whoever looks.
func testUnexpectedOrder(r *rig) {
	q := r.newEQ(r.dst, 64)
	pt := r.newPT(r.dst, 0, q)
	r.block(pt, 4096)
	for k := range 20 {
		r.send(pt, uint64(k%4), []byte{byte(k)})
	}
	take := func(bits, ignore uint64) byte {
		e := entry(make([]byte, 8), portals4.OpPut|portals4.UseOnce|quiet)
		e.MatchBits, e.IgnoreBits = bits, ignore
		r.link(pt, e, nil)
		ev := r.want(q, portals4.EventPutOverflow)
		check(r, "HdrData", ev.HdrData, ev.MatchBits+1)
		return ev.Start[0]
	}
	for k, c := range []struct {
		bits, ignore uint64
		want         byte
	}{{2, 0, 2}, {0, ^uint64(0), 0}, {0, ^uint64(0), 1}, {2, 0, 6}, {0, 1, 4}, {1, 2, 3}, {1, 2, 5}, {0, ^uint64(0), 7}, {0, ^uint64(0), 8}, {3, 0, 11}, {0, ^uint64(0), 9}} {
		if got := take(c.bits, c.ignore); got != c.want {
			r.Fatalf("step %d took message %d, want %d", k, got, c.want)
		}
	}
}

// testPersistentTakesAll: an entry that stays gets all that wait for it, and then what comes.
func testPersistentTakesAll(r *rig) {
	q := r.newEQ(r.dst, 64)
	pt := r.newPT(r.dst, 0, q)
	r.block(pt, 4096)
	for k := range 6 {
		r.send(pt, uint64(k%2), []byte{byte(k)})
	}
	mem := make([]byte, 8)
	h := r.link(pt, exact(mem, portals4.OpPut, 1), "odd")
	for k := 1; k < 6; k += 2 {
		check(r, "message", r.want(q, portals4.EventPutOverflow).Start[0], byte(k))
	}
	r.want(q, portals4.EventLink)
	r.send(pt, 1, []byte{77})
	r.want(q, portals4.EventPut)
	check(r, "what came", mem[0], 77)
	r.must(h.Unlink())
	r.link(pt, entry(mem, portals4.OpPut), "rest")
	for k := 0; k < 6; k += 2 {
		check(r, "message", r.want(q, portals4.EventPutOverflow).Start[0], byte(k))
	}
	r.want(q, portals4.EventLink)
	r.none(q)
}

func testOverflowAppend(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	r.block(pt, 64)
	r.send(pt, 1, pattern(8, 0))
	h := r.linkOverflow(pt, entry(make([]byte, 8), portals4.OpPut|portals4.UseOnce), "second block")
	r.want(q, portals4.EventLink)
	r.none(q)
	r.must(h.Unlink())
	r.link(pt, entry(nil, portals4.OpPut|portals4.UseOnce|portals4.EventUnlinkDisable), nil)
	r.want(q, portals4.EventPutOverflow)
}

// testUnexpectedKinds: each operation has its overflow event.
func testUnexpectedKinds(r *rig) {
	q, sent := r.newEQ(r.dst, 16), r.newEQ(r.src, 16)
	pt := r.newPT(r.dst, 0, q)
	mem := make([]byte, 64)
	r.linkOverflow(pt, entry(mem, portals4.OpPut|portals4.OpGet|portals4.EventLinkDisable), "block")
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 64), EQ: sent, Options: portals4.MDEventSendDisable})
	x, into := r.xfer(pt, 8), &portals4.Into{MD: md, Offset: 32}
	x.Ack = portals4.Ack
	for _, c := range []struct {
		do                 func() error
		kind, over, answer portals4.Kind
	}{
		{func() error { return md.Put(x) }, portals4.EventPut, portals4.EventPutOverflow, portals4.EventAck},
		{func() error { return md.Get(x) }, portals4.EventGet, portals4.EventGetOverflow, portals4.EventReply},
		{func() error { return md.Atomic(x, portals4.Max, portals4.Uint16) }, portals4.EventAtomic, portals4.EventAtomicOverflow, portals4.EventAck},
		{func() error { return md.FetchAtomic(x, into, portals4.Max, portals4.Uint16) }, portals4.EventFetchAtomic, portals4.EventFetchAtomicOverflow, portals4.EventReply},
		{func() error { return md.Swap(x, into, make([]byte, 8), portals4.CSwap, portals4.Uint64) }, portals4.EventFetchAtomic, portals4.EventFetchAtomicOverflow, portals4.EventReply},
	} {
		r.must(c.do())
		ev := r.want(q, c.kind)
		check(r, "UserPtr", ev.UserPtr, any("block"))
		check(r, "List of the answer", r.want(sent, c.answer).List, portals4.OverflowList)
		r.link(pt, entry(nil, portals4.OpPut|portals4.OpGet|portals4.UseOnce|quiet), "receive")
		over := r.want(q, c.over)
		check(r, "UserPtr", over.UserPtr, any("receive"))
		check(r, "AtomicOp", over.AtomicOp, ev.AtomicOp)
		check(r, "AtomicType", over.AtomicType, ev.AtomicType)
		r.start(&over, mem, 0, 8)
	}
}

// testHeaderOnly: an overflow entry without memory keeps headers, with the length that was asked for.
func testHeaderOnly(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	r.linkOverflow(pt, entry(nil, portals4.OpPut|portals4.EventLinkDisable|portals4.EventCommDisable), nil)
	for _, n := range []int{8, 300 << 10} {
		r.send(pt, 9, make([]byte, n))
		r.link(pt, exact(make([]byte, n), portals4.OpPut|portals4.UseOnce|quiet, 9), nil)
		ev := r.want(q, portals4.EventPutOverflow)
		check(r, "MLength", ev.MLength, 0)
		check(r, "RLength", ev.RLength, uint64(n))
		check(r, "HdrData", ev.HdrData, 10)
	}
}

// testHdrDisable: an overflow entry may take messages that nobody will look for.
func testHdrDisable(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	mem := make([]byte, 8)
	r.linkOverflow(pt, entry(mem, portals4.OpPut|portals4.UnexpectedHdrDisable|portals4.EventLinkDisable), nil)
	r.send(pt, 1, pattern(8, 1))
	r.want(q, portals4.EventPut)
	r.same("what came", mem, pattern(8, 1))
	r.link(pt, entry(nil, portals4.OpPut|portals4.UseOnce), nil)
	r.want(q, portals4.EventLink)
	r.none(q)
}

// testNoCheckOfUnexpected: a message that was taken is not checked again when an entry finds it.
func testNoCheckOfUnexpected(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	r.block(pt, 64)
	r.send(pt, 1, pattern(8, 0))
	uid, err := r.nis[r.src].UID()
	r.must(err)
	e := entry(nil, portals4.OpGet|portals4.UseOnce|quiet)
	e.UID = uid + 1000
	r.link(pt, e, nil)
	r.want(q, portals4.EventPutOverflow)
}

// testAutoFreeLast: AUTO_FREE comes after AUTO_UNLINK and after the last message that lies in the entry was found.
func testAutoFreeLast(r *rig) {
	q := r.newEQ(r.dst, 32)
	pt := r.newPT(r.dst, 0, q)
	r.linkOverflow(pt, entry(make([]byte, 64), portals4.OpPut|portals4.UseOnce|portals4.EventLinkDisable), "block")
	r.send(pt, 1, pattern(8, 0))
	r.want(q, portals4.EventPut)
	check(r, "UserPtr", r.want(q, portals4.EventAutoUnlink).UserPtr, any("block"))
	r.none(q)
	r.link(pt, entry(nil, portals4.OpPut|portals4.UseOnce), "receive")
	r.want(q, portals4.EventPutOverflow)
	evs := []portals4.Event{r.next(q), r.next(q)}
	free := 0
	for _, ev := range evs {
		if ev.Type == portals4.EventAutoFree {
			check(r, "UserPtr of AUTO_FREE", ev.UserPtr, any("block"))
			check(r, "PT of AUTO_FREE", ev.PT, pt.Index())
			free++
		} else if ev.Type != portals4.EventAutoUnlink || ev.UserPtr != "receive" {
			r.Fatalf("event %v", &ev)
		}
	}
	check(r, "AUTO_FREE events", free, 1)
	r.none(q)

	// Without a header nobody has to look for it: it is free at once. With UNLINK disabled it is free in silence.
	r.linkOverflow(pt, entry(make([]byte, 64), portals4.OpPut|portals4.UseOnce|portals4.EventLinkDisable|portals4.UnexpectedHdrDisable), "nobody's")
	r.send(pt, 1, pattern(8, 0))
	r.want(q, portals4.EventPut)
	r.want(q, portals4.EventAutoUnlink)
	r.want(q, portals4.EventAutoFree)
	r.linkOverflow(pt, entry(make([]byte, 64), portals4.OpPut|portals4.UseOnce|quiet), "silent")
	r.send(pt, 1, pattern(8, 0))
	r.want(q, portals4.EventPut)
	r.link(pt, entry(nil, portals4.OpPut|portals4.UseOnce|quiet), nil)
	r.want(q, portals4.EventPutOverflow)
	r.none(q)
	r.must(pt.Free())
}

// testAutoFreeManageLocal: a block with many messages is freed once, whoever takes the last: an entry or a search.
func testAutoFreeManageLocal(r *rig) {
	q := r.newEQ(r.dst, 64)
	pt := r.newPT(r.dst, 0, q)
	e := entry(make([]byte, 100), portals4.OpPut|portals4.MEManageLocal|portals4.EventLinkDisable|portals4.EventCommDisable)
	e.MinFree = 20
	for round := range 4 {
		r.linkOverflow(pt, e, round)
		for k := range 9 {
			r.send(pt, uint64(k), pattern(10, byte(k)))
			if k == 8 {
				check(r, "UserPtr", r.want(q, portals4.EventAutoUnlink).UserPtr, any(round))
			}
		}
		r.none(q)
		for k := range 9 {
			find := exact(nil, portals4.OpPut|portals4.UseOnce|quiet, uint64(k))
			if (k+round)%2 == 0 {
				r.must(r.searchErr(pt, find, portals4.SearchDelete, nil))
			} else {
				r.link(pt, find, nil)
			}
			r.same("what came", r.want(q, portals4.EventPutOverflow).Start, pattern(10, byte(k)))
		}
		check(r, "UserPtr", r.want(q, portals4.EventAutoFree).UserPtr, any(round))
		r.none(q)
	}
}

func testOverflowOptions(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	r.block(pt, 1024)
	for _, o := range []portals4.EntryOptions{portals4.EventOverDisable, portals4.EventOverDisable | portals4.UseOnce | portals4.EventUnlinkDisable} {
		r.send(pt, 1, pattern(8, 0))
		h := r.link(pt, entry(nil, portals4.OpPut|o), nil)
		if o&portals4.UseOnce == 0 {
			r.want(q, portals4.EventLink)
			r.must(h.Unlink())
		}
		r.none(q)
	}
	r.send(pt, 1, pattern(8, 0)) // SUCCESS and COMM hide no overflow event
	r.link(pt, entry(nil, portals4.OpPut|portals4.UseOnce|portals4.EventSuccessDisable|portals4.EventCommDisable|portals4.EventUnlinkDisable), nil)
	r.want(q, portals4.EventPutOverflow)
}

// testUnexpectedNoTruncate: the length counts in matching of what has come, too.
func testUnexpectedNoTruncate(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	r.block(pt, 64)
	r.send(pt, 1, pattern(16, 0))
	r.link(pt, entry(make([]byte, 15), portals4.OpPut|portals4.UseOnce|portals4.MENoTruncate), "short")
	r.want(q, portals4.EventLink)
	r.link(pt, entry(make([]byte, 16), portals4.OpPut|portals4.UseOnce|portals4.MENoTruncate|quiet), "long")
	check(r, "UserPtr", r.want(q, portals4.EventPutOverflow).UserPtr, any("long"))
}

// testAppendVersusArrival: entries are linked while messages come. Each message is found by exactly one entry, and each entry finds one: there is no
// moment at which a message is in neither list.
func testAppendVersusArrival(r *rig) {
	const times = 300
	q := r.newEQ(r.dst, 8*times)
	pt := r.newPT(r.dst, 0, q)
	o := portals4.OpPut | portals4.EventLinkDisable | portals4.EventCommDisable
	r.linkOverflow(pt, entry(make([]byte, 8), o), nil)
	c := r.newCT(r.src)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 8), CT: c, Options: portals4.MDEventCTAck})
	var wg sync.WaitGroup
	var putErr, linkErr error
	wg.Go(func() {
		for range times {
			x := r.xfer(pt, 8)
			x.Ack = portals4.CTAck
			if putErr = md.Put(x); putErr != nil {
				return
			}
		}
	})
	wg.Go(func() {
		for k := range times {
			if _, linkErr = r.appendErr(pt, entry(make([]byte, 8), portals4.OpPut|portals4.UseOnce|quiet), portals4.PriorityList, k); linkErr != nil {
				return
			}
		}
	})
	wg.Wait()
	r.must(putErr)
	r.must(linkErr)
	r.reach(c, times, 0)
	for k := range times { // entries are used in the order of their linking, messages found in the order of their coming
		ev := r.next(q)
		if ev.Type != portals4.EventPut && ev.Type != portals4.EventPutOverflow {
			r.Fatalf("event %v", &ev)
		}
		check(r, "UserPtr", ev.UserPtr, any(k))
	}
	r.none(q)
}
