package portalstest

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/ompi-go/ompi-go/portals4"
	"github.com/ompi-go/ompi-go/portals4/atomics"
)

func swapCases() []testCase {
	return []testCase{
		{"Swap", any4, testSwap}, {"SwapAll", any4, testSwapAll}, {"SwapMany", any4, testSwapMany}, {"SwapLock", peers, testSwapLock},
	}
}

func testSwap(r *rig) {
	mem := binary.NativeEndian.AppendUint64(nil, 7)
	got := make([]byte, 8)
	pt, c := r.newPT(r.dst, 0, nil), r.newCT(r.src)
	r.link(pt, entry(mem, portals4.OpPut|portals4.OpGet), nil)
	md := r.bind(r.src, portals4.MD{Start: binary.NativeEndian.AppendUint64(nil, 9)})
	into := &portals4.Into{MD: r.bind(r.src, portals4.MD{Start: got, CT: c, Options: portals4.MDEventCTReply})}
	num := func(v uint64) []byte { return binary.NativeEndian.AppendUint64(nil, v) }
	for k, s := range []struct {
		op             portals4.AtomicOp
		prior, operand uint64
		want           uint64
	}{
		{portals4.Swap, 7, 0, 9},
		{portals4.CSwap, 7, 7, 9}, {portals4.CSwap, 7, 8, 7},
		{portals4.CSwapNE, 7, 8, 9}, {portals4.CSwapNE, 7, 7, 7},
		// The operand stands on the left: operand <= target.
		{portals4.CSwapLE, 7, 6, 9}, {portals4.CSwapLE, 7, 7, 9}, {portals4.CSwapLE, 7, 8, 7},
		{portals4.CSwapLT, 7, 6, 9}, {portals4.CSwapLT, 7, 7, 7}, {portals4.CSwapLT, 7, 8, 7},
		{portals4.CSwapGE, 7, 6, 7}, {portals4.CSwapGE, 7, 7, 9}, {portals4.CSwapGE, 7, 8, 9},
		{portals4.CSwapGT, 7, 6, 7}, {portals4.CSwapGT, 7, 7, 7}, {portals4.CSwapGT, 7, 8, 9},
		{portals4.MSwap, 6, 3, 5}, // the two low bits of 9, and the others of 6
	} {
		copy(mem, num(s.prior))
		r.move()
		r.must(md.Swap(r.xfer(pt, 8), into, num(s.operand), s.op, portals4.Uint64))
		r.reach(c, uint64(k+1), 0)
		what := fmt.Sprintf("operation %d on %d with operand %d", s.op, s.prior, s.operand)
		check(r, what, binary.NativeEndian.Uint64(mem), s.want)
		check(r, what+": before", binary.NativeEndian.Uint64(got), s.prior)
	}
}

// testSwapAll: every operation on every type it is defined on, with data before and operands of which some are equal, triggered or not.
func testSwapAll(r *rig) {
	var s slots
	type call struct {
		op      portals4.AtomicOp
		typ     portals4.Type
		operand []byte
	}
	var calls []call
	for op := portals4.Swap; op <= portals4.MSwap; op++ {
		for typ := portals4.Int8; typ <= portals4.DoubleComplex; typ++ {
			if !atomics.Legal(uint8(op), uint8(typ), true) {
				continue
			}
			n := atomics.Size(uint8(typ))
			data, origin := values(typ, 1), values(typ, 5)[n:2*n]
			for i := 0; i < len(data); i += n {
				for j := 0; j < len(data); j += 2 * n {
					prior, operand := data[i:i+n], data[j:j+n]
					want := append([]byte(nil), prior...)
					atomics.SwapApply(uint8(op), uint8(typ), want, origin, operand, make([]byte, n))
					s.add(fmt.Sprintf("operation %d type %d: %x with origin %x and operand %x", op, typ, prior, origin, operand), prior, origin, want, true)
					calls = append(calls, call{op, typ, operand})
				}
			}
		}
	}
	got := make([]byte, len(s.mem))
	pt, c, trig := r.newPT(r.dst, 0, nil), r.newCT(r.src), r.newCT(r.src)
	r.link(pt, entry(s.mem, portals4.OpPut|portals4.OpGet), nil)
	md := r.bind(r.src, portals4.MD{Start: s.from})
	into := r.bind(r.src, portals4.MD{Start: got, CT: c, Options: portals4.MDEventCTReply})
	for k, e := range s.all {
		x := r.xfer(pt, len(e.prior))
		x.Offset, x.RemoteOffset = e.at, e.at
		to, a := &portals4.Into{MD: into, Offset: e.at}, calls[k]
		if k%2 == 0 {
			r.must(md.TriggeredSwap(x, to, a.operand, a.op, a.typ, trig, 1))
		} else {
			r.must(md.Swap(x, to, a.operand, a.op, a.typ))
		}
	}
	r.reach(c, uint64(len(calls)/2), 0)
	r.must(trig.Inc(one))
	r.reach(c, uint64(len(calls)), 0)
	s.verify(r, got)
}

