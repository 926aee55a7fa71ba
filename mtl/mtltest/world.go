// Package mtltest is the conformance suite of the MTLs, a world of instances to run it in, and the reference MTL that the suite and the
// PML above are tested with (Loop).
//
// A component's own test is a Config and a call of Run. Only _test packages import it.
package mtltest

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/mtl"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

// Config says what a world is made of.
type Config struct {
	// Component is opened in every rank. It may have registered itself, or not.
	Component mtl.Component
	// Params are parameters by full name, such as "mtl_portals4_short_limit".
	Params map[string]string
	// Shm gives the ranks shared memory, as goroutine ranks of ompi have it.
	Shm bool
	// Long is a size of messages whose data is fetched once they are matched; 0: 1 MiB, less under the race detector.
	Long int
}

// World is a job whose ranks are instances of one MTL in this process. The test's goroutine drives all engines.
type World struct {
	Hub   *rte.Hub
	Ranks []*Rank
	Long  int
	cfg   Config
}

// Rank is one instance.
type Rank struct {
	Engine *progress.Engine
	Job    rte.Job
	Env    *btl.Env
	Module mtl.Module
	World  *core.Comm // of all ranks
	shm    *shm.Domain
	svc    btl.Services
	table  btl.Dispatch
	silent bool // is not polled any more
	failed []int
}

// EndpointFailed implements btl.Upcalls.
func (r *Rank) EndpointFailed(_ btl.Module, p *core.Proc, _ bool, _ error) {
	r.failed = append(r.failed, p.Rank)
}

// Say implements btl.Upcalls.
func (r *Rank) Say(string, string) {}

// Do runs f with the rank's token held.
func (r *Rank) Do(f func()) {
	r.Engine.Lock()
	defer r.Engine.Unlock()
	f()
}

