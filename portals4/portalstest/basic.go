package portalstest

import (
	"sync"

	"github.com/ompi-go/ompi-go/portals4"
	"golang.org/x/sys/unix"
)

func basicCases() []testCase {
	return []testCase{
		{"Put", any4, testPut}, {"PutEvents", any4, testPutEvents}, {"PutSendDisable", any4, testPutSendDisable}, {"Get", any4, testGet},
		{"GetEvents", any4, testGetEvents}, {"PutTruncate", any4, testPutTruncate}, {"GetTruncate", any4, testGetTruncate}, {"Sizes", any4, testSizes},
		{"PutReadOnly", any4, testPutReadOnly}, {"PutMultiple", any4, testPutMultiple}, {"PutOverlapping", any4, testPutOverlapping},
		{"CTAckWithoutEvents", any4, testCTAckWithoutEvents}, {"Anywhere", any4, testAnywhere}, {"ApplicationBypass", peers, testApplicationBypass},
		{"ManyGoroutines", any4, testManyGoroutines},
	}
}

func testPut(r *rig) {
	mem, from, c, sent := make([]byte, 64), pattern(32, 9), r.newCT(r.dst), r.newCT(r.src)
	pt := r.newPT(r.dst, 0, nil)
	e := entry(mem, portals4.OpPut|portals4.EventCTComm)
	e.CT = c
	r.link(pt, e, nil)
	md := r.bind(r.src, portals4.MD{Start: from, CT: sent, Options: portals4.MDEventCTSend | portals4.MDEventCTAck})
	x := r.xfer(pt, 16)
	x.Offset, x.RemoteOffset, x.Ack = 8, 20, portals4.CTAck
	r.must(md.Put(x))
	r.reach(c, 1, 0)
	r.reach(sent, 2, 0)
	want := make([]byte, 64)
	copy(want[20:], from[8:24])
	r.same("the target's memory", mem, want)
}

func testPutEvents(r *rig) {
	mem, from := make([]byte, 16), pattern(16, 1)
	q, sent := r.newEQ(r.dst, 8), r.newEQ(r.src, 8)
	pt := r.newPT(r.dst, 0, q)
	r.link(pt, entry(mem, portals4.OpPut), "entry")
	r.want(q, portals4.EventLink)
	md := r.bind(r.src, portals4.MD{Start: from, EQ: sent})
	x := r.xfer(pt, 16)
	x.Ack = portals4.Ack
	r.must(md.Put(x))
	r.want(q, portals4.EventPut)
	r.all(sent, portals4.EventSend, portals4.EventAck)
	r.same("the target's memory", mem, from)
	x.Ack = portals4.NoAck
	r.must(md.Put(x))
	r.want(q, portals4.EventPut)
	r.want(sent, portals4.EventSend)
	r.none(q)
	r.none(sent)
}

func testPutSendDisable(r *rig) {
	pt, sent := r.newPT(r.dst, 0, nil), r.newEQ(r.src, 8)
	r.link(pt, entry(make([]byte, 16), portals4.OpPut), nil)
	md := r.bind(r.src, portals4.MD{Start: pattern(16, 1), EQ: sent, Options: portals4.MDEventSendDisable})
	x := r.xfer(pt, 16)
	x.Ack = portals4.Ack
	r.must(md.Put(x))
	r.want(sent, portals4.EventAck)
	r.none(sent)
	quiet := r.bind(r.src, portals4.MD{Start: pattern(16, 1), EQ: sent, Options: portals4.MDEventSuccessDisable})
	r.must(quiet.Put(x))
	r.none(sent)
}

func testGet(r *rig) {
	mem, into := pattern(64, 3), make([]byte, 32)
	c, got := r.newCT(r.dst), r.newCT(r.src)
	pt := r.newPT(r.dst, 0, nil)
	e := entry(mem, portals4.OpGet|portals4.EventCTComm)
	e.CT = c
	r.link(pt, e, nil)
	md := r.bind(r.src, portals4.MD{Start: into, CT: got, Options: portals4.MDEventCTReply})
	x := r.xfer(pt, 16)
	x.Offset, x.RemoteOffset = 8, 20
	r.must(md.Get(x))
	r.reach(got, 1, 0)
	r.reach(c, 1, 0)
	want := make([]byte, 32)
	copy(want[8:], mem[20:36])
	r.same("what was got", into, want)
}

