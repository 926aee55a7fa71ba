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