// NewWorld opens n ranks, with a communicator of all. It is closed when the test ends.
func NewWorld(t testing.TB, cfg Config, n int) *World {
	t.Helper()
	w := &World{Hub: rte.NewHub(n), Long: cfg.Long, cfg: cfg}
	if w.Long == 0 {
		if w.Long = 1 << 20; raceEnabled {
			w.Long = 1 << 18
		}
	}
	t.Cleanup(func() { w.close(t) })
	reg, params := load(t, cfg)
	hub := shm.NewHub(n)
	for i := range n {
		r, err := w.open(cfg, i, reg, params, hub)
		w.Ranks = append(w.Ranks, r)
		if err != nil {
			t.Fatalf("rank %d: %v", i, err)
		}
	}
	errs := make(chan error, n)
	for _, r := range w.Ranks {
		go func() { errs <- r.Job.Fence() }()
	}
	for range w.Ranks {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range w.Ranks {
		r.Env.Fenced = true
		r.World = r.Comm(t, 0)
	}
	return w
}

func load(t testing.TB, cfg Config) (*mca.Registry, *mca.Params) {
	t.Helper()
	reg, err := mca.NewRegistry()
	if err == nil {
		if _, known := reg.Component("mtl", cfg.Component.Name()); !known {
			reg, err = mca.NewRegistry(cfg.Component)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	var in mca.Input
	for name, value := range cfg.Params {
		in.Settings = append(in.Settings, mca.Setting{Name: name, Value: value, Layer: mca.LayerAPI, Where: "the test"})
	}
	params, err := mca.Load(reg, in)
	if err != nil {
		t.Fatal(err)
	}
	return reg, params
}

func (w *World) open(cfg Config, rank int, reg *mca.Registry, params *mca.Params, hub *shm.Hub) (*Rank, error) {
	job := w.Hub.Job(rank)
	r := &Rank{Job: job}
	r.Engine = progress.New(progress.Config{Cores: 1, LocalRanks: 2, Yield: progress.YieldAlways}) // on a small machine the tests must not starve one another
	r.Env = &btl.Env{Params: params, Engine: r.Engine, Job: job, Dispatch: &r.table, Upcalls: r, Registry: reg, Hub: hub, Services: &r.svc}
	for i := range job.Size() {
		l := core.LocalProcess
		if i == rank {
			l = core.LocalSelf
		}
		r.Env.Procs = append(r.Env.Procs, &core.Proc{Rank: i, Locality: l})
	}
	r.Env.ShmErr = errors.New("the test gives no shared memory")
	if cfg.Shm {
		var so shm.Options
		if err := params.Decode("shm", "", &so); err != nil {
			return r, err
		}
		r.shm, r.Env.ShmErr = shm.Open(shm.Config{Job: job, Engine: r.Engine, Options: so, Hub: hub})
		if r.Env.ShmErr != nil {
			return r, r.Env.ShmErr
		}
		r.Env.Shm = r.shm
	}
	m, _, err := cfg.Component.Open(r.Env)
	r.Module = m
	return r, err
}

// Comm makes communicator k over all ranks known to r.
func (r *Rank) Comm(t testing.TB, k uint32) *core.Comm {
	t.Helper()
	all := make([]int, len(r.Env.Procs))
	for i := range all {
		all[i] = i
	}
	c := core.NewComm(r.Engine, k, core.NewGroup(all, r.Job.Rank()), r.Env.Procs, fmt.Sprint("comm ", k))
	r.Do(func() {
		if err := r.Module.AddComm(c); err != nil {
			t.Fatal(err)
		}
	})
	return c
}

// Poll makes one pass of every engine, and reports how many events it found.
func (w *World) Poll() int {
	n := 0
	for _, r := range w.Ranks {
		if !r.silent {
			r.Do(func() { n += r.Engine.PollAll() })
		}
	}
	return n
}

// Patience is how long Until waits. It is generous: only a test that fails waits so long.
const Patience = 30 * time.Second

// Until polls all ranks until done, or fails the test.
func (w *World) Until(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for !done() {
		if w.Poll() == 0 {
			runtime.Gosched()
			if time.Now().After(deadline) {
				t.Fatalf("waited %v for %s; pending: %s", Patience, what, w.pending())
			}
		}
	}
}

// Settle polls until nothing happens any more and what was sent on comm 0 has come.
func (w *World) Settle(t testing.TB) {
	t.Helper()
	w.Until(t, "what was sent to come", func() bool {
		for _, r := range w.Ranks {
			if !r.silent && !r.flushed() {
				return false
			}
		}
		return true
	})
	for quiet := 0; quiet < 3; quiet++ {
		if w.Poll() != 0 {
			quiet = -1
		}
	}
}

func (r *Rank) flushed() (ok bool) {
	r.Do(func() { ok = r.Module.Flushed(r.World) })
	return ok
}

func (w *World) pending() (say string) {
	for i, r := range w.Ranks {
		r.Do(func() { say += fmt.Sprintf("rank %d: %q ", i, r.Module.Pending()) })
	}
	return say
}

// Die makes a rank's death known to all others, as their instances do. It is not polled any more.
func (w *World) Die(rank int) {
	w.Ranks[rank].silent = true
	for i, r := range w.Ranks {
		if i == rank || r.silent {
			continue
		}
		r.Do(func() {
			p := r.Env.Procs[rank]
			if p.Fail(errors.New("it died")) {
				r.World.SetFault(&core.Fault{Err: r.World.DeathOf(p)})
			}
			r.Module.ProcFailed(p)
		})
	}
}

func (w *World) close(t testing.TB) {
	for _, r := range w.Ranks {
		r.Do(func() {
			if r.Module != nil {
				if err := r.Module.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}
			for _, s := range r.svc.All() {
				if err := s.Close(); err != nil {
					t.Errorf("closing a service: %v", err)
				}
			}
		})
	}
	for _, r := range w.Ranks {
		if r.shm != nil {
			r.Do(func() {
				if err := r.shm.Close(); err != nil {
					t.Errorf("closing shared memory: %v", err)
				}
			})
		}
		if err := r.Engine.Close(); err != nil {
			t.Errorf("closing the engine: %v", err)
		}
	}
}
