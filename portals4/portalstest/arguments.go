package portalstest

import (
	"time"

	"github.com/ompi-go/ompi-go/portals4"
	"github.com/ompi-go/ompi-go/portals4/atomics"
)

func argumentCases() []testCase {
	return []testCase{
		{"ArgumentsNI", any4, testArgumentsNI}, {"ArgumentsPT", any4, testArgumentsPT}, {"ArgumentsEntry", any4, testArgumentsEntry},
		{"ArgumentsMD", any4, testArgumentsMD}, {"ArgumentsEQ", any4, testArgumentsEQ}, {"ArgumentsCT", any4, testArgumentsCT},
		{"ArgumentsMove", any4, testArgumentsMove}, {"ArgumentsAtomic", any4, testArgumentsAtomic}, {"ArgumentsSwap", any4, testArgumentsSwap},
		{"ArgumentsTriggered", any4, testArgumentsTriggered}, {"NoObject", any4, testNoObject}, {"OtherInterface", any4, testOtherInterface},
		{"BeforeSetMap", any4, testBeforeSetMap},
	}
}

// invalid wants ErrArgInvalid of all.
func (r *rig) invalid(errs ...error) {
	r.Helper()
	for k, err := range errs {
		if err == nil {
			r.Fatalf("call %d of %d: no error, want %v", k, len(errs), portals4.ErrArgInvalid)
		}
		r.code(err, portals4.ErrArgInvalid)
	}
}

func second[T any](_ T, err error) error { return err }

// answer is what a goroutine sends, some time.
func (r *rig) answer(c chan error) error {
	r.Helper()
	select {
	case err := <-c:
		return err
	case <-time.After(patience):
		r.Fatal("nobody wakes up")
		return nil
	}
}

func testArgumentsNI(r *rig) {
	i := r.ifs[r.dst]
	for _, o := range []portals4.NIOptions{0, portals4.Matching, portals4.Logical, portals4.Matching | portals4.NoMatching | portals4.Logical,
		portals4.Matching | portals4.Logical | portals4.PhysicalAddresses, portals4.Matching | portals4.Logical | 1<<20} {
		r.invalid(second(i.NI(o, portals4.AnyPID, nil)))
	}
	r.code(second((*portals4.Interface)(nil).NI(r.options(), portals4.AnyPID, nil)), portals4.ErrNoInit)
	r.invalid(second(r.nis[r.dst].Status(-1)), second(r.nis[r.dst].Status(1000)))
	if r.dst != r.src {
		phys, err := r.nis[r.src].PhysID()
		r.must(err)
		for k := range r.nis {
			r.must(r.nis[k].Close())
		}
		r.nis = nil
		r.code(second(i.NI(r.options(), phys.PID, nil)), portals4.ErrPIDInUse)
		r.open(nil)
	}
}

func testArgumentsPT(r *rig) {
	ni := r.nis[r.dst]
	q := r.newEQ(r.dst, 4)
	r.code(second(ni.PTAlloc(portals4.PTFlowCtrl, nil, portals4.AnyPT)), portals4.ErrPTEQNeeded)
	r.invalid(second(ni.PTAlloc(1<<20, q, portals4.AnyPT)), second(ni.PTAlloc(0, q, uint32(ni.Limits().MaxPTIndex+1))))
	pt, err := ni.PTAlloc(portals4.PTOnlyUseOnce|portals4.PTOnlyTruncate|portals4.PTFlowCtrl, q, 9)
	r.must(err)
	check(r, "index", pt.Index(), 9)
	r.code(second(ni.PTAlloc(0, nil, 9)), portals4.ErrPTInUse)
	h := r.link(pt, entry(nil, portals4.OpPut), nil)
	r.code(pt.Free(), portals4.ErrInUse)
	r.must(h.Unlink())
	h = r.linkOverflow(pt, entry(nil, portals4.OpPut), nil)
	r.code(pt.Free(), portals4.ErrInUse)
	r.must(h.Unlink())
	r.must(pt.Free())
	r.invalid(pt.Free(), pt.Enable(), pt.Disable())
	if r.matching {
		r.invalid(second(pt.MEAppend(&portals4.ME{}, 0, nil)), pt.MESearch(&portals4.ME{}, 0, nil))
	} else {
		r.invalid(second(pt.LEAppend(&portals4.LE{}, 0, nil)), pt.LESearch(&portals4.LE{}, 0, nil))
	}
	must, err := ni.PTAlloc(0, nil, 9) // free again
	r.must(err)
	check(r, "index", must.Index(), 9)
	freed := r.newEQ(r.dst, 4)
	r.must(freed.Free())
	r.invalid(second(ni.PTAlloc(0, freed, portals4.AnyPT)))
}

