package portalstest

import (
	"encoding/binary"
	"sync"

	"github.com/ompi-go/ompi-go/portals4"
)

func triggeredCases() []testCase {
	return []testCase{
		{"TriggeredPut", any4, testTriggeredPut}, {"TriggeredKinds", any4, testTriggeredKinds}, {"TriggeredByOperations", any4, testTriggeredByOperations},
		{"TriggeredInc", any4, testTriggeredInc}, {"TriggeredSet", any4, testTriggeredSet}, {"TriggeredOrder", any4, testTriggeredOrder},
		{"TriggeredReadsLate", any4, testTriggeredReadsLate}, {"TriggeredByFailure", any4, testTriggeredByFailure}, {"TriggeredFails", any4, testTriggeredFails},
		{"TriggeredChain", any4, testTriggeredChain}, {"TriggeredOnce", any4, testTriggeredOnce}, {"CancelTriggered", any4, testCancelTriggered},
		{"FreeDropsTriggered", any4, testFreeDropsTriggered}, {"TestTriggeredCheckAndEnqueue", any4, testTriggeredCheckAndEnqueue},
		{"TriggeredKeepsMD", any4, testTriggeredKeepsMD}, {"TriggeredRing", peers, testTriggeredRing},
	}
}

var one = portals4.CTEvent{Success: 1}

func testTriggeredPut(r *rig) {
	mem, trig, sent := make([]byte, 8), r.newCT(r.src), r.newCT(r.src)
	pt := r.newPT(r.dst, 0, nil)
	r.link(pt, entry(mem, portals4.OpPut), nil)
	md := r.bind(r.src, portals4.MD{Start: pattern(8, 1), CT: sent, Options: portals4.MDEventCTAck})
	x := r.xfer(pt, 8)
	x.Ack = portals4.CTAck
	r.must(md.TriggeredPut(x, trig, 3))
	*x = portals4.Transfer{} // not kept
	for range 2 {
		r.must(trig.Inc(one))
		r.stays(sent, 0, 0)
	}
	r.must(trig.Inc(one))
	r.reach(sent, 1, 0)
	r.same("what came", mem, pattern(8, 1))
	r.must(trig.Inc(one))
	r.stays(sent, 1, 0)
}

// testTriggeredKinds: every operation can wait, and begins at once where the count is there.
func testTriggeredKinds(r *rig) {
	for _, early := range []bool{false, true} {
		q := r.newEQ(r.dst, 16)
		pt, trig := r.newPT(r.dst, 0, q), r.newCT(r.src)
		mem := binary.LittleEndian.AppendUint64(nil, 40)
		r.link(pt, entry(mem, portals4.OpPut|portals4.OpGet|quiet), nil)
		buf := binary.LittleEndian.AppendUint64(nil, 2)
		got := make([]byte, 24)
		md, into := r.bind(r.src, portals4.MD{Start: buf}), r.bind(r.src, portals4.MD{Start: got})
		if early {
			r.must(trig.Set(portals4.CTEvent{Success: 9}))
		}
		x := r.xfer(pt, 8)
		kinds := []portals4.Kind{portals4.EventGet, portals4.EventAtomic, portals4.EventFetchAtomic, portals4.EventFetchAtomic, portals4.EventPut}
		for k, f := range []func(threshold uint64) error{
			func(n uint64) error { return into.TriggeredGet(x, trig, n) },
			func(n uint64) error { return md.TriggeredAtomic(x, portals4.Sum, portals4.Uint64, trig, n) },
			func(n uint64) error {
				return md.TriggeredFetchAtomic(x, &portals4.Into{MD: into, Offset: 8}, portals4.Sum, portals4.Uint64, trig, n)
			},
			func(n uint64) error {
				operand := binary.LittleEndian.AppendUint64(nil, 44)
				err := md.TriggeredSwap(x, &portals4.Into{MD: into, Offset: 16}, operand, portals4.CSwap, portals4.Uint64, trig, n)
				clear(operand) // read in the call
				return err
			},
			func(n uint64) error { return md.TriggeredPut(x, trig, n) },
		} {
			r.must(f(uint64(k + 1)))
			if !early {
				r.none(q)
				r.must(trig.Inc(one))
			}
			r.want(q, kinds[k])
		}
		r.settle()
		for k, want := range []uint64{40, 42, 44} {
			check(r, "value", binary.LittleEndian.Uint64(got[8*k:]), want)
		}
		check(r, "value at the target", binary.LittleEndian.Uint64(mem), 2)
	}
}

