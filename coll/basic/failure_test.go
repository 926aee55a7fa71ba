package basic_test

import (
	"errors"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/colltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

func floats(s []float64) core.Buffer {
	return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(s)), int64(len(s)), datatype.Float64)
}

// operations are all operations on buffers of the given number of elements a block.
func operations(n, block int) map[string]func(tbl *coll.Table) error {
	one := func() core.Buffer { return floats(make([]float64, block)) }
	whole := func() core.Buffer { return floats(make([]float64, block*n)) }
	counts := make([]int, n)
	for i := range counts {
		counts[i] = block
	}
	return map[string]func(tbl *coll.Table) error{
		"barrier":    func(tbl *coll.Table) error { return tbl.Barrier.Barrier() },
		"bcast":      func(tbl *coll.Table) error { return tbl.Bcast.Bcast(one(), 1) },
		"reduce":     func(tbl *coll.Table) error { return tbl.Reduce.Reduce(one(), one(), core.Sum, 1) },
		"allreduce":  func(tbl *coll.Table) error { return tbl.Allreduce.Allreduce(one(), one(), core.Sum) },
		"gather":     func(tbl *coll.Table) error { return tbl.Gather.Gather(one(), whole(), 1) },
		"gatherv":    func(tbl *coll.Table) error { return tbl.Gatherv.Gatherv(one(), whole(), counts, nil, 1) },
		"scatter":    func(tbl *coll.Table) error { return tbl.Scatter.Scatter(whole(), one(), 1) },
		"scatterv":   func(tbl *coll.Table) error { return tbl.Scatterv.Scatterv(whole(), counts, nil, one(), 1) },
		"allgather":  func(tbl *coll.Table) error { return tbl.Allgather.Allgather(one(), whole()) },
		"allgatherv": func(tbl *coll.Table) error { return tbl.Allgatherv.Allgatherv(one(), whole(), counts, nil) },
		"alltoall":   func(tbl *coll.Table) error { return tbl.Alltoall.Alltoall(whole(), whole()) },
		"alltoallv": func(tbl *coll.Table) error {
			return tbl.Alltoallv.Alltoallv(whole(), counts, nil, whole(), counts, nil)
		},
	}
}

// A rank dies before the others enter an operation. Whoever notices revokes the communicator, as a program would; then all leave
// with an error or because their part was done, and none has a receive into its buffers left behind.
func TestDeathEndsTheOperation(t *testing.T) {
	const n, victim = 5, 2
	for _, block := range []int{3, 2000} {
		for name := range operations(n, block) {
			f := colltest.NewFabric(n, 4096)
			var mu sync.Mutex
			var comms []*core.Comm
			var entered sync.WaitGroup
			entered.Add(n)
			failures := 0
			f.Run(func(self int) {
				tbl, c := table(t, f, n, self)
				mu.Lock()
				comms = append(comms, c)
				mu.Unlock()
				if self == victim {
					f.Kill(victim)
				}
				entered.Done()
				entered.Wait()
				if self == victim {
					return
				}
				err := operations(n, block)[name](tbl)
				if err == nil {
					return
				}
				if !errors.Is(err, core.ErrProcFailed) && !errors.Is(err, core.ErrRevoked) {
					t.Errorf("%s of %d: rank %d: %v", name, block, c.MyRank, err)
				}
				mu.Lock()
				defer mu.Unlock()
				failures++
				for _, c := range comms {
					f.Revoke(c)
				}
			})
			if failures == 0 {
				t.Errorf("%s of %d: nobody noticed", name, block)
			}
			if _, recvs := f.Pending(); recvs != 0 {
				t.Errorf("%s of %d: %d receives are still pending", name, block, recvs)
			}
		}
	}
}

// A rank that finds a peer dead waits for nobody else: its receives from the living are cancelled, and of its sends only those
// remain that have memory of their own to read from.
func TestNothingIsLeftInTheCallersBuffers(t *testing.T) {
	const n = 3
	for name, tc := range map[string]struct {
		dead  int // rank
		call  func(tbl *coll.Table) error
		sends int // that nobody will receive
	}{
		// To 1, from 2.
		"barrier":   {1, operations(n, 2000)["barrier"], 0},
		"allgather": {1, operations(n, 2000)["allgather"], 0},
		"gather": {1, func(tbl *coll.Table) error {
			return tbl.Gather.Gather(floats(make([]float64, 2000)), floats(make([]float64, n*2000)), 0)
		}, 0},
		// To 1, which does not look, and to 2.
		"scatter": {2, func(tbl *coll.Table) error {
			return tbl.Scatter.Scatter(floats(make([]float64, n*2000)), floats(make([]float64, 2000)), 0)
		}, 1},
	} {
		f := colltest.NewFabric(n, 4096)
		f.Kill(colltest.Shuffled(n)[tc.dead])
		f.Run(func(self int) {
			tbl, c := table(t, f, n, self)
			if c.MyRank != 0 {
				return
			}
			if err := tc.call(tbl); !errors.Is(err, core.ErrProcFailed) {
				t.Errorf("%s: %v", name, err)
			}
		})
		if sends, recvs := f.Pending(); sends != tc.sends || recvs != 0 {
			t.Errorf("%s: %d sends and %d receives pending, want %d and none", name, sends, recvs, tc.sends)
		}
	}
}