func testGetEvents(r *rig) {
	mem, into := pattern(16, 3), make([]byte, 16)
	q, got := r.newEQ(r.dst, 8), r.newEQ(r.src, 8)
	pt := r.newPT(r.dst, 0, q)
	r.link(pt, entry(mem, portals4.OpGet), nil)
	r.want(q, portals4.EventLink)
	md := r.bind(r.src, portals4.MD{Start: into, EQ: got})
	r.must(md.Get(r.xfer(pt, 16)))
	r.want(got, portals4.EventReply)
	r.want(q, portals4.EventGet)
	r.same("what was got", into, mem)
	r.none(got)
	r.none(q)
}

// testPutTruncate: what is put beyond the end does not go anywhere, and everybody is told.
func testPutTruncate(r *rig) {
	mem, from := make([]byte, 48), pattern(64, 7)
	q, sent, c, at := r.newEQ(r.dst, 8), r.newEQ(r.src, 8), r.newCT(r.src), r.newCT(r.dst)
	pt := r.newPT(r.dst, 0, q)
	e := entry(mem[:32:32], portals4.OpPut|portals4.EventLinkDisable|portals4.EventCTComm|portals4.EventCTBytes)
	e.CT = at
	r.link(pt, e, nil)
	md := r.bind(r.src, portals4.MD{Start: from, EQ: sent, CT: c, Options: portals4.MDEventCTSend | portals4.MDEventCTAck | portals4.MDEventCTBytes})
	x := r.xfer(pt, 64)
	x.Ack = portals4.Ack
	r.must(md.Put(x))
	ev := r.want(q, portals4.EventPut)
	check(r, "RLength", ev.RLength, 64)
	check(r, "MLength", ev.MLength, 32)
	evs := r.all(sent, portals4.EventSend, portals4.EventAck)
	check(r, "MLength of the acknowledgement", evs[1].MLength, 32)
	r.reach(c, 64+32, 0) // what was sent, and what was taken
	r.reach(at, 32, 0)
	r.same("the target's memory", mem, append(pattern(32, 7), make([]byte, 16)...))

	x.RemoteOffset = 32 // nothing of it fits
	r.must(md.Put(x))
	ev = r.want(q, portals4.EventPut)
	check(r, "MLength at the end", ev.MLength, 0)
	x.RemoteOffset = 1 << 40
	r.must(md.Put(x))
	ev = r.want(q, portals4.EventPut)
	check(r, "MLength beyond the end", ev.MLength, 0)
	check(r, "RemoteOffset beyond the end", ev.RemoteOffset, 1<<40)
	r.stays(c, 64+32+64+64, 0)
}

func testGetTruncate(r *rig) {
	mem, into := pattern(32, 7), make([]byte, 64)
	got, c := r.newEQ(r.src, 8), r.newCT(r.src)
	pt := r.newPT(r.dst, 0, nil)
	r.link(pt, entry(mem, portals4.OpGet), nil)
	md := r.bind(r.src, portals4.MD{Start: into, EQ: got, CT: c, Options: portals4.MDEventCTReply | portals4.MDEventCTBytes})
	x := r.xfer(pt, 64)
	x.RemoteOffset = 8
	r.must(md.Get(x))
	ev := r.want(got, portals4.EventReply)
	check(r, "MLength", ev.MLength, 24)
	r.reach(c, 24, 0)
	r.same("what was got", into, append(pattern(32, 7)[8:], make([]byte, 40)...))
}

