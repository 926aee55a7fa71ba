package portalstest

import "github.com/ompi-go/ompi-go/portals4"

func entryCases() []testCase {
	return []testCase{
		{"MatchBits", matching, testMatchBits}, {"MatchID", any4, testMatchID}, {"ListOrder", any4, testListOrder}, {"UseOnce", any4, testUseOnce},
		{"TestFailedCheckDoesNotConsume", any4, testFailedCheck}, {"TestNoTruncateIsNonMatch", matching, testNoTruncate},
		{"TestManageLocalCursorShared", matching, testManageLocal}, {"MinFree", matching, testMinFree}, {"Permission", any4, testPermission}, {"Users", peers, testUsers},
		{"Drops", any4, testDrops}, {"EmptyEntry", any4, testEmptyEntry}, {"PutIsNotGet", any4, testOperationBits}, {"IsAccessible", any4, testIsAccessible},
		{"TransfersAreValues", any4, testTransfersAreValues},
	}
}

// quiet are the options of entries whose events are not looked at.
const quiet = portals4.EventLinkDisable | portals4.EventUnlinkDisable

// putTo puts n bytes with those match bits and gives the user pointer of the entry that took them.
func (r *rig) putTo(pt *portals4.PT, q *portals4.EQ, bits uint64, n int) any {
	r.Helper()
	md := r.bind(r.src, portals4.MD{Start: make([]byte, n)})
	x := r.xfer(pt, n)
	x.MatchBits = bits
	r.must(md.Put(x))
	ev := r.want(q, portals4.EventPut)
	r.must(md.Release())
	return ev.UserPtr
}

// refused makes a put that the target refuses in that way.
func (r *rig) refused(x portals4.Transfer, why portals4.FailType) {
	r.Helper()
	q := r.newEQ(r.src, 4)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, x.Length), EQ: q, Options: portals4.MDEventSendDisable})
	x.Ack = portals4.Ack
	r.must(md.Put(&x))
	r.wantFail(q, portals4.EventAck, why)
	r.must(md.Release())
	r.must(q.Free())
}

func testMatchBits(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	add := func(bits, ignore uint64, user any) {
		e := entry(make([]byte, 8), portals4.OpPut|quiet)
		e.MatchBits, e.IgnoreBits = bits, ignore
		r.link(pt, e, user)
	}
	add(0x10, 0, "exact")
	add(0x20, 0xf, "low bits ignored")
	add(0x1234_0000_0000_0000, 0x0000_ffff_ffff_ffff, "high bits alone")
	add(0, 1<<63, "the highest ignored")
	add(0x22, 0, "never reached")
	for _, c := range []struct {
		bits uint64
		want any
	}{{0x10, "exact"}, {0x2f, "low bits ignored"}, {0x22, "low bits ignored"}, {0x1234_ffff_0000_1111, "high bits alone"}, {0, "the highest ignored"},
		{1 << 63, "the highest ignored"}} {
		check(r, "the entry that took it", r.putTo(pt, q, c.bits, 8), c.want)
	}
	x := r.xfer(pt, 8)
	x.MatchBits = 0x11
	r.refused(*x, portals4.Dropped)
	r.none(q)
}

func testMatchID(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	who := r.nis[r.dst].ProcessOf(r.src)
	other := who
	other.Rank, other.PID = other.Rank+1, other.PID+1
	add := func(id portals4.Process, user any) {
		e := entry(make([]byte, 8), portals4.OpPut|portals4.UseOnce|quiet)
		e.MatchID = id
		r.link(pt, e, user)
	}
	add(other, "another process")
	add(who, "this process")
	add(portals4.AnyProcess, "any process")
	if r.matching {
		check(r, "the entry that took it", r.putTo(pt, q, 0, 8), any("this process"))
		check(r, "the entry that took it", r.putTo(pt, q, 0, 8), any("any process"))
		if !r.logical {
			anyPID, anyNID := who, who
			anyPID.PID, anyNID.NID = portals4.AnyPID, portals4.AnyNID
			add(anyPID, "any of the node")
			add(anyNID, "that of any node")
			check(r, "the entry that took it", r.putTo(pt, q, 0, 8), any("any of the node"))
			check(r, "the entry that took it", r.putTo(pt, q, 0, 8), any("that of any node"))
		}
		r.refused(*r.xfer(pt, 8), portals4.Dropped)
		return
	}
	for _, want := range []any{"another process", "this process", "any process"} { // entries that do not match take everything, in order
		check(r, "the entry that took it", r.putTo(pt, q, 0, 8), want)
	}
}

