package portalstest

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/ompi-go/ompi-go/portals4"
	"github.com/ompi-go/ompi-go/portals4/atomics"
)

func atomicCases() []testCase {
	return []testCase{
		{"Atomic", any4, testAtomic}, {"AtomicAll", any4, testAtomicAll}, {"AtomicTruncate", any4, testAtomicTruncate},
		{"AtomicNeighbours", any4, testAtomicNeighbours}, {"AtomicEverybody", any4, testAtomicEverybody}, {"AtomicBarrier", peers, testAtomicBarrier},
		{"FetchIsOnce", any4, testFetchIsOnce}, {"AtomicSync", any4, testAtomicSync}, {"AtomicEmpty", any4, testAtomicEmpty},
	}
}

// values are data of a type, a few elements long: small numbers, and the ends of its range.
func values(typ portals4.Type, seed int) (b []byte) {
	for k := range 6 {
		v := (k*7 + seed*3 + 1) % 11
		switch typ {
		case portals4.Float, portals4.FloatComplex:
			b = binary.NativeEndian.AppendUint32(b, math.Float32bits(float32(v)-4.5))
			if typ == portals4.FloatComplex {
				b = binary.NativeEndian.AppendUint32(b, math.Float32bits(float32(seed-k)))
			}
		case portals4.Double, portals4.DoubleComplex:
			b = binary.NativeEndian.AppendUint64(b, math.Float64bits(float64(v)-4.5))
			if typ == portals4.DoubleComplex {
				b = binary.NativeEndian.AppendUint64(b, math.Float64bits(float64(seed-k)))
			}
		default:
			n := uint64(v)
			switch k {
			case 0:
				n = 0
			case 1:
				n = ^uint64(v)
			case 2:
				n = 0x8080808080808080 + uint64(seed)
			}
			switch atomics.Size(uint8(typ)) {
			case 1:
				b = append(b, byte(n))
			case 2:
				b = binary.NativeEndian.AppendUint16(b, uint16(n))
			case 4:
				b = binary.NativeEndian.AppendUint32(b, uint32(n))
			case 8:
				b = binary.NativeEndian.AppendUint64(b, n)
			}
		}
	}
	return b
}

func testAtomic(r *rig) {
	mem := binary.NativeEndian.AppendUint64(nil, 40)
	at, c := r.newCT(r.dst), r.newCT(r.src)
	pt := r.newPT(r.dst, 0, nil)
	e := entry(mem, portals4.OpPut|portals4.OpGet|portals4.EventCTComm)
	e.CT = at
	r.link(pt, e, nil)
	got := make([]byte, 8)
	md := r.bind(r.src, portals4.MD{Start: binary.NativeEndian.AppendUint64(nil, 2), CT: c, Options: portals4.MDEventCTAck})
	into := r.bind(r.src, portals4.MD{Start: got, CT: c, Options: portals4.MDEventCTReply})
	x := r.xfer(pt, 8)
	x.Ack = portals4.CTAck
	r.must(md.Atomic(x, portals4.Sum, portals4.Int64))
	r.reach(c, 1, 0)
	check(r, "value", binary.NativeEndian.Uint64(mem), 42)
	r.move()
	r.must(md.FetchAtomic(x, &portals4.Into{MD: into}, portals4.Prod, portals4.Int64))
	r.reach(c, 2, 0)
	check(r, "value", binary.NativeEndian.Uint64(mem), 84)
	check(r, "value before", binary.NativeEndian.Uint64(got), 42)
	r.reach(at, 2, 0)
}

// slot is where one of many operations that are under way together has its data, at both ends.
type slot struct {
	what        string
	at          uint64
	prior, want []byte
	fetch       bool
}

// slots lays data out, 16 bytes apart from one another.
type slots struct {
	all       []slot
	mem, from []byte
}

func (s *slots) add(what string, prior, with, want []byte, fetch bool) *slot {
	s.all = append(s.all, slot{what, uint64(len(s.mem)), prior, want, fetch})
	gap := make([]byte, 32-len(prior)%16)
	s.mem, s.from = append(append(s.mem, prior...), gap...), append(append(s.from, with...), gap...)
	return &s.all[len(s.all)-1]
}

