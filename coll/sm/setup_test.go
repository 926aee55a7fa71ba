package sm

import (
	"errors"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/rte"
)

// quiet swallows what the component tells the user.
type quiet struct {
	rte.Job
	said *int
}

func (q quiet) SayOnce(_, _ string) bool { *q.said++; return true }

// If one member cannot reach the board, none uses it, and everything works over the component below.
func TestOneDeclinesAllDecline(t *testing.T) {
	const n = 4
	for name, spoil := range map[string]func(f *factory){
		"no shared memory": func(f *factory) { f.shm = nil },
		"other parameters": func(f *factory) { f.opts.MaxData++ },
	} {
		for odd := range n {
			w := newWorld(t, n)
			said := make([]int, n)
			for r, fs := range w.list {
				for _, f := range fs {
					if mine, ok := f.(*factory); ok {
						mine.job = quiet{mine.job, &said[r]}
						if r == odd {
							spoil(mine)
						}
					}
				}
			}
			w.run(func(rank int, tbl *coll.Table, c *core.Comm) {
				for range 5 {
					in, out := []float64{1}, []float64{0}
					err := errors.Join(tbl.Barrier.Barrier(), tbl.Allreduce.Allreduce(floats(in), floats(out), core.Sum),
						tbl.Bcast.Bcast(floats(in), 1), tbl.Reduce.Reduce(floats(in), floats(out), core.Sum, 0))
					if err != nil || rank == 0 && out[0] != n {
						t.Errorf("%s at %d: rank %d: %v, %v", name, odd, rank, err, out)
					}
				}
				if m := moduleOf(tbl); m.state != declined {
					t.Errorf("%s at %d: rank %d has state %d", name, odd, rank, m.state)
				}
			})
			total := 0
			for _, k := range said {
				total += k
			}
			if wantWord := name == "other parameters"; wantWord != (total > 0) {
				t.Errorf("%s at %d: said %v", name, odd, said)
			}
		}
	}
}

// The board comes with the second operation, whichever that is, and nothing that is too large counts.
func TestBoardComesWithTheSecondOperation(t *testing.T) {
	newWorld(t, 3).run(func(rank int, tbl *coll.Table, _ *core.Comm) {
		m := moduleOf(tbl)
		big := floats(make([]float64, 10000))
		v := floats([]float64{2})
		for i, op := range []func() error{
			func() error { return tbl.Bcast.Bcast(big, 0) },
			tbl.Barrier.Barrier,
			func() error { return tbl.Bcast.Bcast(big, 1) },
			func() error { return tbl.Bcast.Bcast(v, 1) },
		} {
			if m.state != fresh {
				t.Errorf("rank %d has state %d before operation %d", rank, m.state, i)
			}
			if err := op(); err != nil {
				t.Error(err)
			}
		}
		if m.state != meeting {
			t.Errorf("rank %d has state %d", rank, m.state)
		}
	})
}

// waits are the ways to wait on a board.
func waits(n int) map[string]func(tbl *coll.Table) error {
	v, o := floats(make([]float64, 3)), floats(make([]float64, 3))
	return map[string]func(tbl *coll.Table) error{
		"barrier":   func(tbl *coll.Table) error { return tbl.Barrier.Barrier() },
		"bcast":     func(tbl *coll.Table) error { return tbl.Bcast.Bcast(v, n-1) },
		"reduce":    func(tbl *coll.Table) error { return tbl.Reduce.Reduce(v, o, core.Sum, 0) },
		"allreduce": func(tbl *coll.Table) error { return tbl.Allreduce.Allreduce(v, o, core.Sum) },
		"room": func(tbl *coll.Table) error {
			for range 3 * castBuffers {
				if err := tbl.Bcast.Bcast(v, 0); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// A member does not come because it has died: who waits for it gets the error, and so does every later call, at once.
func TestFaultEndsWaiting(t *testing.T) {
	const n = 3
	for name := range waits(n) {
		w := newWorld(t, n)
		cause := core.NewError(core.ErrProcFailed, "ended by the test")
		w.run(func(rank int, tbl *coll.Table, c *core.Comm) {
			for range firstOnBoard + 1 {
				if err := tbl.Barrier.Barrier(); err != nil {
					t.Error(err)
				}
			}
			if rank == n-1 {
				return
			}
			timer := time.AfterFunc(time.Duration(rank*5)*time.Millisecond, func() {
				c.SetFault(&core.Fault{Err: cause})
				c.Engine.Kick()
			})
			defer timer.Stop()
			do := waits(n)
			err := do[name](tbl)
			// Who need not wait for the dead notices later.
			for err == nil {
				err = tbl.Barrier.Barrier()
			}
			if !errors.Is(err, core.ErrProcFailed) {
				t.Errorf("%s: rank %d: %v", name, rank, err)
			}
			for later, f := range do {
				if err := f(tbl); !errors.Is(err, core.ErrProcFailed) {
					t.Errorf("%s, then %s: rank %d: %v", name, later, rank, err)
				}
			}
		})
	}
}

// A receive buffer that is too small is its rank's trouble.
func TestTruncation(t *testing.T) {
	newWorld(t, 3).run(func(rank int, tbl *coll.Table, _ *core.Comm) {
		for round := range 5 {
			v := make([]float64, 4)
			if rank == 0 {
				v = []float64{1, 2, 3, 4, 5}
			}
			err := tbl.Bcast.Bcast(floats(v), 0)
			if (rank != 0) != errors.Is(err, core.ErrTruncate) || v[3] != 4 {
				t.Errorf("round %d: rank %d: %v, %v", round, rank, err, v)
			}
		}
	})
}