// testListOrder: entries are tried in the order of their linking, those of the overflow list after all of the priority list.
func testListOrder(r *rig) {
	q := r.newEQ(r.dst, 64)
	pt := r.newPT(r.dst, 0, q)
	r.linkOverflow(pt, entry(make([]byte, 8), portals4.OpPut|portals4.UseOnce|quiet), "overflow")
	for k := range 10 {
		e := entry(make([]byte, 8), portals4.OpPut|portals4.UseOnce|quiet)
		if k%2 == 0 {
			e.IgnoreBits, e.MatchBits = 0, 5 // exact ones between those that take anything
		}
		r.link(pt, e, k)
	}
	for k := range 10 {
		check(r, "the entry that took it", r.putTo(pt, q, 5, 8), any(k))
	}
	check(r, "the entry that took it", r.putTo(pt, q, 5, 8), any("overflow"))
	r.refused(*r.xfer(pt, 8), portals4.Dropped)
}

func testUseOnce(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	h := r.link(pt, entry(make([]byte, 8), portals4.OpPut|portals4.UseOnce), "once")
	r.want(q, portals4.EventLink)
	check(r, "the entry that took it", r.putTo(pt, q, 0, 0), any("once")) // an empty put uses it, too
	check(r, "UserPtr", r.want(q, portals4.EventAutoUnlink).UserPtr, any("once"))
	r.refused(*r.xfer(pt, 8), portals4.Dropped)
	r.code(h.Unlink(), portals4.ErrArgInvalid)
	r.must(pt.Free())
}

// testFailedCheck: the first entry that matches decides. What it forbids is dropped: it is not used up, and no other is looked for.
func testFailedCheck(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	r.link(pt, entry(make([]byte, 8), portals4.OpGet|portals4.UseOnce|quiet), "for gets")
	strangers := entry(make([]byte, 8), portals4.OpPut|portals4.UseOnce|quiet)
	r.link(pt, entry(make([]byte, 8), portals4.OpPut|quiet), "behind")
	ops, perms, drops := r.status(r.dst, portals4.OperationViolations), r.status(r.dst, portals4.PermissionViolations), r.status(r.dst, portals4.DropCount)
	r.refused(*r.xfer(pt, 8), portals4.OpViolation)
	r.none(q)
	check(r, "operation violations", r.status(r.dst, portals4.OperationViolations), ops+1)
	got := r.newEQ(r.src, 4)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 8), EQ: got})
	r.must(md.Get(r.xfer(pt, 8)))
	r.want(got, portals4.EventReply)
	check(r, "the entry that was not used up", r.want(q, portals4.EventGet).UserPtr, any("for gets"))
	check(r, "the next", r.putTo(pt, q, 0, 8), any("behind"))

	pt2 := r.newPT(r.dst, 0, q)
	uid, err := r.nis[r.src].UID()
	r.must(err)
	strangers.UID = uid + 1000
	h := r.link(pt2, strangers, "of another user")
	r.link(pt2, entry(make([]byte, 8), portals4.OpPut|quiet), "behind")
	r.refused(*r.xfer(pt2, 8), portals4.PermViolation)
	check(r, "permission violations", r.status(r.dst, portals4.PermissionViolations), perms+1)
	check(r, "drops", r.status(r.dst, portals4.DropCount), drops)
	r.none(q)
	r.must(h.Unlink()) // it is still there
	check(r, "the next", r.putTo(pt2, q, 0, 8), any("behind"))
}

