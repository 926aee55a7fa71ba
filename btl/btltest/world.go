// Package btltest is the conformance suite of the BTLs, a world of instances to run it in, and two doubles for the tests of the
// floor above: Faulty, which makes a real BTL say ErrAgain and reorder, and Script, whose frames the test moves by hand.
//
// A component's own test is a Config and a call of Run; what the component does not offer is skipped. Only _test packages import it.
package btltest

import (
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

// Config says what a world is made of.
type Config struct {
	// Component is opened in every rank. It may have registered itself, or not.
	Component btl.Component
	// Params are parameters by full name, such as "btl_tcp_links".
	Params map[string]string
	// Self tells that ranks reach only themselves.
	Self bool
	// Shm opens a rank's shared memory domain; nil: there is none. Ranks are opened one after the other.
	Shm func(rank int, job rte.Job, e *progress.Engine) (*shm.Domain, error)
	// Job may change what a rank is told of its job; nil: nothing.
	Job func(rte.Job) rte.Job
	// SleepAfter is the engines' time to sleep; 0: never.
	SleepAfter time.Duration
	// RawHandles tells that memory handles are addresses, which the kernel checks: registrations do not end.
	RawHandles bool
	// Memory gives n bytes of memory that can be registered; nil: any can.
	Memory func(t testing.TB, r *Rank, n int64) []byte
	// Hub gives the ranks what goroutine ranks share, for components that open shared memory themselves.
	Hub bool
	// Hot lets engines poll without yielding, for benchmarks on idle cores.
	Hot bool
}

// World is a job whose ranks are instances of one BTL in this process. The test's goroutine drives all engines by Poll or
// Until, unless it hands them to others.
type World struct {
	Hub   *rte.Hub
	Ranks []*Rank
}

// Rank is one instance.
type Rank struct {
	Engine    *progress.Engine
	Job       rte.Job
	Env       *btl.Env
	Dispatch  btl.Dispatch
	Module    btl.Module
	Endpoints []btl.Endpoint // by rank; nil where it cannot be reached
	Reasons   []error        // why
	services  btl.Services
	closed    bool

	mu     sync.Mutex
	said   map[string]string
	failed []Failure
}

// Failure is a call of EndpointFailed.
type Failure struct {
	Rank  int
	Dead  bool
	Cause error
}

// EndpointFailed implements btl.Upcalls.
func (r *Rank) EndpointFailed(_ btl.Module, proc *core.Proc, dead bool, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, Failure{proc.Rank, dead, cause})
}

// Say implements btl.Upcalls.
func (r *Rank) Say(key, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.said[key]; !known {
		r.said[key] = message
	}
}

// Failures are the endpoints that failed so far.
func (r *Rank) Failures() []Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.failed)
}

// Said are the messages for the user, the first of each key.
func (r *Rank) Said() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.said)
}

// Do runs f with the rank's token held.
func (r *Rank) Do(f func()) {
	r.Engine.Lock()
	defer r.Engine.Unlock()
	f()
}

// NewWorld opens n ranks, lets them exchange their cards and adds all processes. It is closed when the test ends.
func NewWorld(t testing.TB, cfg Config, n int) *World {
	t.Helper()
	w := &World{Hub: rte.NewHub(n)}
	t.Cleanup(func() { w.Close(t) })
	reg, params := loadParams(t, cfg)
	var hub *shm.Hub
	if cfg.Hub {
		hub = shm.NewHub(n)
	}
	for i := range n {
		r, err := openRank(cfg, w.Hub.Job(i), reg, params, hub)
		if r != nil {
			w.Ranks = append(w.Ranks, r)
		}
		if err != nil {
			t.Fatalf("rank %d: %v", i, err)
		}
	}
	w.fence(t)
	for _, r := range w.Ranks {
		r.Env.Fenced = true
		r.Do(func() { r.Endpoints, r.Reasons = r.Module.AddProcs(r.Env.Procs) })
		if len(r.Endpoints) != n || len(r.Reasons) != n {
			t.Fatalf("AddProcs of %d processes gave %d endpoints and %d reasons", n, len(r.Endpoints), len(r.Reasons))
		}
	}
	return w
}