// testSizes moves sizes about the limits of what travels at once, both ways.
func testSizes(r *rig) {
	for _, n := range []int{0, 1, 7, 8, 63, 64, 65, 255, 4095, 4096, 4097, 8192, 32<<10 - 1, 64<<10 + 1, 1 << 20, 3<<20 + 5} {
		mem, buf := make([]byte, n+2), pattern(n, byte(n))
		pt := r.newPT(r.dst, 0, nil)
		r.link(pt, entry(mem[1:n+1:n+1], portals4.OpPut|portals4.OpGet), nil)
		c := r.newCT(r.src)
		md := r.bind(r.src, portals4.MD{Start: buf, CT: c, Options: portals4.MDEventCTAck | portals4.MDEventCTReply | portals4.MDEventCTBytes})
		x := r.xfer(pt, n)
		x.Ack = portals4.CTAck
		r.must(md.Put(x))
		r.reach(c, uint64(n), 0)
		r.settle()
		r.same("what was put", mem, append(append([]byte{0}, buf...), 0))
		clear(buf)
		r.move()
		r.must(md.Get(x))
		r.reach(c, 2*uint64(n), 0)
		r.settle()
		r.same("what was got", buf, mem[1:n+1])
	}
}

// testPutReadOnly: memory that requests only read may be protected.
func testPutReadOnly(r *rig) {
	const n = 256 << 10
	page, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	r.must(err)
	r.Cleanup(func() { unix.Munmap(page) })
	copy(page, pattern(n, 5))
	r.must(unix.Mprotect(page, unix.PROT_READ))
	for _, n := range []int{8, n} {
		mem, c := make([]byte, n), r.newCT(r.src)
		pt := r.newPT(r.dst, 0, nil)
		r.link(pt, entry(mem, portals4.OpPut), nil)
		md := r.bind(r.src, portals4.MD{Start: page, CT: c, Options: portals4.MDEventCTAck})
		x := r.xfer(pt, n)
		x.Ack = portals4.CTAck
		r.must(md.Put(x))
		r.reach(c, 1, 0)
		r.same("what was put", mem, page[:n])
	}
}

// testPutMultiple: all ranks put into one entry, each its own part.
func testPutMultiple(r *rig) {
	const times, n = 50, 24
	mem, c := make([]byte, len(r.nis)*times*n), r.newCT(r.dst)
	pt := r.newPT(r.dst, 0, nil)
	e := entry(mem, portals4.OpPut|portals4.EventCTComm)
	e.CT = c
	r.link(pt, e, nil)
	for rank := range r.nis {
		md := r.bind(rank, portals4.MD{Start: pattern(times*n, byte(rank)), Options: portals4.MDUnordered})
		for k := range times {
			r.must(md.Put(&portals4.Transfer{Offset: uint64(k * n), Length: n, Target: r.nis[rank].ProcessOf(r.dst), PT: pt.Index(),
				RemoteOffset: uint64((rank*times + k) * n)}))
		}
	}
	r.reach(c, uint64(len(r.nis)*times), 0)
	for rank := range r.nis {
		r.same("a rank's part", mem[rank*times*n:][:times*n], pattern(times*n, byte(rank)))
	}
}

// testPutOverlapping: of puts to the same place the last one stays, as requests of a pair keep their order.
func testPutOverlapping(r *rig) {
	mem, c := make([]byte, 8), r.newCT(r.src)
	pt := r.newPT(r.dst, 0, nil)
	r.link(pt, entry(mem, portals4.OpPut), nil)
	for k := range 100 {
		md := r.bind(r.src, portals4.MD{Start: pattern(8, byte(k)), CT: c, Options: portals4.MDEventCTAck})
		x := r.xfer(pt, 8)
		x.Ack = portals4.CTAck
		r.must(md.Put(x))
	}
	r.reach(c, 100, 0)
	r.same("what stays", mem, pattern(8, 99))
}

