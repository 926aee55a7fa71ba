package ompi

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/coll/colltest"
	"github.com/ompi-go/ompi-go/core"
)

// launched carries every operation out in its non-blocking and its persistent form in turn.
type launched struct {
	c *Comm
	n int
}

func (l *launched) run(a *alg.Args) error {
	l.n++
	persistent := l.n%2 == 0
	var r Request
	if a.Kind < alg.NeighborAllgather {
		r = l.c.launch(a.Kind.String(), a, persistent)
	} else {
		r = l.c.begin(a.Kind.String(), a, persistent) // the suite brings its own neighbours
	}
	if !persistent {
		_, err := r.Wait()
		return err
	}
	if err := r.Start(); err != nil {
		return err
	}
	_, err := r.Wait()
	return errors.Join(err, r.Free())
}

func (l *launched) table() *coll.Table {
	return &coll.Table{
		Barrier: l, Bcast: l, Reduce: l, Allreduce: l, Gather: l, Gatherv: l, Scatter: l, Scatterv: l, Allgather: l, Allgatherv: l,
		Alltoall: l, Alltoallv: l, Alltoallw: l, ReduceScatter: l, ReduceScatterBlock: l, Scan: l, Exscan: l, Neighbor: l,
	}
}

func (l *launched) Barrier() error { return l.run(&alg.Args{Kind: alg.Barrier}) }
func (l *launched) Bcast(buf Buffer, root int) error {
	return l.run(&alg.Args{Kind: alg.Bcast, Send: buf, Root: root})
}
func (l *launched) Reduce(send, recv Buffer, op *core.Op, root int) error {
	return l.run(&alg.Args{Kind: alg.Reduce, Send: send, Recv: recv, Op: op, Root: root})
}
func (l *launched) Allreduce(send, recv Buffer, op *core.Op) error {
	return l.run(&alg.Args{Kind: alg.Allreduce, Send: send, Recv: recv, Op: op})
}
func (l *launched) Gather(send, recv Buffer, root int) error {
	return l.run(&alg.Args{Kind: alg.Gather, Send: send, Recv: recv, Root: root})
}
func (l *launched) Gatherv(send, recv Buffer, counts, displs []int, root int) error {
	return l.run(&alg.Args{Kind: alg.Gatherv, Send: send, Recv: recv, RecvCounts: counts, RecvDispls: displs, Root: root})
}
func (l *launched) Scatter(send, recv Buffer, root int) error {
	return l.run(&alg.Args{Kind: alg.Scatter, Send: send, Recv: recv, Root: root})
}
func (l *launched) Scatterv(send Buffer, counts, displs []int, recv Buffer, root int) error {
	return l.run(&alg.Args{Kind: alg.Scatterv, Send: send, SendCounts: counts, SendDispls: displs, Recv: recv, Root: root})
}
func (l *launched) Allgather(send, recv Buffer) error {
	return l.run(&alg.Args{Kind: alg.Allgather, Send: send, Recv: recv})
}
func (l *launched) Allgatherv(send, recv Buffer, counts, displs []int) error {
	return l.run(&alg.Args{Kind: alg.Allgatherv, Send: send, Recv: recv, RecvCounts: counts, RecvDispls: displs})
}
func (l *launched) Alltoall(send, recv Buffer) error {
	return l.run(&alg.Args{Kind: alg.Alltoall, Send: send, Recv: recv})
}
func (l *launched) Alltoallv(send Buffer, sendCounts, sendDispls []int, recv Buffer, recvCounts, recvDispls []int) error {
	return l.run(&alg.Args{Kind: alg.Alltoallv, Send: send, SendCounts: sendCounts, SendDispls: sendDispls,
		Recv: recv, RecvCounts: recvCounts, RecvDispls: recvDispls})
}
func (l *launched) Alltoallw(send, recv []Buffer) error {
	return l.run(&alg.Args{Kind: alg.Alltoallw, Sends: send, Recvs: recv})
}
func (l *launched) ReduceScatter(send, recv Buffer, counts []int, op *core.Op) error {
	return l.run(&alg.Args{Kind: alg.ReduceScatter, Send: send, Recv: recv, RecvCounts: counts, Op: op})
}
func (l *launched) ReduceScatterBlock(send, recv Buffer, op *core.Op) error {
	return l.run(&alg.Args{Kind: alg.ReduceScatterBlock, Send: send, Recv: recv, Op: op})
}
func (l *launched) Scan(send, recv Buffer, op *core.Op) error {
	return l.run(&alg.Args{Kind: alg.Scan, Send: send, Recv: recv, Op: op})
}
func (l *launched) Exscan(send, recv Buffer, op *core.Op) error {
	return l.run(&alg.Args{Kind: alg.Exscan, Send: send, Recv: recv, Op: op})
}
func (l *launched) Neighbor(a *alg.Args) error { own := *a; return l.run(&own) }