func loadParams(t testing.TB, cfg Config) (*mca.Registry, *mca.Params) {
	t.Helper()
	reg, err := mca.NewRegistry()
	if err == nil {
		if _, known := reg.Component("btl", cfg.Component.Name()); !known {
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

func openRank(cfg Config, job rte.Job, reg *mca.Registry, params *mca.Params, hub *shm.Hub) (*Rank, error) {
	if cfg.Job != nil {
		job = cfg.Job(job)
	}
	r := &Rank{Job: job, said: map[string]string{}}
	yield := progress.YieldAlways // on a small machine the tests must not starve one another
	if cfg.Hot {
		yield = progress.YieldNever
	}
	r.Engine = progress.New(progress.Config{Cores: 1, LocalRanks: 2, Yield: yield, SleepAfter: cfg.SleepAfter})
	r.Env = &btl.Env{Params: params, Engine: r.Engine, Job: job, Dispatch: &r.Dispatch, Upcalls: r, Registry: reg, Hub: hub, Services: &r.services}
	for i := range job.Size() {
		r.Env.Procs = append(r.Env.Procs, &core.Proc{Rank: i, Locality: locality(job.Locality(i))})
	}
	r.Env.ShmErr = errors.New("the test gives no shared memory")
	if cfg.Shm != nil {
		if r.Env.Shm, r.Env.ShmErr = cfg.Shm(job.Rank(), job, r.Engine); r.Env.ShmErr != nil {
			return r, r.Env.ShmErr
		}
	}
	modules, err := cfg.Component.Open(r.Env)
	if err != nil {
		return r, err
	}
	if len(modules) != 1 {
		return r, errors.New("the suite wants exactly one module")
	}
	r.Module = modules[0]
	return r, nil
}

func locality(l rte.Locality) core.Locality {
	return [...]core.Locality{rte.Self: core.LocalSelf, rte.SameProcess: core.LocalProcess, rte.SameHost: core.LocalHost, rte.Remote: core.LocalRemote}[l]
}

func (w *World) fence(t testing.TB) {
	t.Helper()
	errs := make(chan error, len(w.Ranks))
	for _, r := range w.Ranks {
		go func() { errs <- r.Job.Fence() }()
	}
	for range w.Ranks {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
}

// Poll makes one pass of every engine that is not closed, and reports how many events it found.
func (w *World) Poll() int {
	n := 0
	for _, r := range w.Ranks {
		n += r.Poll()
	}
	return n
}

// Poll makes one pass of the rank's engine.
func (r *Rank) Poll() int {
	r.Engine.Lock()
	defer r.Engine.Unlock()
	if r.closed {
		return 0
	}
	return r.Engine.PollAll()
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
				t.Fatalf("waited %v for %s", Patience, what)
			}
		}
	}
}

// CloseRank closes a rank's BTL, as Finalize does or, without flush, as an instance that gives up.
func (w *World) CloseRank(t testing.TB, rank int, flush bool) {
	t.Helper()
	r := w.Ranks[rank]
	if flush {
		w.Until(t, "Flush", func() bool {
			r.Engine.Lock()
			defer r.Engine.Unlock()
			out := r.Module.Flush()
			for _, s := range r.services.All() {
				out = out && s.Quiet() && s.Flush()
			}
			return out
		})
	}
	r.close(t)
}

func (r *Rank) close(t testing.TB) {
	t.Helper()
	r.Do(func() {
		if r.closed {
			return
		}
		r.closed = true
		if r.Module != nil {
			if err := r.Module.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
		for _, s := range slices.Backward(r.services.All()) {
			if err := s.Close(); err != nil {
				t.Errorf("closing what components share: %v", err)
			}
		}
	})
}

// Close closes all ranks.
func (w *World) Close(t testing.TB) {
	t.Helper()
	for _, r := range w.Ranks {
		r.close(t)
	}
	for _, r := range w.Ranks {
		if r.Env.Shm != nil {
			r.Do(func() { r.Env.Shm.Close() })
		}
		if err := r.Engine.Close(); err != nil {
			t.Errorf("closing the engine: %v", err)
		}
	}
}
