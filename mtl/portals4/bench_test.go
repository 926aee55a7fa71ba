package portals4

import (
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mtl"
	"github.com/ompi-go/ompi-go/mtl/mtltest"
)

type sinkOp struct {
	mtl.Request
	done bool
}

// Done implements mtl.Completer.
func (o *sinkOp) Done(*mtl.Request, core.Status, error) { o.done = true }

// BenchmarkMessage is the work of both ends for a message that its receive waits for: no waiting is in it, one goroutine does all.
func BenchmarkMessage(b *testing.B) {
	for _, mode := range []string{"credit", "recovery"} {
		b.Run(mode, func(b *testing.B) {
			w := mtltest.NewWorld(b, mtltest.Config{Component: component{}, Params: map[string]string{"mtl_portals4_flow_control": mode}}, 2)
			from, to := w.Ranks[0], w.Ranks[1]
			var out, in [8]byte
			ob, ib := core.MakeBuffer(unsafe.Pointer(&out), 8, datatype.Byte), core.MakeBuffer(unsafe.Pointer(&in), 8, datatype.Byte)
			r := &sinkOp{}
			r.Request = mtl.Request{Owner: r, Ch: &to.World.P2P, Buf: ib, Peer: 0, Tag: 1}
			first := &sinkOp{} // finds out whether there is a way: until then TrySend does nothing
			first.Request = mtl.Request{Owner: first, Ch: &from.World.P2P, Buf: ob, Peer: 1, Tag: 1}
			to.Engine.Lock()
			to.Module.Recv(&r.Request)
			to.Engine.Unlock()
			from.Engine.Lock()
			from.Module.Send(&first.Request)
			from.Engine.Unlock()
			for !r.done || !first.done {
				for _, k := range w.Ranks {
					k.Engine.Lock()
					k.Engine.Poll()
					k.Engine.Unlock()
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				r.done = false
				to.Engine.Lock()
				to.Module.Recv(&r.Request)
				to.Engine.Unlock()
				from.Engine.Lock()
				for !from.Module.TrySend(&from.World.P2P, ob, 1, 1) {
					from.Engine.Poll()
				}
				from.Engine.Poll()
				from.Engine.Unlock()
				to.Engine.Lock()
				for !r.done {
					to.Engine.Poll()
				}
				to.Engine.Unlock()
			}
		})
	}
}
