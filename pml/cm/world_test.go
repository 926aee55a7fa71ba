package cm

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mtl/mtltest"
)

// eager is the largest message that the reference MTL sends before it is matched.
const eager = 1000

// rank is a module over the reference MTL.
type rank struct {
	*mtltest.Rank
	o *module
	p *core.Channel
}

type world struct {
	*mtltest.World
	ranks []*rank
}

func newWorld(t testing.TB, n int) *world {
	t.Helper()
	w := &world{World: mtltest.NewWorld(t, mtltest.Config{Component: &mtltest.Loop{Eager: eager}}, n)}
	for _, r := range w.Ranks {
		w.ranks = append(w.ranks, &rank{r, newModule(r.Env, r.Module, Options{}), &r.World.P2P})
	}
	return w
}

func bytesOf(b []byte) core.Buffer {
	if len(b) == 0 {
		return core.MakeBuffer(nil, 0, datatype.Byte)
	}
	return core.MakeBuffer(unsafe.Pointer(&b[0]), int64(len(b)), datatype.Byte)
}

// until polls all ranks until the requests are complete.
func (w *world) until(t testing.TB, what string, rs ...*core.Request) {
	t.Helper()
	w.Until(t, what, func() bool {
		for _, r := range rs {
			if !r.Done() {
				return false
			}
		}
		return true
	})
}

// die makes a peer's death known to r, as the instance does.
func (r *rank) die(peer int) {
	r.Do(func() {
		p := r.Env.Procs[peer]
		if p.Fail(errors.New("it died")) {
			r.World.SetFault(&core.Fault{Err: r.World.DeathOf(p)})
			r.o.ProcFailed(p)
		}
	})
}

// revoke ends r's communicator.
func (r *rank) revoke() {
	r.Do(func() {
		r.World.SetFault(&core.Fault{Err: core.NewError(core.ErrRevoked, "revoked"), Fatal: true})
		r.o.CommFailed(r.World)
	})
}

// at runs f on a goroutine of its own and polls the others until it returns.
func (w *world) at(t testing.TB, what string, f func()) {
	t.Helper()
	over := make(chan struct{})
	go func() {
		defer close(over)
		f()
	}()
	w.Until(t, what, func() bool {
		select {
		case <-over:
			return true
		default:
			return false
		}
	})
}

// class checks the class of an outcome's error, and the rank that it names.
func class(t testing.TB, what string, err error, want core.ErrorClass, peer int) {
	t.Helper()
	var e *core.Error
	if !errors.As(err, &e) || e.Class != want || e.Peer != peer {
		t.Errorf("%s ended with %v, want class %v of rank %d", what, err, want, peer)
	}
}
