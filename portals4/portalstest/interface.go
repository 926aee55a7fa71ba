package portalstest

import (
	"slices"

	"github.com/ompi-go/ompi-go/portals4"
)

func interfaceCases() []testCase {
	return []testCase{
		{"NITwice", any4, testNITwice}, {"NIFlavoursApart", any4, testFlavoursApart}, {"NIReopen", any4, testNIReopen}, {"IDs", any4, testIDs},
		{"Map", any4, testMap}, {"MapPermuted", peers, testMapPermuted}, {"Handles", any4, testHandles}, {"NIFiniInterrupts", any4, testNIFiniInterrupts},
		{"NIFiniUnderWay", any4, testNIFiniUnderWay},
	}
}

// testNITwice: a flavour is made once, and ends with the last that has it.
func testNITwice(r *rig) {
	ni := r.nis[r.dst]
	small := portals4.Limits{MaxEntries: 1}
	again, err := r.ifs[r.dst].NI(r.options(), 12345, &small) // pid and limits are ignored
	r.must(err)
	check(r, "the network interface", again, ni)
	check(r, "limits", again.Limits(), ni.Limits())
	r.must(again.Close())
	r.newCT(r.dst) // the first is still there
}

// testFlavoursApart: the four interfaces of a process have portal tables of their own.
func testFlavoursApart(r *rig) {
	q := r.newEQ(r.dst, 8)
	pt, err := r.nis[r.dst].PTAlloc(0, q, 7)
	r.must(err)
	r.link(pt, entry(make([]byte, 8), portals4.OpPut|quiet), "this one")
	for _, f := range flavours {
		if f == r.flavour {
			continue
		}
		other := &rig{reporter: r.reporter, flavour: f, ifs: r.ifs, src: r.src, dst: r.dst}
		other.open(nil)
		x := &portals4.Transfer{Target: other.to(other.dst), PT: 7, MatchBits: 0x77}
		other.refused(*x, portals4.Dropped)
		theirs, err := other.nis[other.dst].PTAlloc(0, nil, 7)
		other.must(err)
		other.link(theirs, entry(nil, portals4.OpPut), nil)
		other.send(theirs, 0, nil)
		other.close()
	}
	r.none(q)
	r.send(pt, 0, pattern(8, 0))
	r.want(q, portals4.EventPut)
}

// testNIReopen: an interface that has ended leaves nothing to the next.
func testNIReopen(r *rig) {
	l := r.nis[r.dst].Limits()
	for range 3 {
		q := r.newEQ(r.dst, 8)
		pt, err := r.nis[r.dst].PTAlloc(0, q, 5)
		r.must(err)
		r.link(pt, entry(make([]byte, 8), portals4.OpPut), nil)
		r.want(q, portals4.EventLink)
		r.send(pt, 0, pattern(8, 0))
		r.want(q, portals4.EventPut)
		old, md := r.nis[r.dst], r.bind(r.src, portals4.MD{})
		r.reopen(l)
		r.code(q.Free(), portals4.ErrNoInit)
		r.code(pt.Free(), portals4.ErrNoInit)
		r.code(md.Release(), portals4.ErrNoInit)
		_, err = old.CTAlloc()
		r.code(err, portals4.ErrNoInit)
		r.code(old.Close(), portals4.ErrNoInit)
		x := &portals4.Transfer{Target: r.to(r.dst), PT: 5}
		r.refused(*x, portals4.Dropped)
		check(r, "drops", r.status(r.dst, portals4.DropCount), 1)
	}
}

func testIDs(r *rig) {
	seen := map[portals4.Process]bool{}
	for rank, ni := range r.nis {
		id, err := ni.ID()
		r.must(err)
		check(r, "ID", id, ni.ProcessOf(rank))
		phys, err := ni.PhysID()
		r.must(err)
		check(r, "two processes have one physical id", seen[phys], false)
		seen[phys] = true
		if r.logical {
			check(r, "rank", id.Rank, uint32(rank))
		} else {
			check(r, "ID", id, phys)
		}
		_, err = ni.UID()
		r.must(err)
		check(r, "pid of a process", phys.PID != portals4.AnyPID && phys.NID != portals4.AnyNID, true)
	}
}

func testMap(r *rig) {
	ni := r.nis[r.dst]
	if !r.logical {
		r.code(ni.SetMap([]portals4.Process{{}}), portals4.ErrArgInvalid)
		r.code(ni.SetJobMap(), portals4.ErrArgInvalid)
		_, err := ni.Map()
		r.code(err, portals4.ErrArgInvalid)
		return
	}
	m, err := ni.Map()
	r.must(err)
	check(r, "length of the map", len(m), len(r.nis))
	for rank, p := range m {
		phys, err := r.nis[rank].PhysID()
		r.must(err)
		check(r, "NID", p.NID, phys.NID)
		check(r, "PID", p.PID, phys.PID)
	}
	r.code(ni.SetMap(nil), portals4.ErrArgInvalid)
	r.code(ni.SetMap([]portals4.Process{portals4.Physical(4711, 4711)}), portals4.ErrArgInvalid)
	again, err := ni.Map()
	r.must(err)
	check(r, "the map is as it was", slices.Equal(m, again), true)
	r.must(ni.SetMap(m))
}