func testArgumentsEntry(r *rig) {
	pt := r.newPT(r.dst, 0, nil)
	freed := r.newCT(r.dst)
	r.must(freed.Free())
	bad := []portals4.ME{entry(nil, 1<<31), entry([]byte{1}, 0), entry(nil, portals4.EventCTComm)}
	bad[1].Iovec = [][]byte{{2}}
	bad[2].CT = freed
	for _, e := range bad {
		r.invalid(second(r.appendErr(pt, e, portals4.PriorityList, nil)), r.searchErr(pt, e, portals4.SearchOnly, nil))
	}
	good := entry(nil, portals4.OpPut)
	r.invalid(second(r.appendErr(pt, good, 2, nil)), r.searchErr(pt, good, 2, nil))
	le := listEntry(good)
	if r.matching { // entries of the other kind
		r.invalid(second(pt.LEAppend(&le, 0, nil)), pt.LESearch(&le, 0, nil), second(pt.MEAppend(nil, 0, nil)), pt.MESearch(nil, 0, nil))
		return
	}
	r.invalid(second(pt.MEAppend(&good, 0, nil)), pt.MESearch(&good, 0, nil), second(pt.LEAppend(nil, 0, nil)), pt.LESearch(nil, 0, nil))
	for _, o := range []portals4.EntryOptions{portals4.MEManageLocal, portals4.MENoTruncate, portals4.MEMayAlign} {
		le.Options = o
		r.invalid(second(pt.LEAppend(&le, 0, nil)), pt.LESearch(&le, 0, nil))
	}
}

func testArgumentsMD(r *rig) {
	ni := r.nis[r.src]
	q, c := r.newEQ(r.src, 4), r.newCT(r.src)
	r.must(q.Free())
	r.must(c.Free())
	for _, d := range []*portals4.MD{nil, {Options: 1 << 20}, {Start: []byte{1}, Iovec: [][]byte{{2}}}, {Start: []byte{1}, Anywhere: true}, {EQ: q}, {CT: c}} {
		r.invalid(second(ni.MDBind(d)))
	}
}

func testArgumentsEQ(r *rig) {
	ni := r.nis[r.dst]
	var ev portals4.Event
	r.invalid(second(ni.EQAlloc(0)), second(ni.EQAlloc(-1)), second(portals4.EQPoll(nil, 0, &ev)), second(portals4.EQPoll([]*portals4.EQ{nil}, 0, &ev)),
		second(portals4.EQPoll([]*portals4.EQ{r.newEQ(r.dst, 1), nil}, 0, &ev)))
	q := r.newEQ(r.dst, 1)
	r.code(q.Get(&ev), portals4.ErrEQEmpty)
	r.code(q.Take(&ev), portals4.ErrEQEmpty)
}

func testArgumentsCT(r *rig) {
	c := r.newCT(r.dst)
	none := func(cs []*portals4.CT, tests []uint64) error {
		_, _, err := portals4.CTPoll(cs, tests, 0)
		return err
	}
	r.invalid(none(nil, nil), none([]*portals4.CT{c}, nil), none([]*portals4.CT{c}, []uint64{0, 1}), none([]*portals4.CT{nil}, []uint64{0}),
		none([]*portals4.CT{c, nil}, []uint64{1, 0}), c.Inc(portals4.CTEvent{Success: 1, Failure: 1}),
		c.TriggeredInc(portals4.CTEvent{Success: 1, Failure: 1}, c, 1), c.TriggeredInc(one, nil, 1), c.TriggeredSet(one, nil, 1))
}

