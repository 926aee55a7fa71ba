package main

import (
	"context"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	"github.com/ompi-go/ompi-go/ompi"
)

// oneSidedRank runs body as every rank of a one-sided test with its window open.
func oneSidedRank(t *testing.T, ranks int, args []string, body func(b *bench) error, opts ...ompi.Option) {
	t.Helper()
	c, err := parse(args)
	if err != nil {
		t.Fatal(err)
	}
	err = ompi.Run(context.Background(), ranks, func(world *ompi.Comm) error {
		b := newBench(world, *c, time.Now(), io.Discard)
		if err := b.allocate(); err != nil {
			return err
		}
		if err := b.openWindow(); err != nil {
			return err
		}
		if err := body(b); err != nil {
			return err
		}
		return b.closeWindow()
	}, opts...)
	if err != nil {
		t.Fatal(err)
	}
}

// Every way to synchronise works on every kind of window, also with ranks that only look on.
func TestEverySyncOnEveryWindow(t *testing.T) {
	for _, window := range suite.Windows() {
		for _, sync := range suite.Syncs() {
			t.Run(window+"/"+sync, func(t *testing.T) {
				args := []string{"put_latency", "-m", "8", "-i", "20", "--window", window, "--sync", sync, "--calls", "3"}
				oneSidedRank(t, 3, args, func(b *bench) error {
					*word(b.send) = int64(b.rank + 1)
					if us, err := b.rmaLatency(8, 10); err != nil || b.rank == 0 && us <= 0 {
						t.Errorf("%g us, %v", us, err)
					}
					if err := b.world.Barrier(); err != nil {
						return err
					}
					if err := b.win.Fence(0); err != nil {
						return err
					}
					if got := *word(b.win.memory); b.rank == 1 && got != 1 {
						t.Errorf("rank 1 has %d in its window, rank 0 put 1", got)
					}
					return b.win.Fence(ompi.ModeNoSucceed)
				})
			})
		}
	}
}

// The measured loops of operations allocate nothing for an iteration.
func TestOneSidedLoopsDoNotAllocate(t *testing.T) {
	const iterations = 400
	count := func(t *testing.T, args []string, measure func(b *bench) error) {
		oneSidedRank(t, 2, args, func(b *bench) error {
			var before, after runtime.MemStats
			if err := measure(b); err != nil { // what is made on first use
				return err
			}
			if err := b.world.Barrier(); err != nil {
				return err
			}
			runtime.ReadMemStats(&before)
			if err := measure(b); err != nil {
				return err
			}
			runtime.ReadMemStats(&after)
			if n := after.Mallocs - before.Mallocs; b.rank == 0 && n > iterations/4 { // of both ranks, and of the runtime
				t.Errorf("%d allocations in %d iterations", n, iterations)
			}
			return nil
		})
	}
	for _, name := range []string{"put_latency", "get_latency", "acc_latency", "get_acc_latency", "fop_latency", "cas_latency"} {
		t.Run(name, func(t *testing.T) {
			count(t, []string{name, "-m", "8"}, func(b *bench) error {
				_, err := b.rmaLatency(8, iterations)
				return err
			})
		})
	}
}

func TestPercentile(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3}
	for p, want := range map[float64]float64{0.2: 1, 0.5: 3, 0.99: 5, 1: 5, 0: 1} {
		if got := percentile(values, p); got != want {
			t.Errorf("percentile %g is %g, want %g", p, got, want)
		}
	}
	if percentile(nil, 0.5) != 0 {
		t.Error("no values have a percentile")
	}
}

// A total that is not exact is an error.
func TestHammerCountsExactly(t *testing.T) {
	oneSidedRank(t, 2, []string{"hammer"}, func(b *bench) error {
		b.cmd.params.Iterations, b.cmd.params.Warmup = 50, 5
		strike, done, err := b.striker("fetch_and_op")
		if err != nil {
			return err
		}
		if _, _, err := b.strikes(strike, 7); err != nil {
			return err
		}
		if err := done(); err != nil {
			return err
		}
		err = b.checkTotal("fetch_and_op", 8)
		if (err != nil) != (b.rank == 0) {
			t.Errorf("rank %d: %v", b.rank, err)
		}
		if b.rank == 0 { // it gave up before the barrier
			return b.world.Barrier()
		}
		return nil
	})
}
