// Package coll is the collective framework. A component makes a module for each communicator that it can serve; of every
// operation the module of the highest priority that implements it is used. What a module offers is one small interface an
// operation; it implements those it has. A module that serves only some cases (small messages, say) keeps the Table of lower
// priority that it is given when enabled and calls it for the rest.
//
// Arguments were checked above (package ompi): counts agree with buffers as far as one rank can see, roots are in range,
// operations fit their types. MPI_IN_PLACE arrives as core.InPlaceBuffer. Modules send on &comm.Inner and may use any tag: the
// messages of successive collectives on one communicator are matched in order.
package coll

import (
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
	"github.com/ompi-go/ompi-go/trace"
)

func init() {
	mca.RegisterFramework(mca.Framework{Name: "coll", Help: "collective operations; the best component of each communicator and operation", Many: true})
}

// Env is what an instance gives its collective components.
type Env struct {
	Params *mca.Params
	Job    rte.Job
	PML    pml.Module
	Shm    *shm.Domain // nil when no memory is shared
	Trace  *trace.Ring // nil: nobody wants to know
	Mixed  bool        // ranks may be of different architectures: data must travel as the elements that they are
	// Say tells of a fallback: counted by key, told once a job. The token is held. Nil where nobody listens.
	Say func(key, message string)
	Env *btl.Env // of the transports below, for components with one of their own; nil where there are none
}

// Component is what registers with mca under framework "coll".
type Component interface {
	mca.Component
	// Open makes the component's per-instance state.
	Open(env *Env) (Factory, error)
}

// Factory makes modules for the communicators of one instance.
type Factory interface {
	// Query says whether c can be served and how eagerly. It is called at the same point by every member and must answer alike on
	// all of them; it may not communicate. Enable may.
	Query(c *core.Comm) (priority int, ok bool)
	// Enable makes the module; below holds the functions of lower priority.
	Enable(c *core.Comm, below *Table) (Module, error)
}

// Module serves one communicator. It implements one or more of the operations below.
type Module interface {
	Close() error
}

// Operations. Each returns when the caller's part is done; errors are *core.Error.
type (
	Barrierer interface{ Barrier() error }
	// Finisher has the barrier of Finalize: a rank that calls any other operation must not take part in it by mistake.
	Finisher interface{ Finish() error }
	Bcaster  interface {
		Bcast(buf core.Buffer, root int) error
	}
	Reducer interface {
		Reduce(send, recv core.Buffer, op *core.Op, root int) error
	}
	Allreducer interface {
		Allreduce(send, recv core.Buffer, op *core.Op) error
	}
	Gatherer interface {
		Gather(send, recv core.Buffer, root int) error
	} // recv: the whole buffer, at root
	Gatherver interface {
		Gatherv(send, recv core.Buffer, counts, displs []int, root int) error
	}
	Scatterer interface {
		Scatter(send, recv core.Buffer, root int) error
	}
	Scatterver interface {
		Scatterv(send core.Buffer, counts, displs []int, recv core.Buffer, root int) error
	}
	Allgatherer interface {
		Allgather(send, recv core.Buffer) error
	}
	Allgatherver interface {
		Allgatherv(send, recv core.Buffer, counts, displs []int) error
	}
	Alltoaller interface {
		Alltoall(send, recv core.Buffer) error
	}
	Alltoallver interface {
		Alltoallv(send core.Buffer, sendCounts, sendDispls []int, recv core.Buffer, recvCounts, recvDispls []int) error
	}
	Alltoallwer interface {
		Alltoallw(send, recv []core.Buffer) error
	}
	ReduceScatterer interface {
		ReduceScatter(send, recv core.Buffer, counts []int, op *core.Op) error
	}
	ReduceScatterBlocker interface {
		ReduceScatterBlock(send, recv core.Buffer, op *core.Op) error
	}
	Scanner interface {
		Scan(send, recv core.Buffer, op *core.Op) error
	}
	Exscanner interface {
		Exscan(send, recv core.Buffer, op *core.Op) error
	}
	// Neighborer has the neighbourhood operations, alg.NeighborAllgather and on. It keeps nothing of a.
	Neighborer interface {
		Neighbor(a *alg.Args) error
	}
)

// Starter has the non-blocking and the persistent form of every operation. It copies a; the memory that a names stays the
// operation's until it is complete, but for counts and displacements. Errors come with the request's completion. All members of a
// communicator call Start and Init in the same order.
type Starter interface {
	Start(a *alg.Args) *core.Request
	// Init gives an inactive persistent request.
	Init(a *alg.Args) *core.Request
}

// Planner tells which algorithm it would choose for a, for a Starter above it. It may set a.Segment.
type Planner interface {
	Plan(a *alg.Args) *alg.Algorithm
}

// Table is what a communicator calls, chosen operation by operation.
type Table struct {
	Barrier    Barrierer
	Finish     Finisher
	Bcast      Bcaster
	Reduce     Reducer
	Allreduce  Allreducer
	Gather     Gatherer
	Gatherv    Gatherver
	Scatter    Scatterer
	Scatterv   Scatterver
	Allgather  Allgatherer
	Allgatherv Allgatherver
	Alltoall   Alltoaller
	Alltoallv  Alltoallver

	Alltoallw          Alltoallwer
	ReduceScatter      ReduceScatterer
	ReduceScatterBlock ReduceScatterBlocker
	Scan               Scanner
	Exscan             Exscanner
	Neighbor           Neighborer

	Start Starter
	Plan  Planner

	modules []Module
}

// FaultListener is a Factory that wants to know when a communicator has got a fault. The token is held.
type FaultListener interface {
	CommFailed(c *core.Comm)
}
