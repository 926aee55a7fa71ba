package portalstest

import "github.com/ompi-go/ompi-go/portals4"

func searchCases() []testCase {
	return []testCase{
		{"SearchOnly", any4, testSearchOnly}, {"SearchDelete", any4, testSearchDelete}, {"PersistentSearch", any4, testPersistentSearch},
		{"SearchNoMatch", any4, testSearchNoMatch}, {"TestSearchNeverCounts", any4, testSearchNeverCounts}, {"SearchByBits", matching, testSearchByBits},
		{"SearchWithoutEQ", any4, testSearchWithoutEQ}, {"SearchIsNotLinked", any4, testSearchIsNotLinked}, {"SearchWhileMoving", any4, testSearchWhileMoving},
	}
}

func (r *rig) search(pt *portals4.PT, e portals4.ME, op portals4.SearchOp, user any) {
	r.Helper()
	r.must(r.searchErr(pt, e, op, user))
}

func testSearchOnly(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	mem := r.block(pt, 64)
	x := r.xfer(pt, 8)
	md := r.bind(r.src, portals4.MD{Start: pattern(8, 4)})
	r.must(md.Put(x))
	r.settle()
	for range 3 { // it stays where it is
		r.search(pt, entry(nil, portals4.OpPut|portals4.UseOnce), portals4.SearchOnly, "probe")
		ev := r.want(q, portals4.EventSearch)
		r.target(&ev, pt, x, "probe", portals4.OverflowList)
		r.start(&ev, mem, 0, 8)
		check(r, "HdrData", ev.HdrData, x.HdrData)
		r.none(q)
	}
	r.link(pt, entry(nil, portals4.OpPut|portals4.UseOnce|quiet), nil)
	r.want(q, portals4.EventPutOverflow)
}

func testSearchDelete(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	mem := r.block(pt, 64)
	x := r.xfer(pt, 8)
	md := r.bind(r.src, portals4.MD{Start: pattern(8, 4)})
	r.must(md.Put(x))
	r.settle()
	r.search(pt, entry(nil, portals4.OpPut|portals4.UseOnce), portals4.SearchDelete, "take")
	ev := r.want(q, portals4.EventPutOverflow)
	r.target(&ev, pt, x, "take", portals4.OverflowList)
	r.start(&ev, mem, 0, 8)
	r.none(q)
	r.search(pt, entry(nil, portals4.OpPut|portals4.UseOnce), portals4.SearchDelete, "again")
	check(r, "UserPtr", r.wantFail(q, portals4.EventSearch, portals4.NoMatch).UserPtr, any("again"))
	r.must(md.Get(x)) // a get's event is of its own kind
	r.settle()
	r.search(pt, entry(nil, portals4.OpPut|portals4.UseOnce), portals4.SearchDelete, "take")
	r.want(q, portals4.EventGetOverflow)
}

// testPersistentSearch: a search without USE_ONCE finds all.
func testPersistentSearch(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	r.block(pt, 64)
	for k := range 5 {
		r.send(pt, 1, []byte{byte(k)})
	}
	r.search(pt, entry(nil, portals4.OpPut), portals4.SearchOnly, "look")
	for k := range 5 {
		ev := r.want(q, portals4.EventSearch)
		if r.matching {
			check(r, "message", ev.Start[0], byte(k))
		}
	}
	r.none(q)
	r.search(pt, entry(nil, portals4.OpPut), portals4.SearchDelete, "take")
	for range 5 {
		check(r, "UserPtr", r.want(q, portals4.EventPutOverflow).UserPtr, any("take"))
	}
	r.none(q)
	for _, op := range []portals4.SearchOp{portals4.SearchOnly, portals4.SearchDelete} {
		r.search(pt, entry(nil, portals4.OpPut), op, "none")
		r.wantFail(q, portals4.EventSearch, portals4.NoMatch)
		r.none(q)
	}
}

func testSearchNoMatch(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	for _, op := range []portals4.SearchOp{portals4.SearchOnly, portals4.SearchDelete} {
		for _, o := range []portals4.EntryOptions{0, portals4.UseOnce, portals4.EventSuccessDisable} {
			r.search(pt, entry(nil, portals4.OpPut|o), op, "empty")
			check(r, "UserPtr", r.wantFail(q, portals4.EventSearch, portals4.NoMatch).UserPtr, any("empty"))
		}
	}
	// What is in the lists is no message.
	r.link(pt, entry(nil, portals4.OpPut|portals4.EventLinkDisable), nil)
	r.block(pt, 64)
	r.search(pt, entry(nil, portals4.OpPut), portals4.SearchOnly, "entries")
	r.wantFail(q, portals4.EventSearch, portals4.NoMatch)
	r.none(q)
}