// testNoTruncate: an entry that takes nothing shorter does not match what is longer than its room.
func testNoTruncate(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	r.link(pt, entry(make([]byte, 16), portals4.OpPut|portals4.MENoTruncate|quiet), "whole")
	check(r, "the entry that took it", r.putTo(pt, q, 0, 16), any("whole"))
	r.refused(*r.xfer(pt, 17), portals4.Dropped)
	x := r.xfer(pt, 16)
	x.RemoteOffset = 1
	r.refused(*x, portals4.Dropped)
	x.RemoteOffset = ^uint64(0) - 3
	r.refused(*x, portals4.Dropped)
	r.link(pt, entry(make([]byte, 8), portals4.OpPut|quiet), "part")
	check(r, "the entry that took it", r.putTo(pt, q, 0, 17), any("part"))
	local := r.newPT(r.dst, 0, q)
	r.link(local, entry(make([]byte, 16), portals4.OpPut|portals4.MENoTruncate|portals4.MEManageLocal|quiet), "cursor")
	check(r, "the entry that took it", r.putTo(local, q, 0, 10), any("cursor"))
	r.refused(*r.xfer(local, 7), portals4.Dropped)
	check(r, "the entry that took it", r.putTo(local, q, 0, 6), any("cursor"))
}

// testManageLocal: an entry that manages its offsets has one for all operations, which moves on by what each moves.
func testManageLocal(r *rig) {
	mem := pattern(64, 0)
	q, sent := r.newEQ(r.dst, 16), r.newEQ(r.src, 16)
	pt := r.newPT(r.dst, 0, q)
	r.link(pt, entry(mem, portals4.OpPut|portals4.OpGet|portals4.MEManageLocal|portals4.EventLinkDisable), nil)
	buf := pattern(64, 100)
	md := r.bind(r.src, portals4.MD{Start: buf, EQ: sent, Options: portals4.MDEventSendDisable})
	x := r.xfer(pt, 10)
	x.RemoteOffset, x.Ack = 40, portals4.Ack // ignored, but told
	r.must(md.Put(x))
	ev := r.want(q, portals4.EventPut)
	r.start(&ev, mem, 0, 10)
	check(r, "RemoteOffset at the target", ev.RemoteOffset, 40)
	check(r, "RemoteOffset at the initiator", r.want(sent, portals4.EventAck).RemoteOffset, 0)
	x.Length = 20
	r.must(md.Get(x))
	ev = r.want(q, portals4.EventGet)
	r.start(&ev, mem, 10, 20)
	check(r, "RemoteOffset of the get", r.want(sent, portals4.EventReply).RemoteOffset, 10)
	r.same("what was got", buf[:20], pattern(64, 0)[10:30])
	x.Length = 64 // more than there is
	r.must(md.Put(x))
	ev = r.want(q, portals4.EventPut)
	r.start(&ev, mem, 30, 34)
	ack := r.want(sent, portals4.EventAck)
	check(r, "RemoteOffset at the initiator", ack.RemoteOffset, 30)
	check(r, "MLength at the initiator", ack.MLength, 34)
	x.Length = 1
	r.must(md.Put(x))
	ev = r.want(q, portals4.EventPut)
	check(r, "MLength when it is full", ev.MLength, 0)
	r.want(sent, portals4.EventAck)
	r.none(q)
}

