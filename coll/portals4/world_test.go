package portals4

import (
	"sync"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	_ "github.com/ompi-go/ompi-go/btl/self"
	_ "github.com/ompi-go/ompi-go/btl/sm"
	"github.com/ompi-go/ompi-go/coll"
	_ "github.com/ompi-go/ompi-go/coll/basic"
	"github.com/ompi-go/ompi-go/coll/colltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

// world is a job of goroutine ranks, each with a Portals interface; the components below go over the suite's point-to-point layer.
type world struct {
	t      testing.TB
	n      int
	fabric *colltest.Fabric
	ranks  []*rank

	mu    sync.Mutex
	comms []*core.Comm
}

// rank is one of them. It implements btl.Upcalls.
type rank struct {
	w      *world
	engine *progress.Engine
	env    *btl.Env
	list   []coll.Factory
}

// newWorld makes n ranks with the given settings, name and value in turn.
func newWorld(t testing.TB, n int, settings ...string) *world {
	t.Helper()
	reg, params := colltest.Params(t, append([]string{"coll", "portals4,basic"}, settings...)...)
	w := &world{t: t, n: n, fabric: colltest.NewFabric(n, 4096)}
	jobs, memory := rte.NewHub(n), shm.NewHub(n)
	all := make([]int, n)
	for r := range all {
		all[r] = r
	}
	for r := range n {
		c := w.fabric.Comm(0, all, r)
		k := &rank{w: w, engine: c.Engine}
		k.env = &btl.Env{Params: params, Engine: k.engine, Job: jobs.Job(r), Arch: datatype.ArchNative.Resolve(), Procs: c.Procs, Dispatch: &btl.Dispatch{}, Upcalls: k,
			Registry: reg, Hub: memory, Services: new(btl.Services), Fenced: true}
		k.env.Shm, k.env.ShmErr = shm.Open(shm.Config{Job: k.env.Job, Engine: k.engine, Hub: memory})
		w.ranks = append(w.ranks, k)
	}
	w.fabric.Run(func(r int) { w.ranks[r].open(reg, params, w.fabric.Rank(r)) })
	if t.Failed() {
		t.FailNow()
	}
	t.Cleanup(w.close)
	return w
}

func (k *rank) open(reg *mca.Registry, params *mca.Params, p *colltest.FakePML) {
	fs, err := coll.Open(reg, params, &coll.Env{Params: params, Job: k.env.Job, PML: p, Env: k.env})
	if err != nil {
		k.w.t.Error(err)
	}
	k.list = fs
}

func (w *world) close() {
	for _, k := range w.ranks {
		k.engine.Lock()
		for _, s := range k.env.Services.All() {
			if err := s.Close(); err != nil {
				w.t.Error(err)
			}
		}
		if k.env.Shm != nil {
			_ = k.env.Shm.Close()
		}
		k.engine.Unlock()
	}
}

// EndpointFailed implements btl.Upcalls, as an instance does.
func (k *rank) EndpointFailed(_ btl.Module, p *core.Proc, _ bool, cause error) {
	if !p.Fail(cause) {
		return
	}
	k.w.mu.Lock()
	comms := k.w.comms
	k.w.mu.Unlock()
	for _, c := range comms {
		if c.Engine != k.engine || !c.Has(p.Rank) {
			continue
		}
		c.SetFault(&core.Fault{Err: c.DeathOf(p)})
		for _, f := range k.list {
			if l, ok := f.(coll.FaultListener); ok {
				l.CommFailed(c)
			}
		}
	}
	k.engine.Kick()
}

// Say implements btl.Upcalls.
func (k *rank) Say(string, string) {}

// kill tells all ranks that one has died.
func (w *world) kill(victim int, cause error) {
	w.fabric.Kill(victim)
	for r, k := range w.ranks {
		if r != victim {
			k.engine.Lock()
			k.EndpointFailed(nil, k.env.Procs[victim], true, cause)
			k.engine.Unlock()
		}
	}
}

// comm makes rank self's part of a communicator.
func (w *world) comm(k uint32, members []int, self int) (*coll.Table, *core.Comm) {
	c := w.fabric.Comm(k, members, self)
	w.mu.Lock()
	w.comms = append(w.comms, c)
	w.mu.Unlock()
	tbl, err := coll.Select(w.ranks[self].list, c)
	if err != nil {
		w.t.Error(err)
		return nil, nil
	}
	return tbl, c
}

// run calls body on all ranks with a communicator of all of them, which it closes afterwards.
func (w *world) run(body func(rank int, tbl *coll.Table, c *core.Comm)) {
	var idle sync.WaitGroup
	idle.Add(w.n)
	w.fabric.Run(func(self int) {
		tbl, c := w.comm(3, colltest.Shuffled(w.n), self)
		if tbl == nil {
			idle.Done()
			return
		}
		body(c.MyRank, tbl, c)
		idle.Done()
		w.serve(self, &idle)
		if err := tbl.Close(); err != nil {
			w.t.Error(err)
		}
	})
}

// serve drives a rank's engine until all ranks have come to it, as the end of an instance does.
func (w *world) serve(self int, all *sync.WaitGroup) {
	over := &flag{}
	e := w.ranks[self].engine
	go func() {
		all.Wait()
		e.Lock()
		e.Complete(&over.Completion)
		e.Unlock()
		e.Kick()
	}()
	e.Wait(over)
}

type flag struct{ progress.Completion }

// moduleOf is the component's module behind a table.
func moduleOf(tbl *coll.Table) *module {
	m, _ := tbl.Barrier.(*module)
	return m
}

func ints(s []int64) core.Buffer {
	return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(s)), int64(len(s)), datatype.Int64)
}

func rawBytes(s []byte, t *datatype.Type) core.Buffer {
	return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(s)), int64(len(s))/t.Size(), t)
}

func floats(s []float64) core.Buffer {
	return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(s)), int64(len(s)), datatype.Float64)
}
