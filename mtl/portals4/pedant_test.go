package portals4

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mtl"
	"github.com/ompi-go/ompi-go/mtl/mtltest"
	ptl "github.com/ompi-go/ompi-go/portals4"
)

// TestSelfFlood: what a rank keeps of itself must not take the headers of others, nor overflow a queue while nobody drives the engine.
func TestSelfFlood(t *testing.T) {
	for _, size := range []int{0, 1, 3000} {
		w := mtltest.NewWorld(t, mtltest.Config{Component: component{}, Params: map[string]string{"mtl_portals4_max_unexpected_headers": "64",
			"mtl_portals4_credit_headers": "8", "mtl_portals4_recv_event_queue_size": "64", "mtl_portals4_short_recv_num": "2", "mtl_portals4_short_recv_size": "8k"}}, 2)
		r := w.Ranks[0]
		const n = 3000
		out, in := make([]byte, max(size, 1)), make([]byte, max(size, 1))
		buf := func(b []byte) core.Buffer { return core.MakeBuffer(unsafe.Pointer(&b[0]), int64(size), datatype.Byte) }
		ends := new(counter)
		sends, recvs := make([]mtl.Request, n), make([]mtl.Request, n)
		for k := range sends {
			sends[k] = mtl.Request{Owner: ends, Ch: &r.World.P2P, Buf: buf(out), Peer: 0, Tag: 1}
			r.Do(func() { r.Module.Send(&sends[k]) })
		}
		w.Poll()
		s := &stream{rank: w.Ranks[1], to: 0, n: 1, size: 100, buf: make([]byte, 100)} // there is still room for others
		s.next()
		w.Poll()
		for k := range recvs { // the last first
			recvs[k] = mtl.Request{Owner: ends, Ch: &r.World.P2P, Buf: buf(in), Peer: 0, Tag: 1}
			r.Do(func() { r.Module.Recv(&recvs[k]) })
		}
		w.Until(t, "messages of a rank to itself", func() bool { return ends.n == 2*n })
		// And with the receives first, which the sends match at once.
		ends.n = 0
		for k := range recvs {
			r.Do(func() { r.Module.Recv(&recvs[k]) })
		}
		for k := range sends {
			r.Do(func() { r.Module.Send(&sends[k]) })
		}
		w.Until(t, "messages of a rank to itself, expected", func() bool { return ends.n == 2*n })
		if ends.err != nil || s.err != nil || r.Module.(*module).broken != nil {
			t.Errorf("size %d: %v, %v, %v", size, ends.err, s.err, r.Module.(*module).broken)
		}
		one := &sink{t: t, rank: r, buf: make([]byte, 100), seen: make([]uint32, 2)}
		one.next(1)
		w.Until(t, "the message of another", func() bool { return !one.busy })
	}
}

// counter counts ends.
type counter struct {
	n   int
	st  core.Status
	err error
}

// Done implements mtl.Completer.
func (c *counter) Done(_ *mtl.Request, st core.Status, err error) {
	c.n++
	c.st = st
	if err != nil {
		c.err = err
	}
}

// TestFewHeaders: far more ranks than there are headers for a window of each.
func TestFewHeaders(t *testing.T) {
	w := flood(t, map[string]string{"mtl_portals4_max_unexpected_headers": "64", "mtl_portals4_short_recv_num": "2", "mtl_portals4_short_recv_size": "8k",
		"mtl_portals4_credit_share": "4k"}, 40, 1, 20, 50)
	m := w.Ranks[0].Module.(*module)
	if m.credit.spare < 0 || m.broken != nil {
		t.Errorf("%d headers can be lent, %v", m.credit.spare, m.broken)
	}
}

