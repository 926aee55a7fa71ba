package ompi_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/ompi"
)

// wire is a BTL between goroutine ranks that can be cut: what it has taken still comes, it takes no more.
type wire struct {
	mu   sync.Mutex
	ends []*wireEnd
	cut  atomic.Bool
	sent atomic.Int64
}

func (w *wire) Framework() string { return "btl" }
func (w *wire) Name() string      { return "wire" }
func (w *wire) Options() any      { return nil }

// Open implements btl.Component.
func (w *wire) Open(env *btl.Env) ([]btl.Module, error) {
	e := &wireEnd{w: w, env: env}
	w.mu.Lock()
	w.ends = append(w.ends, e)
	w.mu.Unlock()
	env.Engine.Lock()
	defer env.Engine.Unlock()
	env.Engine.AddPoller(e)
	return []btl.Module{e}, nil
}

func (w *wire) end(rank int) *wireEnd {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ends[slices.IndexFunc(w.ends, func(e *wireEnd) bool { return e.env.Job.Rank() == rank })]
}

// sever cuts the wire; each rank notices when it polls.
func (w *wire) sever(ranks int) {
	w.cut.Store(true)
	for r := range ranks {
		w.end(r).env.Engine.Wake()
	}
}

type wireMessage struct {
	from         int
	tag          btl.Tag
	hdr, payload []byte
}

type wireEnd struct {
	w    *wire
	env  *btl.Env
	told atomic.Bool

	mu sync.Mutex
	in []wireMessage
}

func (e *wireEnd) Name() string { return "wire" }
func (e *wireEnd) Flush() bool  { return true }

func (e *wireEnd) Close() error {
	e.env.Engine.RemovePoller(e)
	return nil
}

func (e *wireEnd) Limits() btl.Limits {
	return btl.Limits{Eager: 1000, MaxSend: 9000, Latency: 0, Bandwidth: 80_000, Exclusivity: 65535} // that of sm
}

func (e *wireEnd) AddProcs(procs []*core.Proc) ([]btl.Endpoint, []error) {
	eps, errs := make([]btl.Endpoint, len(procs)), make([]error, len(procs))
	for i, p := range procs {
		if p.Rank == e.env.Job.Rank() {
			errs[i] = errors.New("wire: this rank")
		} else {
			eps[i] = &wireEndpoint{e, e.w.end(p.Rank)}
		}
	}
	return eps, errs
}

// Poll implements progress.Poller.
func (e *wireEnd) Poll() int {
	e.mu.Lock()
	in := e.in
	e.in = nil
	e.mu.Unlock()
	for _, m := range in {
		e.env.Dispatch.Handlers[m.tag].Receive(m.from, m.hdr, m.payload)
	}
	if e.w.cut.Load() && !e.told.Swap(true) {
		for _, p := range e.env.Procs {
			if p.Rank != e.env.Job.Rank() {
				e.env.Upcalls.EndpointFailed(e, p, false, errors.New("the wire is cut"))
			}
		}
	}
	return len(in)
}

type wireEndpoint struct{ from, to *wireEnd }

func (p *wireEndpoint) Send(f *btl.Frag) (bool, error) {
	w := p.from.w
	if w.cut.Load() {
		return false, errors.New("the wire is cut")
	}
	m := wireMessage{p.from.env.Job.Rank(), f.Tag, slices.Clone(f.Header()), make([]byte, f.Len)}
	switch {
	case f.Len == 0:
	case f.Data != nil:
		copy(m.payload, unsafe.Slice((*byte)(f.Data), f.Len))
	default:
		f.Conv.Pack(m.payload)
	}
	p.to.mu.Lock()
	p.to.in = append(p.to.in, m)
	p.to.mu.Unlock()
	w.sent.Add(1)
	p.to.env.Engine.Wake()
	return true, nil
}

// TestPathLost: ranks that talk over two BTLs go on over the other when one breaks, in the middle of everything.
func TestPathLost(t *testing.T) {
	aboutOb1(t)
	const ranks, rounds = 3, 12
	w := &wire{}
	var before int64
	job(t, ranks, func(world *ompi.Comm) error {
		me := world.Rank()
		to, from := (me+1)%ranks, (me+ranks-1)%ranks
		for round := range rounds {
			if round == rounds/2 && me == 1 {
				before = w.sent.Load()
				w.sever(ranks)
			}
			var reqs []*ompi.Request
			var in [][]byte
			sizes := []int{0, 8, 900, 5000, 60_000}
			for k, n := range sizes {
				out := make([]byte, n)
				fillMessage(out, me*1000+round+k)
				in = append(in, make([]byte, n))
				r := world.Irecv(ompi.Slice(in[k]), from, k)
				s := world.Isend(ompi.Slice(out), to, k)
				if (round+k)%3 == 0 {
					s2 := world.Issend(ompi.Slice(out), to, 100+k)
					r2 := world.Irecv(ompi.Slice(make([]byte, n)), from, 100+k)
					reqs = append(reqs, &s2, &r2)
				}
				reqs = append(reqs, &r, &s)
			}
			for _, r := range reqs {
				if _, err := r.Wait(); err != nil {
					return fmt.Errorf("round %d: %w", round, err)
				}
			}
			for k, n := range sizes {
				want := make([]byte, n)
				fillMessage(want, from*1000+round+k)
				if !slices.Equal(in[k], want) {
					return fmt.Errorf("round %d: the message of %d bytes is damaged", round, n)
				}
			}
			if err := world.Barrier(); err != nil {
				return err
			}
		}
		return nil
	}, ompi.WithComponent(w), ompi.WithParam("btl", "self,sm,wire"), ompi.WithParam("coll", "^sm"))
	if before == 0 {
		t.Error("nothing went over the wire")
	}
	for r := range ranks {
		if !w.end(r).told.Load() {
			t.Errorf("rank %d has not noticed", r)
		}
	}
}
