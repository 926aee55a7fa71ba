package portalstest

import (
	"errors"

	"github.com/ompi-go/ompi-go/portals4"
)

func limitCases() []testCase {
	return []testCase{
		{"Limits", any4, testLimits}, {"LimitEntries", any4, testLimitEntries}, {"LimitListSize", any4, testLimitListSize}, {"LimitMDs", any4, testLimitMDs},
		{"LimitCTs", any4, testLimitCTs}, {"LimitEQs", any4, testLimitEQs}, {"LimitPTs", any4, testLimitPTs}, {"LimitIovecs", any4, testLimitIovecs},
		{"LimitTriggered", any4, testLimitTriggered}, {"LimitSizes", any4, testLimitSizes},
	}
}

// limited makes the rig's interfaces anew, with small limits.
func (r *rig) limited(change func(l *portals4.Limits)) portals4.Limits {
	r.Helper()
	l := r.nis[r.dst].Limits()
	change(&l)
	r.reopen(l)
	return r.nis[r.dst].Limits()
}

// testLimits: what is wished for is granted as far as it goes, and never less than the specification's least.
func testLimits(r *rig) {
	l := r.nis[r.dst].Limits()
	check := func(l portals4.Limits) {
		r.Helper()
		if l.MaxEntries < 1 || l.MaxUnexpectedHeaders < 1 || l.MaxMDs < 1 || l.MaxCTs < 1 || l.MaxEQs < 1 || l.MaxPTIndex < 63 || l.MaxIovecs < 1 ||
			l.MaxListSize < 1 || l.MaxTriggeredOps < 1 || l.MaxMsgSize < 64 || l.MaxAtomicSize < 8 || l.MaxFetchAtomicSize < 8 || l.MaxWAWOrderedSize < 64 ||
			l.MaxWAROrderedSize < 8 || l.MaxVolatileSize < 8 {
			r.Fatalf("limits %+v", l)
		}
	}
	check(l)
	r.reopen(portals4.Limits{})
	check(r.nis[r.dst].Limits())
	big := 1 << 40
	r.reopen(portals4.Limits{MaxEntries: big, MaxUnexpectedHeaders: big, MaxMDs: big, MaxCTs: big, MaxEQs: big, MaxPTIndex: big, MaxIovecs: big, MaxListSize: big,
		MaxTriggeredOps: big, MaxMsgSize: 1 << 63, MaxAtomicSize: 1 << 63, MaxFetchAtomicSize: 1 << 63, MaxWAWOrderedSize: 1 << 63, MaxWAROrderedSize: 1 << 63,
		MaxVolatileSize: 1 << 63})
	check(r.nis[r.dst].Limits())
}

// exactly calls make until it fails, and wants that after n times, with that code.
func (r *rig) exactly(n int, code portals4.Code, make func() error) {
	r.Helper()
	for k := 0; ; k++ {
		err := make()
		if err != nil {
			r.code(err, code)
			if k != n {
				r.Fatalf("%d were made, the limit is %d", k, n)
			}
			return
		}
		if k > n {
			r.Fatalf("%d were made, the limit is %d", k, n)
		}
	}
}

func testLimitEntries(r *rig) {
	l := r.limited(func(l *portals4.Limits) { l.MaxEntries = 20 })
	a, b := r.newPT(r.dst, 0, nil), r.newPT(r.dst, 0, nil)
	var last portals4.Entry
	k := 0
	add := func() (err error) {
		k++
		pt, list := a, portals4.List(k/2%2)
		if k%2 == 0 {
			pt = b
		}
		var h portals4.Entry
		if h, err = r.appendErr(pt, entry(nil, portals4.OpPut), list, nil); err == nil {
			last = h
		}
		return err
	}
	r.exactly(l.MaxEntries, portals4.ErrNoSpace, add)
	r.must(last.Unlink())
	r.exactly(1, portals4.ErrNoSpace, add)
}