// testCTAckWithoutEvents: counting needs no event, and disabled events count.
func testCTAckWithoutEvents(r *rig) {
	pt, q, c := r.newPT(r.dst, 0, nil), r.newEQ(r.src, 8), r.newCT(r.src)
	r.link(pt, entry(make([]byte, 8), portals4.OpPut), nil)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 8), EQ: q, CT: c, Options: portals4.MDEventCTAck | portals4.MDEventSuccessDisable})
	for k, ack := range []portals4.AckReq{portals4.Ack, portals4.CTAck, portals4.OCAck} {
		x := r.xfer(pt, 8)
		x.Ack = ack
		r.must(md.Put(x))
		r.reach(c, uint64(k+1), 0)
	}
	r.none(q)
}

// testAnywhere: a memory descriptor of all memory takes what each operation brings.
func testAnywhere(r *rig) {
	mem, c := make([]byte, 8), r.newCT(r.src)
	pt := r.newPT(r.dst, 0, nil)
	r.link(pt, entry(mem, portals4.OpPut|portals4.OpGet), nil)
	md := r.bind(r.src, portals4.MD{Anywhere: true, CT: c, Options: portals4.MDEventCTAck | portals4.MDEventCTReply})
	x := r.xfer(pt, 12345)
	x.Mem, x.Ack = []byte("lattice!"), portals4.CTAck
	r.must(md.Put(x))
	r.reach(c, 1, 0)
	r.same("what was put", mem, []byte("lattice!"))
	x.Mem = make([]byte, 8)
	r.must(md.Get(x))
	r.reach(c, 2, 0)
	r.same("what was got", x.Mem, mem)
}

// testApplicationBypass: a target that calls nothing answers nevertheless.
func testApplicationBypass(r *rig) {
	mem, buf := make([]byte, 100<<10), pattern(100<<10, 2)
	pt, c := r.newPT(r.dst, 0, nil), r.newCT(r.src)
	r.link(pt, entry(mem, portals4.OpPut|portals4.OpGet), nil)
	md := r.bind(r.src, portals4.MD{Start: buf, CT: c, Options: portals4.MDEventCTAck | portals4.MDEventCTReply})
	for k, n := range []int{8, len(buf)} {
		x := r.xfer(pt, n)
		x.Ack = portals4.CTAck
		r.must(md.Put(x))
		for i, f := range []func(*portals4.Transfer) error{nil, md.Get} {
			if f != nil {
				r.must(f(x))
			}
			_, v, err := portals4.CTPoll([]*portals4.CT{c}, []uint64{uint64(2*k + i + 1)}, patience)
			r.must(err)
			check(r, "count", v, portals4.CTEvent{Success: uint64(2*k + i + 1)})
		}
	}
	r.move()
	r.same("what was put", mem, pattern(100<<10, 2))
}

// testManyGoroutines: any goroutine may call, and each of several that wait for events gets its share.
func testManyGoroutines(r *rig) {
	const workers, times = 4, 200
	mem, c, q := make([]byte, workers*8), r.newCT(r.dst), r.newEQ(r.dst, workers*times)
	pt := r.newPT(r.dst, 0, q)
	e := entry(mem, portals4.OpPut|portals4.EventCTComm|portals4.EventLinkDisable)
	e.CT = c
	r.link(pt, e, nil)
	var wg sync.WaitGroup
	errs := make([]error, 2*workers)
	for w := range workers {
		done := r.newCT(r.src)
		md := r.bind(r.src, portals4.MD{Start: pattern(8, byte(w)), CT: done, Options: portals4.MDEventCTAck})
		wg.Go(func() {
			for k := range times {
				x := r.xfer(pt, 8)
				x.RemoteOffset, x.Ack = uint64(8*w), portals4.CTAck
				if errs[w] = md.Put(x); errs[w] == nil {
					_, errs[w] = done.Wait(uint64(k + 1))
				}
				if errs[w] != nil {
					return
				}
			}
		})
		wg.Go(func() {
			var ev portals4.Event
			for range times {
				if err := q.Wait(&ev); err != nil {
					errs[workers+w] = err
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		r.must(err)
	}
	r.reach(c, workers*times, 0)
	r.none(q)
}