// A rank whose buffer is too small says so; the others finish, nothing is left over, and the communicator goes on working.
func TestTruncationIsOneRanksTrouble(t *testing.T) {
	const n, small = 6, 4
	f := colltest.NewFabric(n, 4096)
	f.Run(func(self int) {
		tbl, c := table(t, f, n, self, "coll_basic_gather_short", "0")
		room := 10
		if c.MyRank == small {
			room = 7
		}
		buf := make([]float64, room)
		if c.MyRank == 0 {
			buf[6] = 5
		}
		steps := []error{
			tbl.Bcast.Bcast(floats(buf), 0),
			tbl.Scatter.Scatter(floats(make([]float64, 10*n)), floats(make([]float64, room)), 0),
		}
		for i, err := range steps {
			if want := c.MyRank == small; want != errors.Is(err, core.ErrTruncate) || !want && err != nil {
				t.Errorf("step %d: rank %d: %v", i, c.MyRank, err)
			}
		}
		if buf[6] != 5 {
			t.Errorf("rank %d has %v", c.MyRank, buf)
		}
		in, out := []float64{1}, []float64{0}
		if err := tbl.Allreduce.Allreduce(floats(in), floats(out), core.Sum); err != nil || out[0] != n {
			t.Errorf("rank %d afterwards: %v, sum %v", c.MyRank, err, out[0])
		}
	})
	if sends, recvs := f.Pending(); sends+recvs != 0 {
		t.Errorf("%d sends and %d receives left over", sends, recvs)
	}
}

// A reduction works in scratch memory, which cannot stand in for memory named by absolute addresses.
func TestReductionOverAbsoluteAddresses(t *testing.T) {
	far, err := datatype.HIndexed([]int{1}, []int64{1 << 40}, datatype.Int32)
	if err != nil {
		t.Fatal(err)
	}
	op := core.NewRawOp(true, func(in, inout unsafe.Pointer, n int, t *datatype.Type) {})
	f := colltest.NewFabric(2, 4096)
	f.Run(func(self int) {
		tbl, c := table(t, f, 2, self)
		b := core.MakeBuffer(nil, 1, far)
		if err := tbl.Allreduce.Allreduce(core.InPlaceBuffer(), b, op); !errors.Is(err, core.ErrType) {
			t.Errorf("rank %d: %v, want ErrType", c.MyRank, err)
		}
	})
}

// A living rank that has learned of a death has given the operation up and takes nothing any more. Who still sends to it must not
// wait for that.
func TestTheLivingMayHaveGivenUp(t *testing.T) {
	const n = 3
	const header = 24                    // of a message in a fragment of 4096 bytes
	page := floats(make([]float64, 512)) // so this is more than goes at once
	for name, call := range map[string]func(tbl *coll.Table, c *core.Comm) error{
		"bcast of a page": func(tbl *coll.Table, _ *core.Comm) error { return tbl.Bcast.Bcast(page, 0) },
		"gather of a page": func(tbl *coll.Table, c *core.Comm) error {
			return tbl.Gather.Gather(page, core.Buffer{}, (c.MyRank+1)%n)
		},
		"bcast": func(tbl *coll.Table, _ *core.Comm) error { return tbl.Bcast.Bcast(floats(make([]float64, 2000)), 0) },
		"gather": func(tbl *coll.Table, c *core.Comm) error { // a single send, from the root's other side
			return tbl.Gather.Gather(floats(make([]float64, 2000)), core.Buffer{}, (c.MyRank+1)%n)
		},
	} {
		f := colltest.NewFabric(n, 4096-header)
		f.Run(func(self int) {
			tbl, c := table(t, f, n, self)
			if c.MyRank != 0 {
				return // alive, and never there
			}
			fault := &core.Fault{Err: core.NewError(core.ErrProcFailed, "somebody has died")}
			timer := time.AfterFunc(20*time.Millisecond, func() {
				c.SetFault(fault)
				c.Engine.Kick()
			})
			defer timer.Stop()
			if err := call(tbl, c); !errors.Is(err, core.ErrProcFailed) {
				t.Errorf("%s: %v", name, err)
			}
		})
		if _, recvs := f.Pending(); recvs != 0 {
			t.Errorf("%s: %d receives pending", name, recvs)
		}
	}
}
