// Package mpooltest is the conformance suite of the mpool framework: what every pool must do. It is for tests; those of components
// outside of this module may use it, too.
//
//	func TestConformance(t *testing.T) { mpooltest.Run(t, mpooltest.Config{Component: component{}}) }
package mpooltest

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/metrics"
	"github.com/ompi-go/ompi-go/mpool"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

// Config says what is tested.
type Config struct {
	Component mpool.Component
	// Domains opens the shared memory of two ranks; nil: there is none.
	Domains func(t testing.TB) []*shm.Domain
}

// Run runs the suite.
func Run(t *testing.T, cfg Config) {
	t.Run("Alloc", func(t *testing.T) { alloc(t, cfg) })
	t.Run("BadArguments", func(t *testing.T) { badArguments(t, cfg) })
	t.Run("Free", func(t *testing.T) { frees(t, cfg) })
	t.Run("Users", func(t *testing.T) { users(t, cfg) })
	t.Run("Goroutines", func(t *testing.T) { goroutines(t, cfg) })
	t.Run("Close", func(t *testing.T) { closes(t, cfg) })
	t.Run("Metrics", func(t *testing.T) { counters(t, cfg) })
	t.Run("Share", func(t *testing.T) { share(t, cfg) })
	t.Run("ShareFreed", func(t *testing.T) { shareFreed(t, cfg) })
	t.Run("ShareBad", func(t *testing.T) { shareBad(t, cfg) })
}

// Domains opens two ranks' shared memory: goroutine ranks, or what processes have.
func Domains(goroutines bool, opt shm.Options) func(t testing.TB) []*shm.Domain {
	return func(t testing.TB) []*shm.Domain {
		t.Helper()
		job := rte.NewHub(2)
		var hub *shm.Hub
		if goroutines {
			hub = shm.NewHub(2)
		}
		done := make(chan error)
		var all []*shm.Domain
		for r := range 2 {
			e := progress.New(progress.Config{Cores: 1, LocalRanks: 2})
			d, err := shm.Open(shm.Config{Job: job.Job(r), Engine: e, Options: opt, Hub: hub})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				e.Lock()
				err := d.Close()
				e.Unlock()
				if err := errors.Join(err, e.Close()); err != nil {
					t.Errorf("closing shared memory: %v", err)
				}
			})
			all = append(all, d)
		}
		for r := range 2 {
			go func() { done <- job.Job(r).Fence() }()
		}
		if err := errors.Join(<-done, <-done); err != nil {
			t.Fatal(err)
		}
		return all
	}
}

// Said are the fallbacks that a pool told of.
type Said struct {
	mu   sync.Mutex
	Keys []string
}

func (s *Said) say(key, _ string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Keys = append(s.Keys, key)
}

// Open opens a pool on a domain, which may be nil.
func Open(t testing.TB, c mpool.Component, d *shm.Domain) (mpool.Pool, *Said) {
	t.Helper()
	params := Params(t)
	said := &Said{}
	p, _, err := c.Open(&mpool.Env{Params: params, Shm: d, Say: said.say})
	if err != nil {
		t.Fatal(err)
	}
	if p.Name() != c.Name() {
		t.Errorf("the pool of %s is called %s", c.Name(), p.Name())
	}
	return p, said
}

// Params are default parameters but for those given, by name and value.
func Params(t testing.TB, settings ...string) *mca.Params {
	t.Helper()
	reg, err := mca.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	var in mca.Input
	for k := 0; k < len(settings); k += 2 {
		in.Settings = append(in.Settings, mca.Setting{Name: settings[k], Value: settings[k+1], Layer: mca.LayerAPI})
	}
	params, err := mca.Load(reg, in)
	if err != nil {
		t.Fatal(err)
	}
	return params
}

// pools are those of two ranks, or the one of a rank alone.
func (cfg *Config) pools(t testing.TB) []mpool.Pool {
	t.Helper()
	domains := []*shm.Domain{nil}
	if cfg.Domains != nil {
		domains = cfg.Domains(t)
	}
	var all []mpool.Pool
	for _, d := range domains {
		p, _ := Open(t, cfg.Component, d)
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		all = append(all, p)
	}
	return all
}

func get(t testing.TB, p mpool.Pool, n, align int64) (*core.Region, []byte) {
	t.Helper()
	r, err := p.Alloc(n, align)
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Slice(0, n)
	if err != nil {
		t.Fatal(err)
	}
	return r, b
}

func unref(t testing.TB, r *core.Region) {
	t.Helper()
	if err := r.Unref(); err != nil {
		t.Error(err)
	}
}

