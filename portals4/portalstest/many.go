package portalstest

import "github.com/ompi-go/ompi-go/portals4"

func manyCases() []testCase {
	return []testCase{
		{"Short", any4, testShort}, {"Bundle", any4, testBundle}, {"LongList", any4, testLongList}, {"Mixed", any4, testMixed},
		{"ManyOutstanding", any4, testManyOutstanding}, {"EverybodyToEverybody", any4, testEverybodyToEverybody},
	}
}

// testShort: many short messages keep their order, both those with an entry each and those that share one.
func testShort(r *rig) {
	const n = 500
	q, c := r.newEQ(r.dst, 2*n), r.newCT(r.src)
	pt := r.newPT(r.dst, 0, q)
	mem := make([]byte, 8*n)
	for k := range n / 2 {
		r.link(pt, entry(mem[8*k:8*k+8], portals4.OpPut|portals4.UseOnce|quiet), k)
	}
	r.link(pt, entry(mem[4*n:], portals4.OpPut|quiet), n)
	md := r.bind(r.src, portals4.MD{Start: pattern(8*n, 7), CT: c, Options: portals4.MDEventCTAck})
	for k := range n {
		x := r.xfer(pt, 8)
		x.Offset, x.Ack, x.HdrData = uint64(8*k), portals4.CTAck, uint64(k)
		if k >= n/2 {
			x.RemoteOffset = uint64(8 * (k - n/2))
		}
		r.must(md.Put(x))
	}
	r.reach(c, n, 0)
	for k := range n {
		ev := r.want(q, portals4.EventPut)
		check(r, "HdrData", ev.HdrData, uint64(k))
		want := k
		if k >= n/2 {
			want = n
		}
		check(r, "UserPtr", ev.UserPtr, any(want))
	}
	r.same("memory", mem, pattern(8*n, 7))
}

// testBundle: bundles nest, and delay nothing for ever.
func testBundle(r *rig) {
	ni := r.nis[r.src]
	r.code(ni.EndBundle(), portals4.ErrArgInvalid)
	pt, c := r.newPT(r.dst, 0, nil), r.newCT(r.src)
	r.link(pt, entry(make([]byte, 8), portals4.OpPut), nil)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 8), CT: c, Options: portals4.MDEventCTAck})
	r.must(ni.StartBundle())
	r.must(ni.StartBundle())
	for range 10 {
		x := r.xfer(pt, 8)
		x.Ack = portals4.CTAck
		r.must(md.Put(x))
	}
	r.must(ni.EndBundle())
	r.must(ni.EndBundle())
	r.reach(c, 10, 0)
	r.code(ni.EndBundle(), portals4.ErrArgInvalid)
}

// testLongList: the right entry is found in a long list, from either end, and what is taken from the middle does not disturb.
func testLongList(r *rig) {
	n := min(3000, r.nis[r.dst].Limits().MaxEntries-8, r.nis[r.dst].Limits().MaxListSize-8)
	q := r.newEQ(r.dst, 64)
	pt := r.newPT(r.dst, 0, q)
	hs := make([]portals4.Entry, n)
	for k := range n {
		hs[k] = r.link(pt, exact(make([]byte, 8), portals4.OpPut|portals4.UseOnce|quiet, uint64(k)), k)
	}
	next := 0
	for _, k := range []int{n - 1, n / 2, 0, 1, n - 2, n / 3} {
		want := k
		if !r.matching {
			want, next = next, next+1
		}
		check(r, "the entry that took it", r.putTo(pt, q, uint64(k), 8), any(want))
	}
	gone := 0
	for _, h := range hs {
		if err := h.Unlink(); err != nil {
			r.code(err, portals4.ErrArgInvalid)
			gone++
		}
	}
	check(r, "entries used up", gone, 6)
	r.must(pt.Free())
}

// testMixed has all kinds of operations and sizes under way at the same time.
func testMixed(r *rig) {
	const n = 200 << 10
	mem, c := make([]byte, 2*n+64), r.newCT(r.src) // puts go to the first part, gets come from the second
	pt := r.newPT(r.dst, 0, nil)
	r.link(pt, entry(mem, portals4.OpPut|portals4.OpGet), nil)
	o := portals4.MDEventCTAck | portals4.MDEventCTReply
	count := uint64(0)
	for k := range 40 {
		size := []int{8, n, 100, 0, 5000}[k%5]
		buf := pattern(size, byte(k))
		md := r.bind(r.src, portals4.MD{Start: buf, CT: c, Options: o})
		x := r.xfer(pt, size)
		x.Ack = portals4.CTAck
		switch k % 4 {
		case 0, 1:
			r.must(md.Put(x))
		case 2:
			x.RemoteOffset = n
			r.must(md.Get(x))
		case 3:
			x.RemoteOffset, x.Length = 2*n, 8
			one := r.bind(r.src, portals4.MD{Start: []byte{1, 0, 0, 0, 0, 0, 0, 0}, CT: c, Options: o})
			r.must(one.Atomic(x, portals4.Sum, portals4.Uint8))
		}
		count++
	}
	r.reach(c, count, 0)
	r.settle()
	check(r, "counter", mem[2*n], 10)
}

// testManyOutstanding: thousands of operations may be under way.
func testManyOutstanding(r *rig) {
	const n = 3000
	mem, buf := pattern(8*n, 4), make([]byte, 8*n)
	pt, c := r.newPT(r.dst, 0, nil), r.newCT(r.src)
	r.link(pt, entry(mem, portals4.OpPut|portals4.OpGet), nil)
	md := r.bind(r.src, portals4.MD{Start: buf, CT: c, Options: portals4.MDEventCTReply})
	for k := range n {
		x := r.xfer(pt, 8)
		x.Offset, x.RemoteOffset = uint64(8*k), uint64(8*k)
		r.must(md.Get(x))
	}
	r.reach(c, n, 0)
	r.same("what was got", buf, mem)
	r.must(md.Release())
}

// testEverybodyToEverybody: all ranks put to all, at the same time and from goroutines of their own.
func testEverybodyToEverybody(r *rig) {
	const times = 60
	n := len(r.nis)
	pts, cts := make([]*portals4.PT, n), make([]*portals4.CT, n)
	mems := make([][]byte, n)
	for rank := range n {
		mems[rank] = make([]byte, n*times*8)
		pts[rank], cts[rank] = r.newPT(rank, 0, nil), r.newCT(rank)
		e := entry(mems[rank], portals4.OpPut|portals4.EventCTComm)
		e.CT = cts[rank]
		r.link(pts[rank], e, nil)
	}
	errs := make([]error, n)
	together(n, func(rank int) {
		md, err := r.nis[rank].MDBind(&portals4.MD{Start: pattern(times*8, byte(rank))})
		for k := 0; k < times && err == nil; k++ {
			for to := 0; to < n && err == nil; to++ {
				err = md.Put(&portals4.Transfer{Offset: uint64(8 * k), Length: 8, Target: r.nis[rank].ProcessOf(to), PT: pts[to].Index(),
					RemoteOffset: uint64((rank*times + k) * 8)})
			}
		}
		if err == nil {
			_, _, err = portals4.CTPoll([]*portals4.CT{cts[rank]}, []uint64{uint64(n * times)}, patience)
		}
		errs[rank] = err
	})
	for rank := range n {
		r.must(errs[rank])
		for from := range n {
			r.same("what came", mems[rank][from*times*8:][:times*8], pattern(times*8, byte(from)))
		}
	}
}