// testTriggeredByOperations: what counts is operations, so one begins when another has come.
func testTriggeredByOperations(r *rig) {
	came, answer := r.newCT(r.dst), r.newCT(r.src)
	there, back := r.newPT(r.dst, 0, nil), r.newPT(r.src, 0, nil)
	e := entry(make([]byte, 8), portals4.OpPut|portals4.EventCTComm)
	e.CT = came
	r.link(there, e, nil)
	mem := make([]byte, 8)
	e = entry(mem, portals4.OpPut|portals4.EventCTComm)
	e.CT = answer
	r.link(back, e, nil)
	reply := r.bind(r.dst, portals4.MD{Start: pattern(8, 77)})
	r.must(reply.TriggeredPut(&portals4.Transfer{Length: 8, Target: r.nis[r.dst].ProcessOf(r.src), PT: back.Index()}, came, 2))
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 8)})
	r.must(md.Put(r.xfer(there, 8)))
	r.stays(answer, 0, 0)
	r.must(md.Put(r.xfer(there, 8)))
	r.reach(answer, 1, 0)
	r.same("the answer", mem, pattern(8, 77))
}

func testTriggeredInc(r *rig) {
	trig, a, b := r.newCT(r.dst), r.newCT(r.dst), r.newCT(r.dst)
	r.must(b.TriggeredInc(portals4.CTEvent{Failure: 5}, trig, 2)) // in the wrong order
	r.must(a.TriggeredInc(portals4.CTEvent{Success: 3}, trig, 1))
	r.must(trig.Inc(one))
	r.stays(a, 3, 0)
	r.stays(b, 0, 0)
	r.must(trig.Inc(portals4.CTEvent{Failure: 1}))
	r.stays(b, 0, 5)
	r.must(a.TriggeredInc(one, trig, 2)) // reached already
	r.stays(a, 4, 0)
	r.must(a.TriggeredInc(one, a, 6)) // by itself
	r.must(a.Inc(one))
	r.must(a.Inc(one))
	r.stays(a, 7, 0)
	r.code(a.TriggeredInc(portals4.CTEvent{Success: 1, Failure: 1}, trig, 2), portals4.ErrArgInvalid)
}

func testTriggeredSet(r *rig) {
	trig, a := r.newCT(r.dst), r.newCT(r.dst)
	r.must(a.TriggeredSet(portals4.CTEvent{Success: 20, Failure: 2}, trig, 2))
	r.must(a.TriggeredSet(portals4.CTEvent{Success: 10}, trig, 1))
	r.must(trig.Inc(one))
	r.stays(a, 10, 0)
	r.must(trig.Inc(one))
	r.stays(a, 20, 2)
	// A count that resets itself starts again.
	r.must(trig.TriggeredSet(portals4.CTEvent{}, trig, 5))
	r.must(trig.Inc(portals4.CTEvent{Success: 3}))
	r.stays(trig, 0, 0)
}

// testTriggeredOrder: lower thresholds first, equal ones in the order of the calls, however they were made and however far the count leaps.
func testTriggeredOrder(r *rig) {
	thresholds := []uint64{7, 3, 7, 1, 5, 3, 9, 3, 1, 7}
	for _, steps := range [][]uint64{{9}, {3, 6}, {1, 1, 1, 1, 1, 1, 1, 1, 1}} {
		q := r.newEQ(r.dst, 16)
		pt, trig := r.newPT(r.dst, 0, q), r.newCT(r.src)
		r.link(pt, entry(nil, portals4.OpPut|quiet), nil)
		md := r.bind(r.src, portals4.MD{})
		for k, n := range thresholds {
			x := r.xfer(pt, 0)
			x.HdrData = uint64(k)
			r.must(md.TriggeredPut(x, trig, n))
		}
		for _, n := range steps {
			r.must(trig.Inc(portals4.CTEvent{Success: n}))
		}
		for _, k := range []uint64{3, 8, 1, 5, 7, 4, 0, 2, 9, 6} {
			check(r, "HdrData", r.want(q, portals4.EventPut).HdrData, k)
		}
		r.none(q)
	}
}