// wrong are transfers with something wrong that all operations refuse. md is of 16 bytes.
func (r *rig) wrong(pt *portals4.PT) map[string]portals4.Transfer {
	m := map[string]portals4.Transfer{}
	add := func(name string, f func(x *portals4.Transfer)) {
		x := r.xfer(pt, 8)
		f(x)
		m[name] = *x
	}
	add("offset", func(x *portals4.Transfer) { x.Offset = 9 })
	add("length", func(x *portals4.Transfer) { x.Length = 24 })
	add("offset that wraps", func(x *portals4.Transfer) { x.Offset = ^uint64(0) - 3 })
	add("target", func(x *portals4.Transfer) { x.Target = portals4.Process{Rank: 1 << 20, NID: 1 << 20, PID: 1 << 20} })
	add("any target", func(x *portals4.Transfer) { x.Target = portals4.AnyProcess })
	return m
}

func testArgumentsMove(r *rig) {
	pt := r.newPT(r.dst, 0, nil)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 16)})
	for name, x := range r.wrong(pt) {
		r.Log(name)
		r.invalid(md.Put(&x), md.Get(&x))
	}
	x := r.xfer(pt, 8)
	x.Ack = portals4.Ack // nowhere to tell
	r.invalid(md.Put(x))
	x.Ack = portals4.CTAck
	r.invalid(md.Put(x))
	x.Ack = 77
	r.invalid(md.Put(x))
	r.must(md.Release())
	x.Ack = portals4.NoAck
	r.invalid(md.Put(x), md.Get(x))
}

func testArgumentsAtomic(r *rig) {
	pt := r.newPT(r.dst, 0, nil)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 16)})
	into := &portals4.Into{MD: r.bind(r.src, portals4.MD{Start: make([]byte, 16)})}
	for name, x := range r.wrong(pt) {
		r.Log(name)
		r.invalid(md.Atomic(&x, portals4.Sum, portals4.Int8), md.FetchAtomic(&x, into, portals4.Sum, portals4.Int8))
	}
	x := r.xfer(pt, 16)
	for op := range 40 {
		for typ := range 20 {
			if !atomics.Legal(uint8(op), uint8(typ), false) {
				r.invalid(md.Atomic(x, portals4.AtomicOp(op), portals4.Type(typ)), md.FetchAtomic(x, into, portals4.AtomicOp(op), portals4.Type(typ)))
			}
		}
	}
	x.Length = 12 // no whole number of elements
	r.invalid(md.Atomic(x, portals4.Sum, portals4.Int64), md.FetchAtomic(x, into, portals4.Sum, portals4.Int64))
	x.Length = 16
	r.invalid(md.FetchAtomic(x, nil, portals4.Sum, portals4.Int64), md.FetchAtomic(x, &portals4.Into{}, portals4.Sum, portals4.Int64),
		md.FetchAtomic(x, &portals4.Into{MD: into.MD, Offset: 1}, portals4.Sum, portals4.Int64))
	x.Ack = portals4.Ack
	r.invalid(md.Atomic(x, portals4.Sum, portals4.Int64))
	x.Ack = portals4.CTAck
	r.invalid(md.Atomic(x, portals4.Sum, portals4.Int64))
	x.Ack = portals4.NoAck
	r.must(into.MD.Release())
	r.invalid(md.FetchAtomic(x, into, portals4.Sum, portals4.Int64))
	r.must(md.Release())
	r.invalid(md.Atomic(x, portals4.Sum, portals4.Int64))
}