// verify looks at all memory once everything is through.
func (s *slots) verify(r *rig, got []byte) {
	r.Helper()
	for _, e := range s.all {
		n := len(e.prior)
		r.bytes(e.what, s.mem[e.at:][:n], e.want)
		r.bytes(e.what+": behind", s.mem[int(e.at)+n:][:16], make([]byte, 16))
		if e.fetch {
			r.bytes(e.what+": before", got[e.at:][:n], e.prior)
		}
	}
	r.move()
}

// testAtomicAll: every operation on every type it is defined on, with and without fetching, triggered or not.
func testAtomicAll(r *rig) {
	var s slots
	type call struct {
		op               portals4.AtomicOp
		typ              portals4.Type
		fetch, triggered bool
	}
	var calls []call
	for op := portals4.Min; op <= portals4.Bxor; op++ {
		for typ := portals4.Int8; typ <= portals4.DoubleComplex; typ++ {
			for k := range 4 {
				if c := (call{op, typ, k&1 != 0, k&2 != 0}); atomics.Legal(uint8(op), uint8(typ), false) {
					prior, with := values(typ, 1), values(typ, 2)
					want := append([]byte(nil), prior...)
					atomics.Apply(uint8(op), uint8(typ), want, with)
					s.add(fmt.Sprintf("operation %d type %d fetch %v triggered %v", op, typ, c.fetch, c.triggered), prior, with, want, c.fetch)
					calls = append(calls, c)
				}
			}
		}
	}
	got := make([]byte, len(s.mem))
	pt, c, trig := r.newPT(r.dst, 0, nil), r.newCT(r.src), r.newCT(r.src)
	r.link(pt, entry(s.mem, portals4.OpPut|portals4.OpGet), nil)
	md := r.bind(r.src, portals4.MD{Start: s.from, CT: c, Options: portals4.MDEventCTAck})
	into := r.bind(r.src, portals4.MD{Start: got, CT: c, Options: portals4.MDEventCTReply})
	for k, e := range s.all {
		x := r.xfer(pt, len(e.prior))
		x.Offset, x.RemoteOffset, x.Ack = e.at, e.at, portals4.CTAck
		to, a := &portals4.Into{MD: into, Offset: e.at}, calls[k]
		switch {
		case a.fetch && a.triggered:
			r.must(md.TriggeredFetchAtomic(x, to, a.op, a.typ, trig, 1))
		case a.fetch:
			r.must(md.FetchAtomic(x, to, a.op, a.typ))
		case a.triggered:
			r.must(md.TriggeredAtomic(x, a.op, a.typ, trig, 1))
		default:
			r.must(md.Atomic(x, a.op, a.typ))
		}
	}
	r.reach(c, uint64(len(calls)/2), 0)
	r.must(trig.Inc(one))
	r.reach(c, uint64(len(calls)), 0)
	s.verify(r, got)
}