// testMapPermuted: ranks are what the map says they are.
func testMapPermuted(r *rig) {
	if !r.logical {
		return
	}
	m, err := r.nis[0].Map()
	r.must(err)
	slices.Reverse(m)
	for _, ni := range r.nis {
		r.must(ni.SetMap(m))
	}
	n := len(r.nis)
	for rank, ni := range r.nis {
		id, err := ni.ID()
		r.must(err)
		check(r, "rank", id, portals4.Rank(n-1-rank))
		q, pt := r.newEQ(rank, 4), (*portals4.PT)(nil)
		pt = r.newPT(rank, 0, q)
		r.link(pt, entry(nil, portals4.OpPut|quiet), nil)
		for from := range r.nis {
			md := r.bind(from, portals4.MD{})
			r.must(md.Put(&portals4.Transfer{Target: portals4.Rank(n - 1 - rank), PT: pt.Index()}))
			check(r, "Initiator", r.want(q, portals4.EventPut).Initiator.Rank, uint32(n-1-from))
		}
	}
}

// testHandles: handles can be compared, and those of different objects differ.
func testHandles(r *rig) {
	pt := r.newPT(r.dst, 0, nil)
	a, b := r.link(pt, entry(nil, portals4.OpPut), nil), r.link(pt, entry(nil, portals4.OpPut), nil)
	same := a
	check(r, "an entry is itself", a == same, true)
	check(r, "two entries are one", a == b, false)
	check(r, "an entry is none", a == portals4.Entry{}, false)
	r.must(a.Unlink())
	c := r.link(pt, entry(nil, portals4.OpPut), nil)
	check(r, "an entry is one that is gone", a == c, false)
}

// testNIFiniInterrupts: who waits hears of the end.
func testNIFiniInterrupts(r *rig) {
	q, c := r.newEQ(r.dst, 4), r.newCT(r.dst)
	l := r.nis[r.dst].Limits()
	done := make(chan error, 2)
	go func() {
		var ev portals4.Event
		done <- q.Wait(&ev)
	}()
	go func() {
		_, err := c.Wait(1)
		done <- err
	}()
	r.move()
	r.reopen(l)
	for range 2 {
		r.oneOf(r.answer(done), portals4.ErrInterrupted, portals4.ErrNoInit) // it may have come too late to wait
	}
}

// testNIFiniUnderWay: an interface ends while operations are under way, at either end. That is the end of these; the process and its peers go on.
func testNIFiniUnderWay(r *rig) {
	const n = 1 << 20
	l := r.nis[r.dst].Limits()
	for round := range 4 {
		q := r.newEQ(r.dst, 64)
		pt := r.newPT(r.dst, 0, q)
		e := entry(make([]byte, 3*n), portals4.OpPut|portals4.OpGet|portals4.EventCTComm)
		e.CT = r.newCT(r.dst)
		r.link(pt, e, nil)
		md := r.bind(r.src, portals4.MD{Start: make([]byte, 3*n), EQ: r.newEQ(r.src, 64), CT: r.newCT(r.src), Options: portals4.MDEventCTAck | portals4.MDEventCTReply})
		for _, size := range []int{8, n, 5000} {
			x := r.xfer(pt, size)
			x.Ack = portals4.Ack
			r.must(md.Put(x))
			x.Offset, x.RemoteOffset, x.Length = 2*n, 2*n, 8
			r.must(md.FetchAtomic(x, &portals4.Into{MD: md, Offset: 2*n + 8}, portals4.Sum, portals4.Int64))
		}
		for _, to := range []struct{ at, size int }{{n, 8}, {n + n/2, 5000}, {2*n + n/4, n / 2}} {
			x := r.xfer(pt, to.size)
			x.Offset, x.RemoteOffset = uint64(to.at), n
			r.must(md.Get(x))
		}
		switch round {
		case 1:
			r.move()
		case 2: // the target ends first
			r.must(r.nis[r.dst].Close())
			again, err := r.ifs[r.dst].NI(r.options(), portals4.AnyPID, nil)
			r.must(err)
			r.nis[r.dst], r.idle = again, nil
			if r.logical {
				r.must(again.SetJobMap())
			}
			r.settle()
		}
		r.reopen(l)
	}
	r.settle() // what was for the interface that has ended, and is on the way still, goes to the new one
	testPutEvents(r)
	testGetEvents(r)
}
