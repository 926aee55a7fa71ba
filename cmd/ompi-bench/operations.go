package main

import "github.com/ompi-go/ompi-go/ompi"

// root is the root of all rooted collectives.
const root = 0

// collective is one operation in its three forms.
type collective struct {
	call    func(c *ompi.Comm, a *arguments) error
	start   func(c *ompi.Comm, a *arguments) ompi.Request
	prepare func(c *ompi.Comm, a *arguments) ompi.Request
	ahead   bool // some ranks may be through before others have begun
}

// collectives are the operations by the names of package suite.
func collectives() map[string]collective {
	return map[string]collective{
		"barrier": {
			call:    func(c *ompi.Comm, a *arguments) error { return c.Barrier() },
			start:   func(c *ompi.Comm, a *arguments) ompi.Request { return c.Ibarrier() },
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request { return c.BarrierInit() },
		},
		"bcast": {
			call:    func(c *ompi.Comm, a *arguments) error { return c.Bcast(a.one, root) },
			start:   func(c *ompi.Comm, a *arguments) ompi.Request { return c.Ibcast(a.one, root) },
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request { return c.BcastInit(a.one, root) },
			ahead:   true,
		},
		"gather": {
			call:    func(c *ompi.Comm, a *arguments) error { return c.Gather(a.one, a.allIn, root) },
			start:   func(c *ompi.Comm, a *arguments) ompi.Request { return c.Igather(a.one, a.allIn, root) },
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request { return c.GatherInit(a.one, a.allIn, root) },
			ahead:   true,
		},
		"gatherv": {
			call: func(c *ompi.Comm, a *arguments) error { return c.Gatherv(a.one, a.allIn, a.counts, a.displs, root) },
			start: func(c *ompi.Comm, a *arguments) ompi.Request {
				return c.Igatherv(a.one, a.allIn, a.counts, a.displs, root)
			},
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request {
				return c.GathervInit(a.one, a.allIn, a.counts, a.displs, root)
			},
			ahead: true,
		},
		"scatter": {
			call:    func(c *ompi.Comm, a *arguments) error { return c.Scatter(a.all, a.oneIn, root) },
			start:   func(c *ompi.Comm, a *arguments) ompi.Request { return c.Iscatter(a.all, a.oneIn, root) },
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request { return c.ScatterInit(a.all, a.oneIn, root) },
			ahead:   true,
		},
		"scatterv": {
			call: func(c *ompi.Comm, a *arguments) error { return c.Scatterv(a.all, a.counts, a.displs, a.oneIn, root) },
			start: func(c *ompi.Comm, a *arguments) ompi.Request {
				return c.Iscatterv(a.all, a.counts, a.displs, a.oneIn, root)
			},
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request {
				return c.ScattervInit(a.all, a.counts, a.displs, a.oneIn, root)
			},
			ahead: true,
		},
		"allgather": {
			call:    func(c *ompi.Comm, a *arguments) error { return c.Allgather(a.one, a.allIn) },
			start:   func(c *ompi.Comm, a *arguments) ompi.Request { return c.Iallgather(a.one, a.allIn) },
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request { return c.AllgatherInit(a.one, a.allIn) },
		},
		"allgatherv": {
			call: func(c *ompi.Comm, a *arguments) error { return c.Allgatherv(a.one, a.allIn, a.counts, a.displs) },
			start: func(c *ompi.Comm, a *arguments) ompi.Request {
				return c.Iallgatherv(a.one, a.allIn, a.counts, a.displs)
			},
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request {
				return c.AllgathervInit(a.one, a.allIn, a.counts, a.displs)
			},
		},
		"alltoall": {
			call:    func(c *ompi.Comm, a *arguments) error { return c.Alltoall(a.all, a.allIn) },
			start:   func(c *ompi.Comm, a *arguments) ompi.Request { return c.Ialltoall(a.all, a.allIn) },
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request { return c.AlltoallInit(a.all, a.allIn) },
		},
		"alltoallv": {
			call: func(c *ompi.Comm, a *arguments) error {
				return c.Alltoallv(a.all, a.counts, a.displs, a.allIn, a.counts, a.displs)
			},
			start: func(c *ompi.Comm, a *arguments) ompi.Request {
				return c.Ialltoallv(a.all, a.counts, a.displs, a.allIn, a.counts, a.displs)
			},
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request {
				return c.AlltoallvInit(a.all, a.counts, a.displs, a.allIn, a.counts, a.displs)
			},
		},
		"alltoallw": {
			call:    func(c *ompi.Comm, a *arguments) error { return c.Alltoallw(a.each, a.eachIn) },
			start:   func(c *ompi.Comm, a *arguments) ompi.Request { return c.Ialltoallw(a.each, a.eachIn) },
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request { return c.AlltoallwInit(a.each, a.eachIn) },
		},
		"reduce": {
			call:  func(c *ompi.Comm, a *arguments) error { return c.Reduce(a.sums, a.sumsIn, ompi.Sum, root) },
			start: func(c *ompi.Comm, a *arguments) ompi.Request { return c.Ireduce(a.sums, a.sumsIn, ompi.Sum, root) },
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request {
				return c.ReduceInit(a.sums, a.sumsIn, ompi.Sum, root)
			},
			ahead: true,
		},
		"allreduce": {
			call:  func(c *ompi.Comm, a *arguments) error { return c.Allreduce(a.sums, a.sumsIn, ompi.Sum) },
			start: func(c *ompi.Comm, a *arguments) ompi.Request { return c.Iallreduce(a.sums, a.sumsIn, ompi.Sum) },
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request {
				return c.AllreduceInit(a.sums, a.sumsIn, ompi.Sum)
			},
		},
		"reduce_scatter_block": {
			call: func(c *ompi.Comm, a *arguments) error { return c.ReduceScatterBlock(a.allSums, a.sumsIn, ompi.Sum) },
			start: func(c *ompi.Comm, a *arguments) ompi.Request {
				return c.IreduceScatterBlock(a.allSums, a.sumsIn, ompi.Sum)
			},
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request {
				return c.ReduceScatterBlockInit(a.allSums, a.sumsIn, ompi.Sum)
			},
		},
		"reduce_scatter": {
			call: func(c *ompi.Comm, a *arguments) error { return c.ReduceScatter(a.sums, a.share, a.shares, ompi.Sum) },
			start: func(c *ompi.Comm, a *arguments) ompi.Request {
				return c.IreduceScatter(a.sums, a.share, a.shares, ompi.Sum)
			},
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request {
				return c.ReduceScatterInit(a.sums, a.share, a.shares, ompi.Sum)
			},
		},
		"scan": {
			call:    func(c *ompi.Comm, a *arguments) error { return c.Scan(a.sums, a.sumsIn, ompi.Sum) },
			start:   func(c *ompi.Comm, a *arguments) ompi.Request { return c.Iscan(a.sums, a.sumsIn, ompi.Sum) },
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request { return c.ScanInit(a.sums, a.sumsIn, ompi.Sum) },
			ahead:   true,
		},
		"exscan": {
			call:    func(c *ompi.Comm, a *arguments) error { return c.Exscan(a.sums, a.sumsIn, ompi.Sum) },
			start:   func(c *ompi.Comm, a *arguments) ompi.Request { return c.Iexscan(a.sums, a.sumsIn, ompi.Sum) },
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request { return c.ExscanInit(a.sums, a.sumsIn, ompi.Sum) },
			ahead:   true,
		},
		"neighbor_allgather": {
			call:    func(c *ompi.Comm, a *arguments) error { return c.NeighborAllgather(a.one, a.allIn) },
			start:   func(c *ompi.Comm, a *arguments) ompi.Request { return c.IneighborAllgather(a.one, a.allIn) },
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request { return c.NeighborAllgatherInit(a.one, a.allIn) },
		},
		"neighbor_allgatherv": {
			call: func(c *ompi.Comm, a *arguments) error {
				return c.NeighborAllgatherv(a.one, a.allIn, a.counts, a.displs)
			},
			start: func(c *ompi.Comm, a *arguments) ompi.Request {
				return c.IneighborAllgatherv(a.one, a.allIn, a.counts, a.displs)
			},
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request {
				return c.NeighborAllgathervInit(a.one, a.allIn, a.counts, a.displs)
			},
		},
		"neighbor_alltoall": {
			call:    func(c *ompi.Comm, a *arguments) error { return c.NeighborAlltoall(a.all, a.allIn) },
			start:   func(c *ompi.Comm, a *arguments) ompi.Request { return c.IneighborAlltoall(a.all, a.allIn) },
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request { return c.NeighborAlltoallInit(a.all, a.allIn) },
		},
		"neighbor_alltoallv": {
			call: func(c *ompi.Comm, a *arguments) error {
				return c.NeighborAlltoallv(a.all, a.counts, a.displs, a.allIn, a.counts, a.displs)
			},
			start: func(c *ompi.Comm, a *arguments) ompi.Request {
				return c.IneighborAlltoallv(a.all, a.counts, a.displs, a.allIn, a.counts, a.displs)
			},
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request {
				return c.NeighborAlltoallvInit(a.all, a.counts, a.displs, a.allIn, a.counts, a.displs)
			},
		},
		"neighbor_alltoallw": {
			call:    func(c *ompi.Comm, a *arguments) error { return c.NeighborAlltoallw(a.each, a.eachIn) },
			start:   func(c *ompi.Comm, a *arguments) ompi.Request { return c.IneighborAlltoallw(a.each, a.eachIn) },
			prepare: func(c *ompi.Comm, a *arguments) ompi.Request { return c.NeighborAlltoallwInit(a.each, a.eachIn) },
		},
	}
}