// testTriggeredReadsLate: memory is read when the operation begins.
func testTriggeredReadsLate(r *rig) {
	mem, trig, c := make([]byte, 8), r.newCT(r.src), r.newCT(r.dst)
	pt := r.newPT(r.dst, 0, nil)
	e := entry(mem, portals4.OpPut|portals4.EventCTComm)
	e.CT = c
	r.link(pt, e, nil)
	buf := pattern(8, 1)
	md := r.bind(r.src, portals4.MD{Start: buf})
	r.must(md.TriggeredPut(r.xfer(pt, 8), trig, 1))
	copy(buf, pattern(8, 50))
	r.must(trig.Inc(one))
	r.reach(c, 1, 0)
	r.same("what came", mem, pattern(8, 50))
}

// testTriggeredByFailure: thresholds are of success and failure together.
func testTriggeredByFailure(r *rig) {
	trig, a := r.newCT(r.src), r.newCT(r.src)
	r.must(a.TriggeredInc(one, trig, 2))
	r.must(trig.Inc(portals4.CTEvent{Failure: 1}))
	r.stays(a, 0, 0)
	r.must(trig.Inc(portals4.CTEvent{Failure: 1}))
	r.stays(a, 1, 0)
}

// testTriggeredFails: what goes wrong with an operation that waited is told as with others.
func testTriggeredFails(r *rig) {
	trig, q := r.newCT(r.src), r.newEQ(r.src, 8)
	pt := r.newPT(r.dst, 0, nil)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 8), EQ: q, Options: portals4.MDEventSendDisable})
	x := r.xfer(pt, 8)
	x.Ack = portals4.Ack
	r.must(md.TriggeredPut(x, trig, 1))
	r.must(md.TriggeredGet(x, trig, 2))
	r.must(trig.Inc(portals4.CTEvent{Success: 2}))
	r.allFail(q, portals4.Dropped, portals4.EventAck, portals4.EventReply)
	r.none(q)
}

// testTriggeredChain: operations that trigger one another do so in any number.
func testTriggeredChain(r *rig) {
	n := min(20000, r.nis[r.src].Limits().MaxTriggeredOps)
	const cts = 4
	var cs [cts]*portals4.CT
	for k := range cs {
		cs[k] = r.newCT(r.src)
	}
	for k := range n - 1 {
		r.must(cs[(k+1)%cts].TriggeredInc(one, cs[k%cts], uint64(k/cts+1)))
	}
	r.must(cs[0].Inc(one))
	for k, c := range cs {
		r.stays(c, uint64((n-k+cts-1)/cts), 0)
	}
}

// testTriggeredOnce: a count that goes back and comes again begins nothing twice.
func testTriggeredOnce(r *rig) {
	trig, a := r.newCT(r.src), r.newCT(r.src)
	r.must(a.TriggeredInc(one, trig, 1))
	for range 3 {
		r.must(trig.Inc(one))
		r.must(trig.Set(portals4.CTEvent{}))
	}
	r.stays(a, 1, 0)
	r.must(a.TriggeredInc(one, trig, 1)) // the count is 0 again
	r.stays(a, 1, 0)
	r.must(trig.Inc(one))
	r.stays(a, 2, 0)
}