// testAtomicTruncate: whole elements that fit are changed.
func testAtomicTruncate(r *rig) {
	for _, room := range []int{16, 15, 12, 8, 7, 1, 0} {
		mem := make([]byte, 24)
		q, got := r.newEQ(r.dst, 8), r.newEQ(r.src, 8)
		pt := r.newPT(r.dst, 0, q)
		r.link(pt, entry(mem[:room:room], portals4.OpPut|portals4.OpGet|quiet), nil)
		md := r.bind(r.src, portals4.MD{Start: append(values(portals4.Uint64, 0), make([]byte, 16)...)})
		into := &portals4.Into{MD: r.bind(r.src, portals4.MD{Start: make([]byte, 24), EQ: got})}
		fits := room &^ 7
		r.must(md.Atomic(r.xfer(pt, 24), portals4.Sum, portals4.Uint64))
		ev := r.want(q, portals4.EventAtomic)
		check(r, "MLength", ev.MLength, uint64(fits))
		check(r, "RLength", ev.RLength, 24)
		r.same("memory", mem, append(values(portals4.Uint64, 0)[:fits:fits], make([]byte, 24-fits)...))
		r.must(md.FetchAtomic(r.xfer(pt, 24), into, portals4.Bxor, portals4.Uint64))
		check(r, "MLength", r.want(q, portals4.EventFetchAtomic).MLength, uint64(fits))
		check(r, "MLength of REPLY", r.want(got, portals4.EventReply).MLength, uint64(fits))
		r.same("memory", mem, make([]byte, 24))
		r.must(md.Swap(r.xfer(pt, 8), into, make([]byte, 8), portals4.CSwap, portals4.Uint64)) // one datum: all or nothing
		check(r, "MLength", r.want(q, portals4.EventFetchAtomic).MLength, uint64(min(fits, 8)))
		check(r, "MLength of REPLY", r.want(got, portals4.EventReply).MLength, uint64(min(fits, 8)))
		r.same("memory", mem, append(values(portals4.Uint64, 0)[:min(fits, 8):min(fits, 8)], make([]byte, 24-min(fits, 8))...))
	}
}

// testAtomicNeighbours: elements that lie beside one another are no business of one another.
func testAtomicNeighbours(r *rig) {
	const times = 50
	mem, c := make([]byte, 16), r.newCT(r.dst)
	pt := r.newPT(r.dst, 0, nil)
	e := entry(mem, portals4.OpPut|portals4.EventCTComm)
	e.CT = c
	r.link(pt, e, nil)
	for rank := range r.nis {
		md := r.bind(rank, portals4.MD{Start: binary.NativeEndian.AppendUint32(nil, 0xffff_fff0)})
		for k := range times {
			r.must(md.Atomic(&portals4.Transfer{Length: 4, Target: r.nis[rank].ProcessOf(r.dst), PT: pt.Index(), RemoteOffset: uint64(4 * (k % 4))},
				portals4.Sum, portals4.Uint32))
		}
	}
	r.reach(c, uint64(times*len(r.nis)), 0)
	for k := range 4 {
		n := times / 4
		if k < times%4 {
			n++
		}
		check(r, "word", binary.NativeEndian.Uint32(mem[4*k:]), -uint32(16*n*len(r.nis)))
	}
}

