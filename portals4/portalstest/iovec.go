package portalstest

import (
	"encoding/binary"

	"github.com/ompi-go/ompi-go/portals4"
)

func iovecCases() []testCase {
	return []testCase{
		{"IovecEntry", any4, testIovecEntry}, {"IovecMD", any4, testIovecMD}, {"IovecBoth", any4, testIovecBoth}, {"IovecAtomic", any4, testIovecAtomic},
		{"IovecManageLocal", matching, testIovecManageLocal}, {"IovecLarge", any4, testIovecLarge},
	}
}

// pieces cuts memory.
func pieces(mem []byte, sizes ...int) (iov [][]byte) {
	for _, n := range sizes {
		iov = append(iov, mem[:n:n])
		mem = mem[n:]
	}
	return iov
}

func testIovecEntry(r *rig) {
	mem := make([]byte, 64)
	q := r.newEQ(r.dst, 8)
	pt := r.newPT(r.dst, 0, q)
	e := entry(nil, portals4.OpPut|portals4.OpGet|quiet)
	e.Iovec = pieces(mem, 10, 0, 3, 20, 31)
	r.link(pt, e, nil)
	buf := pattern(64, 9)
	md := r.bind(r.src, portals4.MD{Start: buf})
	for _, c := range []struct {
		offset, n int
		whole     bool
	}{{0, 64, false}, {0, 10, true}, {9, 1, true}, {9, 2, false}, {10, 3, true}, {13, 20, true}, {12, 40, false}, {33, 31, true}, {60, 4, true}} {
		clear(mem)
		r.move()
		x := r.xfer(pt, c.n)
		x.RemoteOffset = uint64(c.offset)
		r.must(md.Put(x))
		ev := r.want(q, portals4.EventPut)
		check(r, "MLength", ev.MLength, uint64(c.n))
		check(r, "Offset", ev.Offset, uint64(c.offset))
		check(r, "Start is given", ev.Start != nil, c.whole)
		if c.whole {
			r.same("Start", ev.Start, buf[:c.n])
		}
		want := make([]byte, 64)
		copy(want[c.offset:], buf[:c.n])
		r.same("memory", mem, want)
	}
	x := r.xfer(pt, 64)
	x.RemoteOffset = 30
	r.must(md.Put(x))
	check(r, "MLength", r.want(q, portals4.EventPut).MLength, 34)
}

func testIovecMD(r *rig) {
	mem, from := make([]byte, 64), pattern(64, 3)
	pt, c := r.newPT(r.dst, 0, nil), r.newCT(r.src)
	r.link(pt, entry(mem, portals4.OpPut|portals4.OpGet), nil)
	md := r.bind(r.src, portals4.MD{Iovec: pieces(from, 7, 20, 0, 30, 7), CT: c, Options: portals4.MDEventCTAck | portals4.MDEventCTReply})
	x := r.xfer(pt, 50)
	x.Offset, x.RemoteOffset, x.Ack = 5, 2, portals4.CTAck
	r.must(md.Put(x))
	r.reach(c, 1, 0)
	want := make([]byte, 64)
	copy(want[2:], from[5:55])
	r.same("memory", mem, want)
	copy(mem, pattern(64, 200))
	r.move()
	want = append([]byte(nil), from...)
	copy(want[5:55], mem[2:52])
	r.must(md.Get(x))
	r.reach(c, 2, 0)
	r.same("what was got", from, want)
	x.Length, x.Offset = 60, 5
	r.code(md.Put(x), portals4.ErrArgInvalid) // 65 of 64
}

func testIovecBoth(r *rig) {
	mem, from, back := make([]byte, 97), pattern(97, 3), make([]byte, 97)
	pt, c := r.newPT(r.dst, 0, nil), r.newCT(r.src)
	e := entry(nil, portals4.OpPut|portals4.OpGet)
	e.Iovec = pieces(mem, 1, 31, 32, 33)
	r.link(pt, e, nil)
	o := portals4.MDEventCTAck | portals4.MDEventCTReply
	md := r.bind(r.src, portals4.MD{Iovec: pieces(from, 40, 50, 7), CT: c, Options: o})
	into := r.bind(r.src, portals4.MD{Iovec: pieces(back, 2, 5, 90), CT: c, Options: o})
	x := r.xfer(pt, 97)
	x.Ack = portals4.CTAck
	r.must(md.Put(x))
	r.reach(c, 1, 0)
	r.same("memory", mem, from)
	r.must(into.Get(x))
	r.reach(c, 2, 0)
	r.same("what was got", back, from)
}