// TestLaunchedAlgorithms runs every algorithm of every operation as a schedule: component nbc takes what component tuned chooses, here by
// parameters.
func TestLaunchedAlgorithms(t *testing.T) {
	for i := range 8 {
		only := func(k alg.Kind) bool { return i < len(alg.List(k)) }
		opts := []Option{WithParam("coll_tuned_bcast_segment", "24"), WithParam("coll_tuned_reduce_segment", "40"), WithParam("coll_tuned_allreduce_segment", "16")}
		for k := range alg.NeighborAllgather {
			if only(k) {
				opts = append(opts, WithParam(fmt.Sprintf("coll_tuned_%s_algorithm", k), alg.List(k)[i].Name))
			}
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			colltest.Sample(t, func(t *testing.T, n int, body func(rank int, tbl *coll.Table, c *core.Comm)) {
				err := Run(context.Background(), n, func(w *Comm) error {
					l := &launched{c: w}
					body(w.Rank(), l.table(), w.c)
					return nil
				}, opts...)
				if err != nil {
					t.Error(err)
				}
			}, only, 1, 3, 4, 6)
		})
	}
}

// TestLargeData runs every algorithm on more data than its segments, rendezvous limits and quick sends hold, in the blocking and the
// non-blocking form.
func TestLargeData(t *testing.T) {
	const n, block = 5, 30011
	for i := range 8 {
		opts := []Option{WithParam("coll", "^sm")}
		for k := range alg.NeighborAllgather {
			if list := alg.List(k); i < len(list) && len(list) > 1 {
				opts = append(opts, WithParam(fmt.Sprintf("coll_tuned_%s_algorithm", k), list[i].Name))
			}
		}
		err := Run(context.Background(), n, func(w *Comm) error {
			one, other := make([]int64, block), make([]int64, block)
			whole, wholeToo := make([]int64, n*block), make([]int64, n*block)
			value := func(rank, at int) int64 { return int64(rank+1)*1_000_003 + int64(at) }
			sum := func(at int) int64 { return n*(n+1)/2*1_000_003 + n*int64(at) }
			check := func(what string, got []int64, want func(at int) int64) error {
				for at, x := range got {
					if x != want(at) {
						return fmt.Errorf("algorithms %d, rank %d: %s: element %d is %d, want %d", i, w.Rank(), what, at, x, want(at))
					}
				}
				return nil
			}
			fill := func(s []int64, rank int) {
				for at := range s {
					s[at] = value(rank, at)
				}
			}
			fill(one, w.Rank())
			fill(whole, w.Rank())
			forms := func(blocking func() error, request func() Request, verify func() error) error {
				if err := errors.Join(blocking(), verify()); err != nil {
					return err
				}
				clear(other)
				clear(wholeToo)
				_, err := request().Wait()
				return errors.Join(err, verify())
			}
			counts := make([]int, n)
			for r := range counts {
				counts[r] = block
			}
			mine, its, all, allToo := Slice(one), Slice(other), Slice(whole), Slice(wholeToo)
			return errors.Join(
				forms(func() error { fill(wholeToo, w.Rank()); return w.Bcast(allToo, 3) },
					func() Request { fill(wholeToo, w.Rank()); return w.Ibcast(allToo, 3) },
					func() error { return check("bcast", wholeToo, func(at int) int64 { return value(3, at) }) }),
				forms(func() error { return w.Allreduce(all, allToo, Sum) },
					func() Request { return w.Iallreduce(all, allToo, Sum) },
					func() error { return check("allreduce", wholeToo, sum) }),
				forms(func() error { return w.Reduce(all, allToo, Sum, 2) },
					func() Request { return w.Ireduce(all, allToo, Sum, 2) },
					func() error {
						if w.Rank() != 2 {
							return nil
						}
						return check("reduce", wholeToo, sum)
					}),
				forms(func() error { return w.Allgather(mine, allToo) },
					func() Request { return w.Iallgather(mine, allToo) },
					func() error {
						return check("allgather", wholeToo, func(at int) int64 { return value(at/block, at%block) })
					}),
				forms(func() error { return w.Allgatherv(mine, allToo, counts, nil) },
					func() Request { return w.Iallgatherv(mine, allToo, counts, nil) },
					func() error {
						return check("allgatherv", wholeToo, func(at int) int64 { return value(at/block, at%block) })
					}),
				forms(func() error { return w.Alltoall(all, allToo) },
					func() Request { return w.Ialltoall(all, allToo) },
					func() error {
						return check("alltoall", wholeToo, func(at int) int64 { return value(at/block, w.Rank()*block+at%block) })
					}),
				forms(func() error { return w.ReduceScatterBlock(all, its, Sum) },
					func() Request { return w.IreduceScatterBlock(all, its, Sum) },
					func() error {
						return check("reduce_scatter_block", other, func(at int) int64 { return sum(w.Rank()*block + at) })
					}),
			)
		}, opts...)
		if err != nil {
			t.Error(err)
		}
	}
}
