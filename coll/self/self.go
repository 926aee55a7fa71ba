// Package self is the collective component of communicators of one rank: every operation is at most a copy.
//
// Only package coll calls it, through its mca registration.
package self

import (
	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
)

func init() { mca.Register(component{}) }

type component struct{}

// Options are the parameters coll_self_*.
type Options struct {
	Priority int `mca:"priority" default:"75" min:"0" max:"100" level:"6" help:"priority of the component; each operation is taken from the component of the highest"`
}

func (component) Framework() string { return "coll" }
func (component) Name() string      { return "self" }
func (component) Options() any      { return new(Options) }

// Open implements coll.Component.
func (component) Open(env *coll.Env) (coll.Factory, error) {
	f := new(factory)
	if err := env.Params.Decode("coll", "self", &f.opts); err != nil {
		return nil, err
	}
	return f, nil
}

type factory struct{ opts Options }

// Query implements coll.Factory.
func (f *factory) Query(c *core.Comm) (priority int, ok bool) {
	return f.opts.Priority, c.Size() == 1 && c.Remote() == nil
}

// Enable implements coll.Factory.
func (f *factory) Enable(c *core.Comm, below *coll.Table) (coll.Module, error) { return module{}, nil }

// module has no state. What it does not have, such as the neighbourhood operations, is left to the components below.
type module struct{}

// Close implements coll.Module.
func (module) Close() error { return nil }

// copyUnless copies unless one of the buffers is in place.
func copyUnless(dst, src core.Buffer) error {
	if src.IsInPlace() || dst.IsInPlace() {
		return nil
	}
	return alg.Copy(dst, src)
}

// block is the only block of a v form.
func block(b core.Buffer, counts, displs []int) core.Buffer {
	if counts[0] == 0 {
		return b.At(0, 0)
	}
	first := 0
	if displs != nil {
		first = displs[0]
	}
	return b.At(int64(first), int64(counts[0]))
}

// Barrier implements coll.Barrierer.
func (module) Barrier() error { return nil }

// Finish implements coll.Finisher.
func (module) Finish() error { return nil }

// Bcast implements coll.Bcaster.
func (module) Bcast(core.Buffer, int) error { return nil }

// Reduce implements coll.Reducer.
func (module) Reduce(send, recv core.Buffer, _ *core.Op, _ int) error { return copyUnless(recv, send) }

// Allreduce implements coll.Allreducer.
func (module) Allreduce(send, recv core.Buffer, _ *core.Op) error { return copyUnless(recv, send) }

// Gather implements coll.Gatherer.
func (module) Gather(send, recv core.Buffer, _ int) error { return copyUnless(recv, send) }

// Gatherv implements coll.Gatherver.
func (module) Gatherv(send, recv core.Buffer, counts, displs []int, _ int) error {
	return copyUnless(block(recv, counts, displs), send)
}

// Scatter implements coll.Scatterer.
func (module) Scatter(send, recv core.Buffer, _ int) error { return copyUnless(recv, send) }

// Scatterv implements coll.Scatterver.
func (module) Scatterv(send core.Buffer, counts, displs []int, recv core.Buffer, _ int) error {
	return copyUnless(recv, block(send, counts, displs))
}

// Allgather implements coll.Allgatherer.
func (module) Allgather(send, recv core.Buffer) error { return copyUnless(recv, send) }

// Allgatherv implements coll.Allgatherver.
func (module) Allgatherv(send, recv core.Buffer, counts, displs []int) error {
	return copyUnless(block(recv, counts, displs), send)
}

// Alltoall implements coll.Alltoaller.
func (module) Alltoall(send, recv core.Buffer) error { return copyUnless(recv, send) }

// Alltoallv implements coll.Alltoallver.
func (module) Alltoallv(send core.Buffer, sendCounts, sendDispls []int, recv core.Buffer, recvCounts, recvDispls []int) error {
	if send.IsInPlace() {
		return nil
	}
	return alg.Copy(block(recv, recvCounts, recvDispls), block(send, sendCounts, sendDispls))
}

// Alltoallw implements coll.Alltoallwer.
func (module) Alltoallw(send, recv []core.Buffer) error { return copyUnless(recv[0], send[0]) }

// ReduceScatter implements coll.ReduceScatterer.
func (module) ReduceScatter(send, recv core.Buffer, _ []int, _ *core.Op) error {
	return copyUnless(recv, send)
}

// ReduceScatterBlock implements coll.ReduceScatterBlocker.
func (module) ReduceScatterBlock(send, recv core.Buffer, _ *core.Op) error {
	return copyUnless(recv, send)
}

// Scan implements coll.Scanner.
func (module) Scan(send, recv core.Buffer, _ *core.Op) error { return copyUnless(recv, send) }

// Exscan implements coll.Exscanner: the first rank's result is undefined, so recv stays as it is.
func (module) Exscan(core.Buffer, core.Buffer, *core.Op) error { return nil }
