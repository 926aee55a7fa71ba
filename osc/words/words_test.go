package words

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
)

// world has members as goroutines, whose words lie in memory that all see.
type world struct {
	t       testing.TB
	members []*member
	words   [][]uint64
	silent  bool
	steps   atomic.Uint32
}

// member is one of them, and its Words.
type member struct {
	w    *world
	rank int
	comm *core.Comm
	sync Sync
	ops  atomic.Int64
	gone []bool // targets that cannot be reached
}

func newWorld(t testing.TB, n int, cfg Config, silent bool) *world {
	w := &world{t: t, silent: silent}
	job := new(progress.Runnable)
	all := make([]int, n)
	for i := range all {
		all[i] = i
		job.Enter()
	}
	for i := range n {
		e := progress.New(progress.Config{Cores: 1, LocalRanks: n, Job: job, SleepAfter: time.Millisecond})
		procs := make([]*core.Proc, n)
		for r := range procs {
			procs[r] = &core.Proc{Rank: r, Locality: core.LocalProcess}
		}
		m := &member{w: w, rank: i, comm: core.NewComm(e, 1, core.NewGroup(all, i), procs, "test"), gone: make([]bool, n)}
		w.members = append(w.members, m)
		w.words = append(w.words, make([]uint64, Number(n)))
	}
	for _, m := range w.members {
		c := cfg
		c.Flush = func(int) error { return nil }
		m.sync.Init(m, c, m.comm)
	}
	t.Cleanup(func() {
		for _, m := range w.members {
			_ = m.comm.Engine.Close()
		}
	})
	return w
}

// run has every member do body, and fails if that does not end.
func (w *world) run(body func(m *member) error) {
	w.t.Helper()
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, m := range w.members {
		wg.Go(func() {
			if err := body(m); err != nil {
				w.t.Errorf("rank %d: %v", m.rank, err)
			}
		})
	}
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(60 * time.Second):
		w.t.Fatalf("members hang; words %v", w.words)
	}
}

// die makes a member fail, as all others see it.
func (w *world) die(rank int) {
	for _, m := range w.members {
		m.comm.Procs[rank].Fail(errors.New("the test has ended it"))
		m.comm.SetFault(&core.Fault{Err: m.comm.DeathOf(m.comm.Procs[rank])})
		m.comm.Engine.Alarm()
		m.comm.Engine.Kick()
	}
}

// word is where the words of others are. Now and then it takes its time, and lets the token go, as networks do.
func (m *member) word(target, word int) (*uint64, error) {
	m.ops.Add(1)
	if m.w.steps.Add(1)*2654435761>>29 == 0 {
		m.comm.Engine.Lend()
	}
	if m.gone[target] {
		return nil, m.comm.DeathOf(m.comm.Procs[target])
	}
	return &m.w.words[target][word], nil
}

func (m *member) changed(target int) {
	if !m.w.silent {
		m.w.members[target].comm.Engine.Wake()
	}
}

func (m *member) FetchAdd(target, word int, delta uint64) (uint64, error) {
	p, err := m.word(target, word)
	if err != nil {
		return 0, err
	}
	defer m.changed(target)
	return atomic.AddUint64(p, delta) - delta, nil
}

func (m *member) CompareSwap(target, word int, compare, value uint64) (uint64, error) {
	p, err := m.word(target, word)
	if err != nil {
		return 0, err
	}
	defer m.changed(target)
	for {
		old := atomic.LoadUint64(p)
		if old != compare || atomic.CompareAndSwapUint64(p, compare, value) {
			return old, nil
		}
	}
}

func (m *member) Swap(target, word int, value uint64) (uint64, error) {
	p, err := m.word(target, word)
	if err != nil {
		return 0, err
	}
	defer m.changed(target)
	return atomic.SwapUint64(p, value), nil
}

func (m *member) Own(word int) *uint64 { return &m.w.words[m.rank][word] }
func (m *member) Silent() bool         { return m.w.silent }