// testMinFree: an entry goes when it has less room than it wants, the operation that fills it first.
func testMinFree(r *rig) {
	q := r.newEQ(r.dst, 32)
	pt := r.newPT(r.dst, 0, q)
	e := entry(make([]byte, 64), portals4.OpPut|portals4.MEManageLocal|portals4.EventLinkDisable)
	e.MinFree = 16
	r.link(pt, e, "first")
	r.link(pt, e, "second")
	for _, n := range []int{20, 20, 8, 0} { // 16 are left: just enough
		check(r, "the entry that took it", r.putTo(pt, q, 0, n), any("first"))
	}
	check(r, "the entry that took it", r.putTo(pt, q, 0, 1), any("first"))
	check(r, "UserPtr", r.want(q, portals4.EventAutoUnlink).UserPtr, any("first"))
	check(r, "the entry that took it", r.putTo(pt, q, 0, 64), any("second"))
	check(r, "UserPtr", r.want(q, portals4.EventAutoUnlink).UserPtr, any("second"))
	e.MinFree = 0
	r.link(pt, e, "stays")
	check(r, "the entry that took it", r.putTo(pt, q, 0, 64), any("stays"))
	check(r, "the entry that took it", r.putTo(pt, q, 0, 8), any("stays"))
	r.none(q)
}

func testPermission(r *rig) {
	q, got := r.newEQ(r.dst, 16), r.newEQ(r.src, 16)
	uid, err := r.nis[r.src].UID()
	r.must(err)
	pt := r.newPT(r.dst, 0, q)
	mine := entry(make([]byte, 8), portals4.OpPut|portals4.OpGet|quiet)
	mine.UID = uid
	r.link(pt, mine, "mine")
	check(r, "the entry that took it", r.putTo(pt, q, 0, 8), any("mine"))
	closed := r.newPT(r.dst, 0, q)
	mine.UID = uid + 1000
	r.link(closed, mine, "another's")
	before := r.status(r.dst, portals4.PermissionViolations)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 8), EQ: got, Options: portals4.MDEventSendDisable})
	x := r.xfer(closed, 8)
	x.Ack = portals4.Ack
	r.must(md.Put(x))
	r.wantFail(got, portals4.EventAck, portals4.PermViolation)
	r.must(md.Get(x))
	r.wantFail(got, portals4.EventReply, portals4.PermViolation)
	r.must(md.Atomic(x, portals4.Sum, portals4.Int64))
	r.wantFail(got, portals4.EventAck, portals4.PermViolation)
	r.must(md.FetchAtomic(x, &portals4.Into{MD: md}, portals4.Sum, portals4.Int64))
	r.wantFail(got, portals4.EventReply, portals4.PermViolation)
	r.none(q)
	check(r, "permission violations", r.status(r.dst, portals4.PermissionViolations), before+4)
}

// testOperationBits: what an entry allows decides; to fetch and change needs both.
func testOperationBits(r *rig) {
	sent := r.newEQ(r.src, 16)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 16), EQ: sent, Options: portals4.MDEventSendDisable})
	into := &portals4.Into{MD: md, Offset: 8}
	for allowed := portals4.EntryOptions(0); allowed < 4; allowed++ {
		pt := r.newPT(r.dst, 0, nil)
		r.link(pt, entry(make([]byte, 8), allowed*portals4.OpPut), nil)
		x := r.xfer(pt, 8)
		x.Ack = portals4.Ack
		for _, c := range []struct {
			needs portals4.EntryOptions
			do    func() error
			kind  portals4.Kind
		}{
			{portals4.OpPut, func() error { return md.Put(x) }, portals4.EventAck},
			{portals4.OpGet, func() error { return md.Get(x) }, portals4.EventReply},
			{portals4.OpPut, func() error { return md.Atomic(x, portals4.Sum, portals4.Int64) }, portals4.EventAck},
			{portals4.OpPut | portals4.OpGet, func() error { return md.FetchAtomic(x, into, portals4.Sum, portals4.Int64) }, portals4.EventReply},
			{portals4.OpPut | portals4.OpGet, func() error { return md.Swap(x, into, nil, portals4.Swap, portals4.Int64) }, portals4.EventReply},
		} {
			r.must(c.do())
			want := portals4.OpViolation
			if allowed&c.needs == c.needs {
				want = portals4.OK
			}
			r.wantFail(sent, c.kind, want)
		}
	}
	r.none(sent)
}