// testSwapMany: SWAP is on any number of elements.
func testSwapMany(r *rig) {
	n := int(min(r.nis[r.src].Limits().MaxFetchAtomicSize, 64<<10)) &^ 15
	mem, from, got := pattern(n, 1), pattern(n, 99), make([]byte, n)
	pt, c := r.newPT(r.dst, 0, nil), r.newCT(r.src)
	r.link(pt, entry(mem, portals4.OpPut|portals4.OpGet), nil)
	md := r.bind(r.src, portals4.MD{Start: from})
	into := &portals4.Into{MD: r.bind(r.src, portals4.MD{Start: got, CT: c, Options: portals4.MDEventCTReply})}
	for k, typ := range []portals4.Type{portals4.Int8, portals4.Uint16, portals4.Float, portals4.Int64, portals4.DoubleComplex} {
		copy(mem, pattern(n, 1))
		r.move()
		r.must(md.Swap(r.xfer(pt, n), into, nil, portals4.Swap, typ))
		r.reach(c, uint64(k+1), 0)
		r.same("memory", mem, from)
		r.same("before", got, pattern(n, 1))
	}
}

// testSwapLock: a lock made of compare-and-swap lets one rank in at a time.
func testSwapLock(r *rig) {
	const times = 15
	pt := r.newPT(r.dst, 0, nil)
	r.link(pt, entry(make([]byte, 8), portals4.OpPut|portals4.OpGet), nil)
	var inside sync.Mutex
	errs := make([]error, len(r.nis))
	num := func(v uint64) []byte { return binary.NativeEndian.AppendUint64(nil, v) }
	together(len(r.nis), func(rank int) {
		ni := r.nis[rank]
		c, err := ni.CTAlloc()
		got := make([]byte, 8)
		var md, into *portals4.MDHandle
		if err == nil {
			md, err = ni.MDBind(&portals4.MD{Anywhere: true})
		}
		if err == nil {
			into, err = ni.MDBind(&portals4.MD{Start: got, CT: c, Options: portals4.MDEventCTReply})
		}
		done := uint64(0)
		try := func(from, to uint64) bool {
			x := &portals4.Transfer{Mem: num(to), Target: ni.ProcessOf(r.dst), PT: pt.Index()}
			if err = md.Swap(x, &portals4.Into{MD: into}, num(from), portals4.CSwap, portals4.Uint64); err != nil {
				return true
			}
			done++
			if _, _, err = portals4.CTPoll([]*portals4.CT{c}, []uint64{done}, patience); err != nil {
				return true
			}
			return binary.NativeEndian.Uint64(got) == from
		}
		me := uint64(rank + 1)
		for k := 0; k < times && err == nil; k++ {
			for !try(0, me) {
			}
			if err != nil {
				break
			}
			if !inside.TryLock() {
				err = fmt.Errorf("rank %d is in while another is", rank)
				break
			}
			inside.Unlock()
			if !try(me, 0) {
				err = fmt.Errorf("rank %d had the lock, and cannot give it back", rank)
			}
		}
		errs[rank] = err
	})
	for _, err := range errs {
		r.must(err)
	}
}