func alloc(t *testing.T, cfg Config) {
	p := cfg.pools(t)[0]
	var regions []*core.Region
	var all [][]byte
	for k, n := range []int64{0, 1, 7, 64, 4095, 4096, 4097, 100000, 3 << 20} {
		align := int64(1) << (k * 2)
		r, b := get(t, p, n, align)
		if uintptr(r.Base())%uintptr(align) != 0 || r.Size() != n || r.Kind() == core.RegionPeer {
			t.Errorf("%d bytes at multiples of %d: %p, %d bytes, kind %d", n, align, r.Base(), r.Size(), r.Kind())
		}
		for i := range b {
			if b[i] != 0 {
				t.Fatalf("byte %d of %d is %#x", i, n, b[i])
			}
			b[i] = byte(k + 1)
		}
		regions, all = append(regions, r), append(all, b)
	}
	for k, b := range all {
		if i := slices.IndexFunc(b, func(x byte) bool { return x != byte(k+1) }); i >= 0 {
			t.Errorf("byte %d of %d belongs to another piece, too", i, len(b))
		}
		unref(t, regions[k])
	}
}

func badArguments(t *testing.T, cfg Config) {
	p := cfg.pools(t)[0]
	for _, c := range []struct {
		n, align int64
		class    core.ErrorClass
	}{{-1, 1, core.ErrArg}, {-1 << 63, 1, core.ErrArg}, {1, 0, core.ErrArg}, {1, 3, core.ErrArg}, {1, -64, core.ErrArg},
		{1 << 45, 1, core.ErrNoMem}, {1 << 60, 1, core.ErrNoMem}, {1<<63 - 1, 64, core.ErrNoMem}, {1, 1 << 61, core.ErrNoMem}} {
		if r, err := p.Alloc(c.n, c.align); core.ClassOf(err) != c.class {
			t.Errorf("%d bytes at multiples of %d: %v, %v; want %v", c.n, c.align, r, err, c.class)
		}
	}
}

// frees shows that freed addresses are not given out again, and that memory is zero every time.
func frees(t *testing.T, cfg Config) {
	p := cfg.pools(t)[0]
	seen := map[unsafe.Pointer]bool{}
	for range 50 {
		r, b := get(t, p, 20000, 64)
		if slices.ContainsFunc(b, func(x byte) bool { return x != 0 }) {
			t.Fatal("memory holds something")
		}
		b[0], b[len(b)-1] = 1, 2
		if r.Kind() == core.RegionMapped {
			if seen[r.Base()] {
				t.Fatal("an address is given out again")
			}
			seen[r.Base()] = true
		}
		unref(t, r)
	}
}

func users(t *testing.T, cfg Config) {
	p := cfg.pools(t)[0]
	r, b := get(t, p, 100, 1)
	r.Ref()
	unref(t, r)
	b[99] = 5
	if x, err := r.Slice(99, 1); err != nil || x[0] != 5 {
		t.Errorf("it is gone though somebody uses it: %v", err)
	}
	unref(t, r)
	defer func() {
		if recover() == nil {
			t.Error("a freed region is freed again")
		}
	}()
	_ = r.Unref()
}

func goroutines(t *testing.T, cfg Config) {
	p := cfg.pools(t)[0]
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for k := range 20 {
				r, err := p.Alloc(int64(1+k*300), 64)
				if err != nil {
					t.Error(err)
					return
				}
				b, _ := r.Slice(0, r.Size())
				for i := range b {
					b[i] = byte(g)
				}
				for i := range b {
					if b[i] != byte(g) {
						t.Error("two goroutines have the same memory")
						return
					}
				}
				if err := r.Unref(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// closes: what is in use outlives its pool.
func closes(t *testing.T, cfg Config) {
	p := cfg.pools(t)[0]
	r, b := get(t, p, 5000, 1)
	freed, _ := get(t, p, 5000, 1)
	unref(t, freed)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	b[4999] = 1
	unref(t, r)
}

func counters(t *testing.T, cfg Config) {
	p := cfg.pools(t)[0]
	s, ok := p.(metrics.Source)
	if !ok {
		t.Skip("no counters")
	}
	if _, err := metrics.Describe(s); err != nil {
		t.Error(err)
	}
	r, _ := get(t, p, 5000, 1)
	q, _ := get(t, p, 10, 1)
	unref(t, r)
	_, _ = p.Alloc(1<<60, 1)
	got := map[string]uint64{}
	s.Metrics(func(d *metrics.Desc, v uint64, labels ...string) {
		if len(labels) != 1 || labels[0] != p.Name() {
			t.Errorf("%s has labels %q", d.Name, labels)
		}
		got[d.Name] = v
	})
	for name, want := range map[string]uint64{"allocations": 2, "allocated_bytes": 5010, "frees": 1, "freed_bytes": 5000, "failures": 1} {
		if v := got["ompi_mpool_"+name+"_total"]; v != want {
			t.Errorf("%s: %d, want %d", name, v, want)
		}
	}
	unref(t, q)
}