// testAtomicEverybody: all ranks change one datum at the same time, from goroutines of their own; nothing is lost.
func testAtomicEverybody(r *rig) {
	const times = 200
	mem, c := make([]byte, 8), r.newCT(r.dst)
	pt := r.newPT(r.dst, 0, nil)
	e := entry(mem, portals4.OpPut|portals4.OpGet|portals4.EventCTComm)
	e.CT = c
	r.link(pt, e, nil)
	var wg sync.WaitGroup
	errs := make([]error, len(r.nis))
	for rank := range r.nis {
		md := r.bind(rank, portals4.MD{Start: binary.NativeEndian.AppendUint64(nil, 3)})
		into := r.bind(rank, portals4.MD{Start: make([]byte, 8)})
		wg.Go(func() {
			x := &portals4.Transfer{Length: 8, Target: r.nis[rank].ProcessOf(r.dst), PT: pt.Index()}
			for k := range times {
				var err error
				if k%2 == 0 {
					err = md.Atomic(x, portals4.Sum, portals4.Uint64)
				} else {
					err = md.FetchAtomic(x, &portals4.Into{MD: into}, portals4.Sum, portals4.Uint64)
				}
				if err != nil {
					errs[rank] = err
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		r.must(err)
	}
	r.reach(c, uint64(times*len(r.nis)), 0)
	r.settle()
	check(r, "sum", binary.NativeEndian.Uint64(mem), uint64(3*times*len(r.nis)))
}

// testAtomicBarrier is a dissemination barrier: no rank leaves a round before all have entered it.
func testAtomicBarrier(r *rig) {
	const rounds = 10
	n := len(r.nis)
	pts, cts := make([]*portals4.PT, n), make([]*portals4.CT, n)
	mem := make([][]byte, n)
	for rank := range n {
		mem[rank] = make([]byte, 8)
		pts[rank], cts[rank] = r.newPT(rank, 0, nil), r.newCT(rank)
		e := entry(mem[rank], portals4.OpPut|portals4.EventCTComm)
		e.CT = cts[rank]
		r.link(pts[rank], e, nil)
	}
	var mu sync.Mutex
	entered := make([]int, n)
	errs := make([]error, n)
	together(n, func(rank int) {
		md, err := r.nis[rank].MDBind(&portals4.MD{Start: binary.NativeEndian.AppendUint64(nil, 1)})
		came := uint64(0)
		for round := 1; round <= rounds && err == nil; round++ {
			mu.Lock()
			entered[rank] = round
			mu.Unlock()
			for step := 1; step < n && err == nil; step *= 2 {
				to := (rank + step) % n
				err = md.Atomic(&portals4.Transfer{Length: 8, Target: r.nis[rank].ProcessOf(to), PT: pts[to].Index()}, portals4.Sum, portals4.Uint64)
				came++
				if err == nil {
					_, _, err = portals4.CTPoll([]*portals4.CT{cts[rank]}, []uint64{came}, patience)
				}
			}
		}
		errs[rank] = err
	})
	for rank := range n {
		r.must(errs[rank])
		check(r, "rounds", entered[rank], rounds)
		steps := uint64(0)
		for step := 1; step < n; step *= 2 {
			steps++
		}
		check(r, "what came", binary.NativeEndian.Uint64(mem[rank]), steps*rounds)
	}
}

// testFetchIsOnce: of many that count, each gets a number of its own.
func testFetchIsOnce(r *rig) {
	const times = 60
	pt := r.newPT(r.dst, 0, nil)
	r.link(pt, entry(make([]byte, 4), portals4.OpPut|portals4.OpGet), nil)
	seen := make([]bool, times*len(r.nis))
	bufs, cts := make([][]byte, len(r.nis)), make([]*portals4.CT, len(r.nis))
	for rank := range r.nis {
		bufs[rank], cts[rank] = make([]byte, 4*times), r.newCT(rank)
		md := r.bind(rank, portals4.MD{Start: binary.NativeEndian.AppendUint32(nil, 1)})
		into := r.bind(rank, portals4.MD{Start: bufs[rank], CT: cts[rank], Options: portals4.MDEventCTReply})
		for k := range times {
			r.must(md.FetchAtomic(&portals4.Transfer{Length: 4, Target: r.nis[rank].ProcessOf(r.dst), PT: pt.Index()},
				&portals4.Into{MD: into, Offset: uint64(4 * k)}, portals4.Sum, portals4.Int32))
		}
	}
	for rank := range r.nis {
		r.reach(cts[rank], times, 0)
		last := -1
		for k := range times {
			v := int(binary.NativeEndian.Uint32(bufs[rank][4*k:]))
			if v <= last || v >= len(seen) || seen[v] {
				r.Fatalf("rank %d got %d, after %d", rank, v, last)
			}
			seen[v], last = true, v
		}
	}
}

func testAtomicSync(r *rig) {
	for _, ni := range r.nis {
		r.must(ni.AtomicSync())
	}
}

func testAtomicEmpty(r *rig) {
	q := r.newEQ(r.dst, 8)
	pt := r.newPT(r.dst, 0, q)
	r.link(pt, entry(make([]byte, 8), portals4.OpPut|portals4.OpGet|quiet), nil)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 8)})
	r.must(md.Atomic(r.xfer(pt, 0), portals4.Sum, portals4.Int32))
	check(r, "MLength", r.want(q, portals4.EventAtomic).MLength, 0)
	r.must(md.FetchAtomic(r.xfer(pt, 0), &portals4.Into{MD: md}, portals4.Sum, portals4.Int32))
	check(r, "MLength", r.want(q, portals4.EventFetchAtomic).MLength, 0)
}