func testLimitListSize(r *rig) {
	l := r.limited(func(l *portals4.Limits) { l.MaxListSize = 10 })
	if l.MaxListSize >= l.MaxEntries {
		r.Skip("a list is as long as there are entries")
	}
	pt := r.newPT(r.dst, 0, nil)
	var last portals4.Entry
	add := func() error {
		h, err := r.appendErr(pt, entry(nil, portals4.OpPut), portals4.PriorityList, nil)
		if err == nil {
			last = h
		}
		return err
	}
	r.exactly(l.MaxListSize, portals4.ErrListTooLong, add)
	r.must(last.Unlink())
	r.exactly(1, portals4.ErrListTooLong, add)
	other := r.newPT(r.dst, 0, nil) // another list has its own length
	r.link(other, entry(nil, portals4.OpPut), nil)
}

func testLimitMDs(r *rig) {
	l := r.limited(func(l *portals4.Limits) { l.MaxMDs = 10 })
	var last *portals4.MDHandle
	add := func() error {
		md, err := r.nis[r.dst].MDBind(&portals4.MD{})
		if err == nil {
			last = md
		}
		return err
	}
	r.exactly(l.MaxMDs, portals4.ErrNoSpace, add)
	r.must(last.Release())
	r.exactly(1, portals4.ErrNoSpace, add)
}

func testLimitCTs(r *rig) {
	l := r.limited(func(l *portals4.Limits) { l.MaxCTs = 10 })
	var last *portals4.CT
	add := func() error {
		c, err := r.nis[r.dst].CTAlloc()
		if err == nil {
			last = c
		}
		return err
	}
	r.exactly(l.MaxCTs, portals4.ErrNoSpace, add)
	r.must(last.Free())
	r.exactly(1, portals4.ErrNoSpace, add)
}

func testLimitEQs(r *rig) {
	l := r.limited(func(l *portals4.Limits) { l.MaxEQs = 10 })
	var last *portals4.EQ
	add := func() error {
		q, err := r.nis[r.dst].EQAlloc(1)
		if err == nil {
			last = q
		}
		return err
	}
	r.exactly(l.MaxEQs, portals4.ErrNoSpace, add)
	r.must(last.Free())
	r.exactly(1, portals4.ErrNoSpace, add)
}

func testLimitPTs(r *rig) {
	l := r.limited(func(l *portals4.Limits) { l.MaxPTIndex = 63 })
	ni := r.nis[r.dst]
	top, err := ni.PTAlloc(0, nil, uint32(l.MaxPTIndex)) // inclusive
	r.must(err)
	check(r, "index", top.Index(), uint32(l.MaxPTIndex))
	_, err = ni.PTAlloc(0, nil, uint32(l.MaxPTIndex)+1)
	r.code(err, portals4.ErrArgInvalid)
	seen := map[uint32]bool{top.Index(): true}
	add := func() error {
		pt, err := ni.PTAlloc(0, nil, portals4.AnyPT)
		if err == nil {
			check(r, "an index given twice", seen[pt.Index()], false)
			seen[pt.Index()] = true
		}
		return err
	}
	r.exactly(l.MaxPTIndex, portals4.ErrPTFull, add)
	r.must(top.Free())
	delete(seen, top.Index())
	r.exactly(1, portals4.ErrPTFull, add)
}

func testLimitIovecs(r *rig) {
	l := r.limited(func(l *portals4.Limits) { l.MaxIovecs = 6 })
	pt := r.newPT(r.dst, 0, nil)
	iov := make([][]byte, l.MaxIovecs+1)
	_, err := r.nis[r.dst].MDBind(&portals4.MD{Iovec: iov})
	r.code(err, portals4.ErrArgInvalid)
	e := entry(nil, portals4.OpPut)
	e.Iovec = iov
	_, err = r.appendErr(pt, e, portals4.PriorityList, nil)
	r.code(err, portals4.ErrArgInvalid)
	r.bind(r.dst, portals4.MD{Iovec: iov[1:]})
	e.Iovec = iov[1:]
	r.link(pt, e, nil)
}

