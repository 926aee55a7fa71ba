package main

import "github.com/ompi-go/ompi-go/ompi"

// root is the root of all rooted collectives.
const root = 0

// collective is one operation in its three forms.
type collective struct {
	call    func(l library, a *arguments) error
	start   func(l library, a *arguments) ompi.Request
	prepare func(l library, a *arguments) ompi.Request
	ahead   bool // some ranks may be through before others have begun
}

// collectives are the operations by the names of package suite.
func collectives() map[string]collective {
	return map[string]collective{
		"barrier": {
			call:    func(l library, a *arguments) error { return l.comm.Barrier() },
			start:   func(l library, a *arguments) ompi.Request { return l.starts.Ibarrier() },
			prepare: func(l library, a *arguments) ompi.Request { return l.prepares.BarrierInit() },
		},
		"bcast": {
			call:    func(l library, a *arguments) error { return l.comm.Bcast(a.one, root) },
			start:   func(l library, a *arguments) ompi.Request { return l.starts.Ibcast(a.one, root) },
			prepare: func(l library, a *arguments) ompi.Request { return l.prepares.BcastInit(a.one, root) },
			ahead:   true,
		},
		"gather": {
			call:    func(l library, a *arguments) error { return l.comm.Gather(a.one, a.allIn, root) },
			start:   func(l library, a *arguments) ompi.Request { return l.starts.Igather(a.one, a.allIn, root) },
			prepare: func(l library, a *arguments) ompi.Request { return l.prepares.GatherInit(a.one, a.allIn, root) },
			ahead:   true,
		},
		"gatherv": {
			call: func(l library, a *arguments) error { return l.comm.Gatherv(a.one, a.allIn, a.counts, a.displs, root) },
			start: func(l library, a *arguments) ompi.Request {
				return l.starts.Igatherv(a.one, a.allIn, a.counts, a.displs, root)
			},
			prepare: func(l library, a *arguments) ompi.Request {
				return l.prepares.GathervInit(a.one, a.allIn, a.counts, a.displs, root)
			},
			ahead: true,
		},
		"scatter": {
			call:    func(l library, a *arguments) error { return l.comm.Scatter(a.all, a.oneIn, root) },
			start:   func(l library, a *arguments) ompi.Request { return l.starts.Iscatter(a.all, a.oneIn, root) },
			prepare: func(l library, a *arguments) ompi.Request { return l.prepares.ScatterInit(a.all, a.oneIn, root) },
			ahead:   true,
		},
		"scatterv": {
			call: func(l library, a *arguments) error { return l.comm.Scatterv(a.all, a.counts, a.displs, a.oneIn, root) },
			start: func(l library, a *arguments) ompi.Request {
				return l.starts.Iscatterv(a.all, a.counts, a.displs, a.oneIn, root)
			},
			prepare: func(l library, a *arguments) ompi.Request {
				return l.prepares.ScattervInit(a.all, a.counts, a.displs, a.oneIn, root)
			},
			ahead: true,
		},
		"allgather": {
			call:    func(l library, a *arguments) error { return l.comm.Allgather(a.one, a.allIn) },
			start:   func(l library, a *arguments) ompi.Request { return l.starts.Iallgather(a.one, a.allIn) },
			prepare: func(l library, a *arguments) ompi.Request { return l.prepares.AllgatherInit(a.one, a.allIn) },
		},
		"allgatherv": {
			call: func(l library, a *arguments) error { return l.comm.Allgatherv(a.one, a.allIn, a.counts, a.displs) },
			start: func(l library, a *arguments) ompi.Request {
				return l.starts.Iallgatherv(a.one, a.allIn, a.counts, a.displs)
			},
			prepare: func(l library, a *arguments) ompi.Request {
				return l.prepares.AllgathervInit(a.one, a.allIn, a.counts, a.displs)
			},
		},
		"alltoall": {
			call:    func(l library, a *arguments) error { return l.comm.Alltoall(a.all, a.allIn) },
			start:   func(l library, a *arguments) ompi.Request { return l.starts.Ialltoall(a.all, a.allIn) },
			prepare: func(l library, a *arguments) ompi.Request { return l.prepares.AlltoallInit(a.all, a.allIn) },
		},
		"alltoallv": {
			call: func(l library, a *arguments) error {
				return l.comm.Alltoallv(a.all, a.counts, a.displs, a.allIn, a.counts, a.displs)
			},
			start: func(l library, a *arguments) ompi.Request {
				return l.starts.Ialltoallv(a.all, a.counts, a.displs, a.allIn, a.counts, a.displs)
			},
			prepare: func(l library, a *arguments) ompi.Request {
				return l.prepares.AlltoallvInit(a.all, a.counts, a.displs, a.allIn, a.counts, a.displs)
			},
		},
		"alltoallw": {
			call:    func(l library, a *arguments) error { return l.more.Alltoallw(a.each, a.eachIn) },
			start:   func(l library, a *arguments) ompi.Request { return l.starts.Ialltoallw(a.each, a.eachIn) },
			prepare: func(l library, a *arguments) ompi.Request { return l.prepares.AlltoallwInit(a.each, a.eachIn) },
		},
		"reduce": {
			call:  func(l library, a *arguments) error { return l.comm.Reduce(a.sums, a.sumsIn, ompi.Sum, root) },
			start: func(l library, a *arguments) ompi.Request { return l.starts.Ireduce(a.sums, a.sumsIn, ompi.Sum, root) },
			prepare: func(l library, a *arguments) ompi.Request {
				return l.prepares.ReduceInit(a.sums, a.sumsIn, ompi.Sum, root)
			},
			ahead: true,
		},
		"allreduce": {
			call:  func(l library, a *arguments) error { return l.comm.Allreduce(a.sums, a.sumsIn, ompi.Sum) },
			start: func(l library, a *arguments) ompi.Request { return l.starts.Iallreduce(a.sums, a.sumsIn, ompi.Sum) },
			prepare: func(l library, a *arguments) ompi.Request {
				return l.prepares.AllreduceInit(a.sums, a.sumsIn, ompi.Sum)
			},
		},
		"reduce_scatter_block": {
			call: func(l library, a *arguments) error { return l.more.ReduceScatterBlock(a.allSums, a.sumsIn, ompi.Sum) },
			start: func(l library, a *arguments) ompi.Request {
				return l.starts.IreduceScatterBlock(a.allSums, a.sumsIn, ompi.Sum)
			},
			prepare: func(l library, a *arguments) ompi.Request {
				return l.prepares.ReduceScatterBlockInit(a.allSums, a.sumsIn, ompi.Sum)
			},
		},
		"reduce_scatter": {
			call: func(l library, a *arguments) error { return l.more.ReduceScatter(a.sums, a.share, a.shares, ompi.Sum) },
			start: func(l library, a *arguments) ompi.Request {
				return l.starts.IreduceScatter(a.sums, a.share, a.shares, ompi.Sum)
			},
			prepare: func(l library, a *arguments) ompi.Request {
				return l.prepares.ReduceScatterInit(a.sums, a.share, a.shares, ompi.Sum)
			},
		},
		"scan": {
			call:    func(l library, a *arguments) error { return l.more.Scan(a.sums, a.sumsIn, ompi.Sum) },
			start:   func(l library, a *arguments) ompi.Request { return l.starts.Iscan(a.sums, a.sumsIn, ompi.Sum) },
			prepare: func(l library, a *arguments) ompi.Request { return l.prepares.ScanInit(a.sums, a.sumsIn, ompi.Sum) },
			ahead:   true,
		},
		"exscan": {
			call:    func(l library, a *arguments) error { return l.more.Exscan(a.sums, a.sumsIn, ompi.Sum) },
			start:   func(l library, a *arguments) ompi.Request { return l.starts.Iexscan(a.sums, a.sumsIn, ompi.Sum) },
			prepare: func(l library, a *arguments) ompi.Request { return l.prepares.ExscanInit(a.sums, a.sumsIn, ompi.Sum) },
			ahead:   true,
		},
		"neighbor_allgather": {
			call:    func(l library, a *arguments) error { return l.more.NeighborAllgather(a.one, a.allIn) },
			start:   func(l library, a *arguments) ompi.Request { return l.starts.IneighborAllgather(a.one, a.allIn) },
			prepare: func(l library, a *arguments) ompi.Request { return l.prepares.NeighborAllgatherInit(a.one, a.allIn) },
		},
		"neighbor_allgatherv": {
			call: func(l library, a *arguments) error {
				return l.more.NeighborAllgatherv(a.one, a.allIn, a.counts, a.displs)
			},
			start: func(l library, a *arguments) ompi.Request {
				return l.starts.IneighborAllgatherv(a.one, a.allIn, a.counts, a.displs)
			},
			prepare: func(l library, a *arguments) ompi.Request {
				return l.prepares.NeighborAllgathervInit(a.one, a.allIn, a.counts, a.displs)
			},
		},
		"neighbor_alltoall": {
			call:    func(l library, a *arguments) error { return l.more.NeighborAlltoall(a.all, a.allIn) },
			start:   func(l library, a *arguments) ompi.Request { return l.starts.IneighborAlltoall(a.all, a.allIn) },
			prepare: func(l library, a *arguments) ompi.Request { return l.prepares.NeighborAlltoallInit(a.all, a.allIn) },
		},
		"neighbor_alltoallv": {
			call: func(l library, a *arguments) error {
				return l.more.NeighborAlltoallv(a.all, a.counts, a.displs, a.allIn, a.counts, a.displs)
			},
			start: func(l library, a *arguments) ompi.Request {
				return l.starts.IneighborAlltoallv(a.all, a.counts, a.displs, a.allIn, a.counts, a.displs)
			},
			prepare: func(l library, a *arguments) ompi.Request {
				return l.prepares.NeighborAlltoallvInit(a.all, a.counts, a.displs, a.allIn, a.counts, a.displs)
			},
		},
		"neighbor_alltoallw": {
			call:    func(l library, a *arguments) error { return l.more.NeighborAlltoallw(a.each, a.eachIn) },
			start:   func(l library, a *arguments) ompi.Request { return l.starts.IneighborAlltoallw(a.each, a.eachIn) },
			prepare: func(l library, a *arguments) ompi.Request { return l.prepares.NeighborAlltoallwInit(a.each, a.eachIn) },
		},
	}
}