// ways are the ways to wait for locks, and to hear of changes.
func ways(t *testing.T, f func(t *testing.T, cfg Config, silent bool)) {
	for _, way := range []struct {
		name   string
		mcs    bool
		silent bool
	}{{"asking", false, false}, {"queue", true, false}, {"silent queue", true, true}} {
		t.Run(way.name, func(t *testing.T) { f(t, Config{MCS: way.mcs}, way.silent) })
	}
}

// Who holds a lock exclusively is alone, sharers keep only those out, whatever all do at once; and at the end nothing is left in any word.
func TestLockModel(t *testing.T) {
	ways(t, func(t *testing.T, cfg Config, silent bool) {
		const n, rounds = 5, 250
		w := newWorld(t, n, cfg, silent)
		var alone, shared [n]atomic.Int32
		counts := make([]int, n) // changed under the exclusive lock
		var want [n]atomic.Int32
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		w.run(func(m *member) error {
			r := rand.New(rand.NewPCG(seed, uint64(m.rank)))
			inside := func(target int, exclusive bool) {
				if exclusive {
					if alone[target].Add(1) != 1 || shared[target].Load() != 0 {
						t.Errorf("rank %d is not alone at %d", m.rank, target)
					}
					counts[target]++
					want[target].Add(1)
					for range r.IntN(3) {
						runtime.Gosched()
					}
					alone[target].Add(-1)
					return
				}
				shared[target].Add(1)
				if alone[target].Load() != 0 {
					t.Errorf("rank %d shares the lock of %d with one who has it alone", m.rank, target)
				}
				_ = counts[target]
				for range r.IntN(3) {
					runtime.Gosched()
				}
				shared[target].Add(-1)
			}
			for range rounds {
				target := r.IntN(2)
				switch r.IntN(8) {
				case 0:
					if err := m.sync.LockAll(false); err != nil {
						return err
					}
					for i := range n {
						inside(i, false)
					}
					if err := m.sync.UnlockAll(); err != nil {
						return err
					}
				case 1: // two at once
					if err := errors.Join(m.sync.Lock(true, 0, false), m.sync.Lock(false, 1, false)); err != nil {
						return err
					}
					inside(0, true)
					inside(1, false)
					if err := errors.Join(m.sync.Unlock(0), m.sync.Unlock(1)); err != nil {
						return err
					}
				default:
					exclusive := r.IntN(2) == 0
					if err := m.sync.Lock(exclusive, target, false); err != nil {
						return err
					}
					inside(target, exclusive)
					if err := m.sync.Unlock(target); err != nil {
						return err
					}
				}
			}
			return nil
		})
		for i := range n {
			if counts[i] != int(want[i].Load()) {
				t.Errorf("%d of %d changes under the lock of %d", counts[i], want[i].Load(), i)
			}
			if w.words[i][LockWord] != 0 || w.words[i][TailWord] != 0 {
				t.Errorf("the words of %d are left as %#x", i, w.words[i])
			}
		}
	})
}