func testLimitTriggered(r *rig) {
	l := r.limited(func(l *portals4.Limits) { l.MaxTriggeredOps = 10 })
	trig, a, pt := r.newCT(r.src), r.newCT(r.src), r.newPT(r.dst, 0, nil)
	r.link(pt, entry(nil, portals4.OpPut), nil)
	md := r.bind(r.src, portals4.MD{})
	k := 0
	add := func() error {
		k++
		if k%2 == 0 {
			return a.TriggeredInc(one, trig, 1)
		}
		return md.TriggeredPut(r.xfer(pt, 0), trig, 1)
	}
	r.exactly(l.MaxTriggeredOps, portals4.ErrNoSpace, add)
	r.must(trig.Inc(one))
	r.stays(a, uint64(l.MaxTriggeredOps/2), 0)
	r.must(trig.Set(portals4.CTEvent{}))
	r.exactly(l.MaxTriggeredOps, portals4.ErrNoSpace, add)
	r.must(trig.CancelTriggered())
	r.exactly(l.MaxTriggeredOps, portals4.ErrNoSpace, add)
}

// testLimitSizes: an operation of the largest size works, one byte more is refused.
func testLimitSizes(r *rig) {
	l := r.limited(func(l *portals4.Limits) { l.MaxMsgSize, l.MaxAtomicSize, l.MaxFetchAtomicSize = 4096, 256, 128 })
	if l.MaxMsgSize > 1<<20 || l.MaxAtomicSize > 1<<20 || l.MaxFetchAtomicSize > 1<<20 {
		r.Skipf("limits %+v", l)
	}
	size := int(max(l.MaxMsgSize, l.MaxAtomicSize, l.MaxFetchAtomicSize) + 1)
	pt, c := r.newPT(r.dst, 0, nil), r.newCT(r.src)
	r.link(pt, entry(make([]byte, size), portals4.OpPut|portals4.OpGet), nil)
	o := portals4.MDEventCTAck | portals4.MDEventCTReply
	md, into := r.bind(r.src, portals4.MD{Start: make([]byte, size), CT: c, Options: o}), r.bind(r.src, portals4.MD{Start: make([]byte, size), CT: c, Options: o})
	to, trig, done := &portals4.Into{MD: into}, r.newCT(r.src), uint64(0)
	for _, k := range []struct {
		most uint64
		f    func(x *portals4.Transfer) error
	}{
		{l.MaxMsgSize, md.Put}, {l.MaxMsgSize, into.Get},
		{l.MaxAtomicSize, func(x *portals4.Transfer) error { return md.Atomic(x, portals4.Sum, portals4.Uint8) }},
		{l.MaxFetchAtomicSize, func(x *portals4.Transfer) error { return md.FetchAtomic(x, to, portals4.Sum, portals4.Uint8) }},
		{l.MaxFetchAtomicSize, func(x *portals4.Transfer) error { return md.Swap(x, to, nil, portals4.Swap, portals4.Uint8) }},
		{l.MaxMsgSize, func(x *portals4.Transfer) error { return md.TriggeredPut(x, trig, 0) }},
		{l.MaxMsgSize, func(x *portals4.Transfer) error { return into.TriggeredGet(x, trig, 0) }},
		{l.MaxAtomicSize, func(x *portals4.Transfer) error { return md.TriggeredAtomic(x, portals4.Sum, portals4.Uint8, trig, 0) }},
		{l.MaxFetchAtomicSize, func(x *portals4.Transfer) error {
			return md.TriggeredFetchAtomic(x, to, portals4.Sum, portals4.Uint8, trig, 0)
		}},
		{l.MaxFetchAtomicSize, func(x *portals4.Transfer) error {
			return md.TriggeredSwap(x, to, nil, portals4.Swap, portals4.Uint8, trig, 0)
		}},
	} {
		x := r.xfer(pt, int(k.most))
		x.Ack = portals4.CTAck
		r.must(k.f(x))
		done++
		r.reach(c, done, 0)
		x.Length++
		r.code(k.f(x), portals4.ErrArgInvalid)
		r.stays(c, done, 0)
	}
}

// oneOf wants an error of one of those codes.
func (r *rig) oneOf(err error, codes ...portals4.Code) {
	r.Helper()
	for _, c := range codes {
		if errors.Is(err, c) {
			return
		}
	}
	r.Fatalf("error %v, want one of %v", err, codes)
}