// TestHostileMessages: a process that puts what no MTL puts harms nobody else.
func TestHostileMessages(t *testing.T) {
	long := make([]byte, 5000)
	for name, x := range map[string]struct {
		data   []byte
		source int
		proto  uint64
		hdr    uint64
	}{
		"longer than it says":   {long, 1, protoLong, 10},
		"shorter than it says":  {long[:10], 1, protoShort, 1000},
		"somebody else's":       {long[:10], 2, protoShort, 10},
		"nobody's":              {long[:10], 77, protoShort, 10},
		"rest that never is":    {long[:10], 1, protoLong, 5<<idShift | 1<<30},
		"unknown synchronous":   {long[:10], 1, protoShort, hdrSync | 77<<idShift | 10},
		"first part of nothing": {long[:2048], 1, protoRndv, 1<<idShift | 2049},
		"of no protocol":        {nil, 1, 9, 0},
	} {
		for _, late := range []bool{false, true} {
			w := mtltest.NewWorld(t, mtltest.Config{Component: component{}}, 3)
			r, bad := w.Ranks[0], w.Ranks[1]
			in := make([]byte, 8192)
			ends := new(counter)
			q := mtl.Request{Owner: ends, Ch: &r.World.P2P, Buf: core.MakeBuffer(unsafe.Pointer(&in[0]), int64(len(in)), datatype.Byte), Peer: mtl.AnySource, Tag: 7}
			put := func() {
				m := bad.Module.(*module)
				bad.Do(func() {
					if err := m.mute.Put(&ptl.Transfer{Mem: x.data, Target: m.peers[0].id, PT: m.recvPT.Index(), HdrData: x.hdr,
						MatchBits: m.split.bits(r.World.P2P.ID, x.source, 7) | x.proto<<protoShift}); err != nil {
						t.Fatal(err)
					}
				})
				for range 20 {
					w.Poll()
				}
			}
			recv := func() { r.Do(func() { r.Module.Recv(&q) }) }
			if late {
				if x.proto == 9 {
					continue // refused: flow control
				}
				put()
				recv()
			} else {
				recv()
				put()
			}
			w.Until(t, name, func() bool { return ends.n == 1 })
			if ends.err == nil && name != "unknown synchronous" && name != "of no protocol" {
				t.Errorf("%s, late %v: received as %+v", name, late, ends.st)
			}
			// The others go on.
			ends.err = nil
			good := &stream{rank: w.Ranks[2], to: 0, n: 1, size: 20, buf: make([]byte, 20)}
			in2 := &sink{t: t, rank: r, buf: make([]byte, 100), seen: make([]uint32, 3)}
			good.next()
			in2.next(2)
			w.Until(t, name+": another's", func() bool { return !in2.busy })
		}
	}
}

// TestCommFailsWhileGot: a send that its communicator's fault ends while its receiver gets the message keeps number and memory until that is over.
func TestCommFailsWhileGot(t *testing.T) {
	w := mtltest.NewWorld(t, mtltest.Config{Component: component{}, Params: map[string]string{"mtl_portals4_long_protocol": "rndv"}}, 2)
	a, b := w.Ranks[0], w.Ranks[1]
	const n = 8 << 20
	out, in := make([]byte, n), make([]byte, n)
	buf := func(b []byte) core.Buffer { return core.MakeBuffer(unsafe.Pointer(&b[0]), n, datatype.Byte) }
	sent, come := new(counter), new(counter)
	s := mtl.Request{Owner: sent, Ch: &a.World.P2P, Buf: buf(out), Peer: 1, Tag: 1}
	r := mtl.Request{Owner: come, Ch: &b.World.P2P, Buf: buf(in), Peer: 0, Tag: 1}
	a.Do(func() { a.Module.Send(&s) })
	b.Do(func() { b.Module.Recv(&r) })
	m := a.Module.(*module)
	for range 10000 {
		w.Poll()
		if len(m.sends) == 0 || m.sends[0].come && busy(m.sends[0].entry.Unlink()) {
			break
		}
		if sent.n > 0 {
			break
		}
	}
	a.Do(func() {
		a.World.SetFault(&core.Fault{Err: core.NewError(core.ErrRevoked, "revoked"), Fatal: true})
		m.CommFailed(a.World)
	})
	if sent.n != 1 || sent.err != nil && !errors.Is(sent.err, core.ErrRevoked) {
		t.Fatalf("%d ends, %v", sent.n, sent.err)
	}
	t.Logf("%d sends linger", len(m.sends))
	w.Until(t, "the end of the get", func() bool { return come.n == 1 && len(m.sends) == 0 })
}

// TestLoansComeBack: a receive waits for a message behind others when another sender has all loans. When those come back, the message does.
func TestLoansComeBack(t *testing.T) {
	w := mtltest.NewWorld(t, mtltest.Config{Component: component{}, Params: map[string]string{"mtl_portals4_max_unexpected_headers": "64", "mtl_portals4_credit_headers": "8"}}, 3)
	mem := make([]byte, 8)
	buf := core.MakeBuffer(unsafe.Pointer(&mem[0]), 8, datatype.Byte)
	begin := func(rank, peer, tag int, send bool, c *counter) {
		r := w.Ranks[rank]
		q := &mtl.Request{Owner: c, Ch: &r.World.P2P, Buf: buf, Peer: peer, Tag: tag}
		r.Do(func() {
			if send {
				r.Module.Send(q)
			} else {
				r.Module.Recv(q)
			}
		})
	}
	sent := new(counter)
	last := []*counter{nil, new(counter), new(counter)}
	const many, few = 100, 16 // what a sender was lent and has not used, up to 8, stays with it
	for peer, n := range []int{0, many, few} {
		if peer == 0 {
			continue
		}
		for range n {
			begin(peer, 0, 5, true, sent)
		}
		begin(peer, 0, 9, true, sent)
		begin(0, peer, 9, false, last[peer])
		for range 100 {
			w.Poll()
		}
	}
	if last[1].n+last[2].n > 0 {
		t.Fatal("there were headers for all")
	}
	others := new(counter)
	for range many {
		begin(0, 1, 5, false, others)
	}
	w.Until(t, "messages that stood behind others", func() bool { return others.n == many && last[1].n == 1 && last[2].n == 1 })
}