// testSearchNeverCounts: neither counting events nor status registers change by searching.
func testSearchNeverCounts(r *rig) {
	q := r.newEQ(r.dst, 32)
	pt, c := r.newPT(r.dst, 0, q), r.newCT(r.dst)
	r.block(pt, 64)
	registers := func() (v [3]uint64) {
		for k := range v {
			v[k] = r.status(r.dst, portals4.StatusRegister(k))
		}
		return v
	}
	for range 4 {
		r.send(pt, 1, pattern(4, 0))
	}
	before := registers()
	e := entry(nil, portals4.OpPut|portals4.EventCTComm|portals4.EventCTOverflow)
	e.CT = c
	r.search(pt, e, portals4.SearchOnly, nil)
	for range 4 {
		r.want(q, portals4.EventSearch)
	}
	e.Options |= portals4.UseOnce
	r.search(pt, e, portals4.SearchDelete, nil)
	r.want(q, portals4.EventPutOverflow)
	e.Options |= portals4.EventCTBytes
	e.Options &^= portals4.UseOnce
	r.search(pt, e, portals4.SearchDelete, nil)
	for range 3 {
		r.want(q, portals4.EventPutOverflow)
	}
	r.search(pt, e, portals4.SearchDelete, nil)
	r.wantFail(q, portals4.EventSearch, portals4.NoMatch)
	r.stays(c, 0, 0)
	check(r, "status registers", registers(), before)
}

func testSearchByBits(r *rig) {
	q := r.newEQ(r.dst, 32)
	pt := r.newPT(r.dst, 0, q)
	r.block(pt, 256)
	for k := range 8 {
		r.send(pt, uint64(k), []byte{byte(k)})
	}
	look := func(bits, ignore uint64, o portals4.EntryOptions, want ...byte) {
		r.Helper()
		e := entry(nil, portals4.OpPut|o)
		e.MatchBits, e.IgnoreBits = bits, ignore
		r.search(pt, e, portals4.SearchOnly, nil)
		for _, w := range want {
			check(r, "message", r.want(q, portals4.EventSearch).Start[0], w)
		}
		if len(want) == 0 {
			r.wantFail(q, portals4.EventSearch, portals4.NoMatch)
		}
		r.none(q)
	}
	look(5, 0, 0, 5)
	look(5, 2, 0, 5, 7)
	look(4, 3, portals4.UseOnce, 4)
	look(8, 7, 0)
	e := exact(nil, portals4.OpPut, 0)
	e.IgnoreBits, e.MatchID = ^uint64(0), r.nis[r.dst].ProcessOf(r.src)
	e.MatchID.Rank, e.MatchID.PID = e.MatchID.Rank+1, e.MatchID.PID+1
	r.search(pt, e, portals4.SearchOnly, "of another process")
	r.wantFail(q, portals4.EventSearch, portals4.NoMatch)
	e = exact(nil, portals4.OpPut, 6)
	r.search(pt, e, portals4.SearchDelete, nil)
	check(r, "message", r.want(q, portals4.EventPutOverflow).Start[0], 6)
	look(6, 1, 0, 7)
}

// testSearchWithoutEQ: there is nobody to tell, but the messages go.
func testSearchWithoutEQ(r *rig) {
	pt, c := r.newPT(r.dst, 0, nil), r.newCT(r.dst)
	r.block(pt, 64)
	r.send(pt, 1, pattern(8, 0))
	r.search(pt, entry(nil, portals4.OpPut), portals4.SearchDelete, nil)
	e := entry(nil, portals4.OpPut|portals4.EventCTOverflow)
	e.CT = c
	r.link(pt, e, nil)
	r.stays(c, 0, 0)
}

func testSearchIsNotLinked(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	r.search(pt, entry(make([]byte, 8), portals4.OpPut), portals4.SearchOnly, nil)
	r.wantFail(q, portals4.EventSearch, portals4.NoMatch)
	r.refused(*r.xfer(pt, 8), portals4.Dropped)
	r.none(q)
	r.must(pt.Free())
}