// testIovecAtomic: an element may lie in two pieces.
func testIovecAtomic(r *rig) {
	mem := make([]byte, 32)
	for k := range 4 {
		binary.NativeEndian.PutUint64(mem[8*k:], uint64(k)<<32)
	}
	got := make([]byte, 32)
	pt, c := r.newPT(r.dst, 0, nil), r.newCT(r.src)
	e := entry(nil, portals4.OpPut|portals4.OpGet)
	e.Iovec = pieces(mem, 3, 8, 5, 16)
	r.link(pt, e, nil)
	var from []byte
	for k := range 4 {
		from = binary.NativeEndian.AppendUint64(from, uint64(k+1))
	}
	md := r.bind(r.src, portals4.MD{Iovec: pieces(from, 12, 20), CT: c, Options: portals4.MDEventCTAck})
	into := r.bind(r.src, portals4.MD{Iovec: pieces(got, 5, 11, 16), CT: c, Options: portals4.MDEventCTReply})
	x := r.xfer(pt, 32)
	x.Ack = portals4.CTAck
	r.must(md.Atomic(x, portals4.Sum, portals4.Uint64))
	r.reach(c, 1, 0)
	r.must(md.FetchAtomic(x, &portals4.Into{MD: into}, portals4.Sum, portals4.Uint64))
	r.reach(c, 2, 0)
	for k := range 4 {
		check(r, "value", binary.NativeEndian.Uint64(mem[8*k:]), uint64(k)<<32+2*uint64(k+1))
		check(r, "value before", binary.NativeEndian.Uint64(got[8*k:]), uint64(k)<<32+uint64(k+1))
	}
	r.move()
	x.Length = 8
	r.must(md.Swap(x, &portals4.Into{MD: into}, binary.NativeEndian.AppendUint64(nil, 2), portals4.CSwap, portals4.Uint64))
	r.reach(c, 3, 0)
	check(r, "value", binary.NativeEndian.Uint64(mem), 1)
}

func testIovecManageLocal(r *rig) {
	mem := make([]byte, 30)
	q := r.newEQ(r.dst, 8)
	pt := r.newPT(r.dst, 0, q)
	e := entry(nil, portals4.OpPut|portals4.MEManageLocal|quiet)
	e.Iovec = pieces(mem, 10, 10, 10)
	r.link(pt, e, nil)
	md := r.bind(r.src, portals4.MD{Start: pattern(30, 1)})
	for k := range 5 {
		x := r.xfer(pt, 6)
		x.Offset = uint64(6 * k)
		r.must(md.Put(x))
		check(r, "Offset", r.want(q, portals4.EventPut).Offset, uint64(6*k))
	}
	r.same("memory", mem, pattern(30, 1))
}

func testIovecLarge(r *rig) {
	const n = 1 << 20
	mem, from := make([]byte, n), pattern(n, 3)
	pt, c := r.newPT(r.dst, 0, nil), r.newCT(r.src)
	e := entry(nil, portals4.OpPut|portals4.OpGet)
	e.Iovec = pieces(mem, 1000, 500000, 1, n-501001)
	r.link(pt, e, nil)
	back := make([]byte, n)
	md := r.bind(r.src, portals4.MD{Iovec: pieces(from, 300000, n-300000), CT: c, Options: portals4.MDEventCTAck})
	into := r.bind(r.src, portals4.MD{Iovec: pieces(back, 3, n-3), CT: c, Options: portals4.MDEventCTReply})
	x := r.xfer(pt, n)
	x.Ack = portals4.CTAck
	r.must(md.Put(x))
	r.reach(c, 1, 0)
	r.same("memory", mem, from)
	r.must(into.Get(x))
	r.reach(c, 2, 0)
	r.same("what was got", back, from)
}