// testDrops counts what goes nowhere.
func testDrops(r *rig) {
	before := r.status(r.dst, portals4.DropCount)
	empty := r.newPT(r.dst, 0, nil)
	r.refused(*r.xfer(empty, 8), portals4.Dropped) // no entry
	x := r.xfer(empty, 8)
	x.PT = empty.Index() + 1
	r.refused(*x, portals4.Dropped) // not allocated
	r.must(empty.Free())
	r.refused(*r.xfer(empty, 8), portals4.Dropped) // not any more
	x.PT = uint32(r.nis[r.dst].Limits().MaxPTIndex + 1)
	r.refused(*x, portals4.Dropped) // no such
	shut := r.newPT(r.dst, 0, nil)
	r.link(shut, entry(make([]byte, 8), portals4.OpPut), nil)
	r.must(shut.Disable())
	r.refused(*r.xfer(shut, 8), portals4.PTDisabled)
	check(r, "drops", r.status(r.dst, portals4.DropCount), before+5)
}

func testEmptyEntry(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	r.link(pt, entry(nil, portals4.OpPut|portals4.OpGet|quiet), "empty")
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 1<<20)})
	for _, n := range []int{0, 8, 1 << 20} {
		x := r.xfer(pt, n)
		r.must(md.Put(x))
		ev := r.want(q, portals4.EventPut)
		check(r, "MLength", ev.MLength, 0)
		check(r, "RLength", ev.RLength, uint64(n))
		check(r, "HdrData", ev.HdrData, x.HdrData)
	}
	r.must(md.Get(r.xfer(pt, 8)))
	check(r, "MLength", r.want(q, portals4.EventGet).MLength, 0)
}

// testIsAccessible: the option promises something of the memory, and changes nothing.
func testIsAccessible(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	r.link(pt, entry(make([]byte, 8), portals4.OpPut|portals4.IsAccessible|portals4.MEMayAlign|quiet), "open")
	check(r, "the entry that took it", r.putTo(pt, q, 0, 8), any("open"))
}

// testTransfersAreValues: descriptions are the caller's again when the call has returned.
func testTransfersAreValues(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	e := exact(make([]byte, 8), portals4.OpPut|quiet, 1)
	h := r.link(pt, e, "kept")
	e = portals4.ME{}
	d := portals4.MD{Start: make([]byte, 8)}
	md, err := r.nis[r.src].MDBind(&d)
	r.must(err)
	d = portals4.MD{}
	x := r.xfer(pt, 8)
	x.MatchBits = 1
	r.must(md.Put(x))
	*x = portals4.Transfer{}
	ev := r.want(q, portals4.EventPut)
	check(r, "UserPtr", ev.UserPtr, any("kept"))
	check(r, "MLength", ev.MLength, 8)
	r.must(h.Unlink())
	_, _ = e, d
}

// testUsers: an entry can be for one user alone; who asks cannot pretend to be another.
func testUsers(r *rig) {
	q := r.newEQ(r.dst, 16)
	for owner := range r.nis {
		uid, err := r.nis[owner].UID()
		r.must(err)
		pt := r.newPT(r.dst, 0, q)
		e := entry(make([]byte, 8), portals4.OpPut|quiet)
		e.UID = uid
		r.link(pt, e, owner)
		for from := range r.nis {
			sent := r.newEQ(from, 4)
			md := r.bind(from, portals4.MD{Start: make([]byte, 8), EQ: sent, Options: portals4.MDEventSendDisable})
			r.must(md.Put(&portals4.Transfer{Length: 8, Target: r.nis[from].ProcessOf(r.dst), PT: pt.Index(), Ack: portals4.Ack}))
			if from != owner {
				r.wantFail(sent, portals4.EventAck, portals4.PermViolation)
				continue
			}
			r.want(sent, portals4.EventAck)
			check(r, "UID", r.want(q, portals4.EventPut).UID, uid)
		}
	}
	r.none(q)
}