// Who wants all locks gets them, however many want single ones exclusively all the time, one after the other or two at once in whatever order.
func TestLockAllAmongMany(t *testing.T) {
	ways(t, func(t *testing.T, cfg Config, silent bool) {
		const n = 4
		w := newWorld(t, n, cfg, silent)
		var done atomic.Bool
		w.run(func(m *member) error {
			if m.rank == 0 {
				defer done.Store(true)
				for range 20 {
					if err := errors.Join(m.sync.LockAll(false), m.sync.UnlockAll()); err != nil {
						return err
					}
				}
				return nil
			}
			for i := m.rank; !done.Load(); i++ {
				target := i % 2
				if m.rank == 1 { // nobody else takes two, in this order
					if err := errors.Join(m.sync.Lock(true, 2, false), m.sync.Lock(true, target, false), m.sync.Unlock(2), m.sync.Unlock(target)); err != nil {
						return err
					}
					continue
				}
				if err := m.sync.Lock(true, target, false); err != nil {
					return err
				}
				runtime.Gosched()
				if err := m.sync.Unlock(target); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// Goroutines of one rank lock different members at once: all get their locks, though there is one place in a queue.
func TestManyGoroutinesOfARank(t *testing.T) {
	ways(t, func(t *testing.T, cfg Config, silent bool) {
		const n, rounds = 3, 100
		w := newWorld(t, n, cfg, silent)
		var total [n]int
		w.run(func(m *member) error {
			var wg sync.WaitGroup
			errs := make([]error, n)
			for target := range n {
				wg.Go(func() {
					for range rounds {
						if err := m.sync.Lock(true, target, false); err != nil {
							errs[target] = err
							return
						}
						total[target]++
						if err := m.sync.Unlock(target); err != nil {
							errs[target] = err
							return
						}
					}
				})
			}
			wg.Wait()
			return errors.Join(errs...)
		})
		for i, x := range total {
			if x != n*rounds {
				t.Errorf("lock %d: %d, want %d", i, x, n*rounds)
			}
		}
	})
}

// In a queue, those who came first are served first, sharers or not.
func TestQueueIsFair(t *testing.T) {
	const n = 6
	w := newWorld(t, n, Config{MCS: true}, false)
	if err := w.members[0].sync.Lock(true, 0, false); err != nil {
		t.Fatal(err)
	}
	var order []int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := 1; i < n; i++ {
		wg.Go(func() {
			m := w.members[i]
			if err := m.sync.Lock(i%2 == 1, 0, false); err != nil {
				t.Error(err)
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			if err := m.sync.Unlock(0); err != nil {
				t.Error(err)
			}
		})
		for atomic.LoadUint64(&w.words[0][TailWord]) != uint64(i)+1 {
			time.Sleep(50 * time.Microsecond)
		}
	}
	if err := w.members[0].sync.Unlock(0); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	for i, r := range order {
		if r != i+1 {
			t.Fatalf("served in the order %v", order)
		}
	}
}

// What an uncontended lock costs in accesses to the words of others: one to take it, one to give it back.
func TestCostOfLock(t *testing.T) {
	ways(t, func(t *testing.T, cfg Config, silent bool) {
		w := newWorld(t, 2, cfg, silent)
		m := w.members[0]
		for _, exclusive := range []bool{true, false} {
			before := m.ops.Load()
			if err := errors.Join(m.sync.Lock(exclusive, 1, false), m.sync.Unlock(1)); err != nil {
				t.Fatal(err)
			}
			if got := m.ops.Load() - before; got != 2 {
				t.Errorf("exclusive %v: %d accesses", exclusive, got)
			}
		}
		before := m.ops.Load()
		if err := errors.Join(m.sync.Lock(true, 1, true), m.sync.Unlock(1), m.sync.LockAll(true), m.sync.UnlockAll()); err != nil {
			t.Fatal(err)
		}
		if got := m.ops.Load() - before; got != 0 {
			t.Errorf("nocheck: %d accesses", got)
		}
		if n := testing.AllocsPerRun(100, func() {
			_ = m.sync.Lock(true, 1, false)
			_ = m.sync.Unlock(1)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func procFailed(err error) bool {
	var e *core.Error
	return errors.As(err, &e) && e.Class == core.ErrProcFailed
}

// A lock of a dead holder is an error to all who want it, also to those who waited when it died; by Config.Recover the next ones have it, one after the other.
func TestDeadHolder(t *testing.T) {
	ways(t, func(t *testing.T, cfg Config, silent bool) {
		for _, recovery := range []bool{false, true} {
			cfg.Recover = recovery
			const n, target, dead = 5, 1, 2
			w := newWorld(t, n, cfg, silent)
			if err := w.members[dead].sync.Lock(true, target, false); err != nil {
				t.Fatal(err)
			}
			var alone atomic.Int32
			w.run(func(m *member) error {
				switch m.rank {
				case dead:
					time.Sleep(3 * time.Millisecond)
					w.die(dead)
					return nil
				case n - 1: // comes late
					for m.comm.Fault() == nil {
						runtime.Gosched()
					}
				}
				for _, exclusive := range []bool{true, false} {
					err := m.sync.Lock(exclusive, target, false)
					if !recovery {
						if !procFailed(err) {
							t.Errorf("rank %d: %v", m.rank, err)
						}
						continue
					}
					if procFailed(err) && !exclusive {
						continue // it may be that the dead one shares it
					}
					if err != nil {
						// Sharers that live stand beside a death, which is told of.
						if procFailed(err) {
							continue
						}
						return err
					}
					if exclusive && alone.Add(1) != 1 {
						t.Error("two have the lock alone")
					}
					if exclusive {
						alone.Add(-1)
					}
					if err := m.sync.Unlock(target); err != nil {
						return err
					}
				}
				return nil
			})
			v := w.words[target][LockWord]
			if recovery && v != 0 || !recovery && v != mark(dead) {
				t.Errorf("recovery %v: the lock is left as %#x", recovery, v)
			}
		}
	})
}

// Where locks are recovered, somebody else's death is no reason not to wait for a sharer who lives.
func TestLivingSharer(t *testing.T) {
	ways(t, func(t *testing.T, cfg Config, silent bool) {
		cfg.Recover = true
		w := newWorld(t, 3, cfg, silent)
		if err := w.members[1].sync.Lock(false, 0, false); err != nil {
			t.Fatal(err)
		}
		w.die(2)
		w.run(func(m *member) error {
			switch m.rank {
			case 0:
				return errors.Join(m.sync.Lock(true, 0, false), m.sync.Unlock(0))
			case 1:
				for waiters(atomic.LoadUint64(&w.words[0][LockWord])) == 0 {
					runtime.Gosched()
				}
				return m.sync.Unlock(0)
			}
			return nil
		})
	})
}

// A death in the queue does not keep those behind it from the lock.
func TestDeathInQueue(t *testing.T) {
	const n = 4
	w := newWorld(t, n, Config{MCS: true}, false)
	// Rank 1 stands in the queue of rank 0 and will never say anything.
	if err := w.members[2].sync.Lock(true, 0, false); err != nil {
		t.Fatal(err)
	}
	atomic.StoreUint64(&w.words[0][TailWord], 2)
	atomic.AddUint64(&w.words[0][LockWord], waiter)
	w.run(func(m *member) error {
		switch m.rank {
		case 1:
			for atomic.LoadUint64(&w.words[0][TailWord]) == 2 {
				runtime.Gosched()
			}
			w.die(1)
		case 2:
			for m.comm.Fault() == nil {
				runtime.Gosched()
			}
			return m.sync.Unlock(0)
		case 3:
			if err := m.sync.Lock(true, 0, false); err != nil {
				return err
			}
			return errors.Join(m.sync.Unlock(0), m.sync.Lock(false, 0, false), m.sync.Unlock(0))
		}
		return nil
	})
}

// A target that is gone is an error, and nothing is held.
func TestTargetGone(t *testing.T) {
	w := newWorld(t, 3, Config{MCS: true}, false)
	m := w.members[0]
	w.die(2)
	m.gone[2] = true
	if err := m.sync.Lock(true, 2, false); !procFailed(err) {
		t.Error(err)
	}
	if err := m.sync.LockAll(false); !procFailed(err) {
		t.Error(err)
	}
	if len(m.sync.locks) != 0 || w.words[0][LockWord] != 0 || w.words[1][LockWord] != 0 {
		t.Errorf("%v is held; words %v", m.sync.locks, w.words)
	}
	if err := errors.Join(m.sync.Lock(true, 1, false), m.sync.Unlock(1)); err != nil {
		t.Error(err)
	}
}