func testArgumentsSwap(r *rig) {
	pt := r.newPT(r.dst, 0, nil)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 16)})
	into := &portals4.Into{MD: r.bind(r.src, portals4.MD{Start: make([]byte, 16)})}
	operand := make([]byte, 16)
	for name, x := range r.wrong(pt) {
		r.Log(name)
		r.invalid(md.Swap(&x, into, nil, portals4.Swap, portals4.Int8), md.Swap(&x, into, operand[:8], portals4.CSwap, portals4.Int64))
	}
	for op := range 40 {
		for typ := range 20 {
			if !atomics.Legal(uint8(op), uint8(typ), true) {
				n := max(1, atomics.Size(uint8(typ)))
				r.invalid(md.Swap(r.xfer(pt, n), into, operand[:n], portals4.AtomicOp(op), portals4.Type(typ)))
			}
		}
	}
	for op := portals4.CSwap; op <= portals4.MSwap; op++ { // one datum, and its operand
		x := r.xfer(pt, 8)
		r.invalid(md.Swap(x, into, nil, op, portals4.Int64), md.Swap(x, into, operand[:4], op, portals4.Int64))
		x.Length = 16
		r.invalid(md.Swap(x, into, operand[:8], op, portals4.Int64))
	}
	x := r.xfer(pt, 12)
	r.invalid(md.Swap(x, into, nil, portals4.Swap, portals4.Int64))
	x.Length = 8
	r.invalid(md.Swap(x, nil, nil, portals4.Swap, portals4.Int64), md.Swap(x, &portals4.Into{}, nil, portals4.Swap, portals4.Int64),
		md.Swap(x, &portals4.Into{MD: into.MD, Offset: 9}, nil, portals4.Swap, portals4.Int64))
	r.must(into.MD.Release())
	r.invalid(md.Swap(x, into, nil, portals4.Swap, portals4.Int64))
}

// testArgumentsTriggered: what is wrong with an operation is said at once, not when it begins.
func testArgumentsTriggered(r *rig) {
	pt, trig := r.newPT(r.dst, 0, nil), r.newCT(r.src)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 16)})
	into := &portals4.Into{MD: r.bind(r.src, portals4.MD{Start: make([]byte, 16)})}
	all := func(x *portals4.Transfer, trig *portals4.CT) []error {
		return []error{md.TriggeredPut(x, trig, 1), md.TriggeredGet(x, trig, 1), md.TriggeredAtomic(x, portals4.Sum, portals4.Int8, trig, 1),
			md.TriggeredFetchAtomic(x, into, portals4.Sum, portals4.Int8, trig, 1), md.TriggeredSwap(x, into, nil, portals4.Swap, portals4.Int8, trig, 1)}
	}
	for name, x := range r.wrong(pt) {
		r.Log(name)
		r.invalid(all(&x, trig)...)
	}
	good := r.xfer(pt, 8)
	r.invalid(all(good, nil)...)
	freed := r.newCT(r.src)
	r.must(freed.Free())
	r.invalid(all(good, freed)...)
	r.invalid(md.TriggeredAtomic(good, portals4.Swap, portals4.Int8, trig, 1), md.TriggeredFetchAtomic(good, into, portals4.CSwap, portals4.Int8, trig, 1),
		md.TriggeredSwap(good, into, nil, portals4.Sum, portals4.Int8, trig, 1), md.TriggeredSwap(good, into, nil, portals4.CSwap, portals4.Int64, trig, 1))
	r.must(trig.Inc(portals4.CTEvent{Success: 5}))
	r.settle()
	r.must(md.Release()) // nothing was armed
	r.must(into.MD.Release())
	r.invalid(all(good, trig)...)
}

