package portals4

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mtl"
	"github.com/ompi-go/ompi-go/mtl/mtltest"
	ptl "github.com/ompi-go/ompi-go/portals4"
)

// TestProtocols checks the table of docs/portals4-mtl.md: what a long message wastes, and whether it comes though the receiver's MTL does nothing after the
// call that posted the receive. Its host does nothing if its queues have no listener: only the interface works on.
func TestProtocols(t *testing.T) {
	const n = 1 << 20
	for _, c := range []struct {
		protocol  string
		expected  bool
		alone     bool   // the data is there though the receiver's host has not been there
		untaken   uint64 // bytes of the put that had no place
		triggered uint64
	}{
		{"eager", true, true, 0, 0},
		{"eager", false, true, n, 0},
		{"rndv", true, false, 0, 0},
		{"rndv", false, true, 0, 0},
		{"triggered", true, true, 0, 1},
		{"triggered", false, true, 0, 0},
	} {
		w := mtltest.NewWorld(t, mtltest.Config{Component: component{}, Params: map[string]string{"mtl_portals4_long_protocol": c.protocol}}, 2)
		out, in := bytes.Repeat([]byte{7}, n), make([]byte, n)
		from, to := w.Ranks[0], w.Ranks[1]
		s, r := &sinkOp{}, &sinkOp{}
		s.Request = mtl.Request{Owner: s, Ch: &from.World.P2P, Buf: core.MakeBuffer(unsafe.Pointer(&out[0]), n, datatype.Byte), Peer: 1, Tag: 1}
		r.Request = mtl.Request{Owner: r, Ch: &to.World.P2P, Buf: core.MakeBuffer(unsafe.Pointer(&in[0]), n, datatype.Byte), Peer: 0, Tag: 1}
		post := func() { to.Do(func() { to.Module.Recv(&r.Request) }) }
		m := to.Module.(*module)
		if c.expected {
			post()
		}
		from.Do(func() { from.Module.Send(&s.Request) })
		if !c.expected {
			w.Settle(t)
			post()
		}
		host := func(l ptl.EQListener) {
			to.Do(func() {
				for _, q := range []*ptl.EQ{m.recvEQ, m.sendEQ, m.readEQ, m.flowEQ} {
					if err := q.OnEvents(l); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
		host(nil)
		for range 200 {
			w.Poll()
		}
		alone := bytes.Equal(in, out)
		if alone != c.alone {
			t.Errorf("%s, expected %v: without the host the data is here: %v, want %v", c.protocol, c.expected, alone, c.alone)
		}
		host(m)
		w.Until(t, "the message", func() bool {
			to.Do(func() { m.drain() })
			return r.done && s.done
		})
		if !bytes.Equal(in, out) {
			t.Errorf("%s: the message is damaged", c.protocol)
		}
		travelled, err := m.ni.Status(ptl.WastedBytes)
		if travelled != 0 || err != nil {
			t.Errorf("%s: %d bytes travelled for nothing: %v", c.protocol, travelled, err)
		}
		t.Logf("%-9s  receive posted before %-5v  asynchronous progress %-5v  of %d bytes not taken %d, travelled in vain %d; gets triggered %d",
			c.protocol, c.expected, alone, n, m.stats.wasted, travelled, m.stats.triggered)
		if m.stats.wasted != c.untaken || m.stats.triggered != c.triggered {
			t.Errorf("%s, expected %v: %d bytes not taken, %d gets triggered; want %d, %d", c.protocol, c.expected, m.stats.wasted, m.stats.triggered, c.untaken, c.triggered)
		}
	}
}