func testCancelTriggered(r *rig) {
	trig, a := r.newCT(r.src), r.newCT(r.src)
	for k := range 10 {
		r.must(a.TriggeredInc(one, trig, uint64(k%3+1)))
	}
	r.must(trig.Inc(one))
	r.stays(a, 4, 0)
	r.must(trig.CancelTriggered())
	r.must(trig.Inc(portals4.CTEvent{Success: 10}))
	r.stays(a, 4, 0)
	r.must(a.TriggeredInc(one, trig, 11))
	r.stays(a, 5, 0)
	r.must(trig.CancelTriggered()) // nothing waits
}

func testFreeDropsTriggered(r *rig) {
	trig, a := r.newCT(r.src), r.newCT(r.src)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 8)})
	pt := r.newPT(r.dst, 0, nil)
	r.must(a.TriggeredInc(one, trig, 1))
	r.must(md.TriggeredPut(r.xfer(pt, 8), trig, 1))
	r.must(trig.Free())
	r.stays(a, 0, 0)
	r.must(md.Release()) // nothing waits for it any more
	// A count that is freed before what would change it begins is left alone.
	trig = r.newCT(r.src)
	r.must(a.TriggeredInc(one, trig, 1))
	if err := a.Free(); err != nil {
		r.code(err, portals4.ErrInUse)
	}
	r.must(trig.Inc(one))
}

// testTriggeredCheckAndEnqueue: operations are armed while the count goes on. None is armed behind a count that was there already, and so lost.
func testTriggeredCheckAndEnqueue(r *rig) {
	times := min(1000, r.nis[r.src].Limits().MaxTriggeredOps)
	trig, a := r.newCT(r.src), r.newCT(r.src)
	var wg sync.WaitGroup
	errs := make([]error, 2)
	wg.Go(func() {
		for range times {
			if errs[0] = trig.Inc(one); errs[0] != nil {
				return
			}
		}
	})
	wg.Go(func() {
		for k := range times {
			if errs[1] = a.TriggeredInc(one, trig, uint64(k+1)); errs[1] != nil {
				return
			}
		}
	})
	wg.Wait()
	r.must(errs[0])
	r.must(errs[1])
	r.stays(a, uint64(times), 0)
}

// testTriggeredKeepsMD: what waits keeps its memory descriptors in use.
func testTriggeredKeepsMD(r *rig) {
	trig, pt := r.newCT(r.src), r.newPT(r.dst, 0, nil)
	r.link(pt, entry(make([]byte, 8), portals4.OpPut|portals4.OpGet), nil)
	c := r.newCT(r.src)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 8)})
	into := r.bind(r.src, portals4.MD{Start: make([]byte, 8), CT: c, Options: portals4.MDEventCTReply})
	r.must(md.TriggeredFetchAtomic(r.xfer(pt, 8), &portals4.Into{MD: into}, portals4.Sum, portals4.Int64, trig, 1))
	r.code(md.Release(), portals4.ErrInUse)
	r.code(into.Release(), portals4.ErrInUse)
	r.must(trig.Inc(one))
	r.reach(c, 1, 0)
	r.settle()
	r.must(md.Release())
	r.must(into.Release())
}

// testTriggeredRing sends a token around all ranks many times, each time by an operation that was armed before.
func testTriggeredRing(r *rig) {
	const laps = 20
	n := len(r.nis)
	pts, cts := make([]*portals4.PT, n), make([]*portals4.CT, n)
	for rank := range n {
		pts[rank], cts[rank] = r.newPT(rank, 0, nil), r.newCT(rank)
		e := entry(make([]byte, 8), portals4.OpPut|portals4.EventCTComm)
		e.CT = cts[rank]
		r.link(pts[rank], e, nil)
	}
	for rank := range n {
		md := r.bind(rank, portals4.MD{Start: make([]byte, 8)})
		next := (rank + 1) % n
		for lap := range laps {
			if rank == n-1 && lap == laps-1 {
				break // the end of the way
			}
			r.must(md.TriggeredPut(&portals4.Transfer{Length: 8, Target: r.nis[rank].ProcessOf(next), PT: pts[next].Index()}, cts[rank], uint64(lap+1)))
		}
	}
	r.must(cts[0].Inc(one))
	for _, c := range cts {
		r.reach(c, laps, 0)
	}
}