// testNoObject: calls on nothing say so, and do not crash.
func testNoObject(r *rig) {
	var ev portals4.Event
	var md *portals4.MDHandle
	x := r.xfer(r.newPT(r.dst, 0, nil), 0)
	c := r.newCT(r.dst)
	r.invalid((*portals4.EQ)(nil).Free(), (*portals4.EQ)(nil).Get(&ev), (*portals4.EQ)(nil).Take(&ev), (*portals4.EQ)(nil).Wait(&ev),
		(*portals4.CT)(nil).Free(), second((*portals4.CT)(nil).Get()), second((*portals4.CT)(nil).Wait(1)), (*portals4.CT)(nil).Set(one), (*portals4.CT)(nil).Inc(one),
		(*portals4.CT)(nil).CancelTriggered(), (*portals4.CT)(nil).TriggeredInc(one, c, 1), (*portals4.CT)(nil).TriggeredSet(one, c, 1),
		(*portals4.PT)(nil).Free(), (*portals4.PT)(nil).Enable(), (*portals4.PT)(nil).Disable(), portals4.Entry{}.Unlink(),
		md.Release(), md.Put(x), md.Get(x), md.Atomic(x, portals4.Sum, portals4.Int8), md.FetchAtomic(x, nil, portals4.Sum, portals4.Int8),
		md.Swap(x, nil, nil, portals4.Swap, portals4.Int8), md.TriggeredPut(x, c, 1), md.TriggeredGet(x, c, 1),
		md.TriggeredAtomic(x, portals4.Sum, portals4.Int8, c, 1), md.TriggeredFetchAtomic(x, nil, portals4.Sum, portals4.Int8, c, 1),
		md.TriggeredSwap(x, nil, nil, portals4.Swap, portals4.Int8, c, 1))
	_, err := (*portals4.NI)(nil).CTAlloc()
	r.code(err, portals4.ErrNoInit)
}

// testOtherInterface: objects of one network interface are not for another one.
func testOtherInterface(r *rig) {
	f := flavours[0]
	if f == r.flavour {
		f = flavours[1]
	}
	other := &rig{reporter: r.reporter, flavour: f, ifs: r.ifs[r.src : r.src+1]}
	ni, err := r.ifs[r.src].NI(f.options(), portals4.AnyPID, nil)
	r.must(err)
	other.nis = []*portals4.NI{ni}
	defer other.close()
	q, c := other.newEQ(0, 4), other.newCT(0)
	pt := r.newPT(r.src, 0, nil)
	e := entry(nil, portals4.EventCTComm)
	e.CT = c
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 8)})
	theirs := other.bind(0, portals4.MD{Start: make([]byte, 8)})
	r.invalid(second(r.nis[r.src].PTAlloc(0, q, portals4.AnyPT)), second(r.nis[r.src].MDBind(&portals4.MD{EQ: q})), second(r.nis[r.src].MDBind(&portals4.MD{CT: c})),
		second(r.appendErr(pt, e, portals4.PriorityList, nil)), md.TriggeredPut(r.xfer(pt, 8), c, 1), c.TriggeredInc(one, r.newCT(r.src), 1),
		md.FetchAtomic(r.xfer(pt, 8), &portals4.Into{MD: theirs}, portals4.Sum, portals4.Int8))
}

// testBeforeSetMap: a logical interface names nobody before it has its map.
func testBeforeSetMap(r *rig) {
	if !r.logical {
		return
	}
	r.close()
	for _, i := range r.ifs {
		ni, err := i.NI(r.options(), portals4.AnyPID, nil)
		r.must(err)
		r.nis = append(r.nis, ni)
	}
	ni := r.nis[r.src]
	_, err := ni.Map()
	r.oneOf(err, portals4.ErrNoSpace, portals4.ErrNoInit)
	_, err = ni.ID()
	r.oneOf(err, portals4.ErrNoInit, portals4.ErrArgInvalid)
	_, err = ni.PhysID()
	r.must(err)
	if md, err := ni.MDBind(&portals4.MD{}); err == nil {
		r.code(md.Put(&portals4.Transfer{Target: portals4.Rank(0)}), portals4.ErrNoInit)
		r.must(md.Release())
	}
	r.must(ni.SetJobMap())
	_, err = ni.ID()
	r.must(err)
}
