// Package osc is the one-sided communication framework (MPI-3.1 chapter 11): windows, epochs and the operations in them. Win is what all components
// share: the epoch state machine, which refuses illegal calls, the layout of the window at all members, the checks of ranges. A component makes a
// Module for each window that it can serve, and moves bytes. One module serves a window; the one of the highest priority wins.
//
// Package ompi calls Win; arguments were checked there as far as one call shows: ranks are inside the communicator, datatypes are committed, operations
// are legal for their types, signatures have the same size. Errors are *core.Error with their class.
//
// What several components need lies beside them: osc/elem applies operations to memory, element by element and atomically; osc/words has the
// algorithms of synchronisation over words of control that can be reached by atomics (locks, counters of post and complete); osc/am carries out
// operations that came as messages.
package osc

import (
	"errors"
	"unsafe"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

func init() {
	mca.RegisterFramework(mca.Framework{Name: "osc", Help: "one-sided communication; the best component of each window", Many: true})
}

// ErrUnavailable is what Open of a component returns, wrapped with the reason, when it cannot work in this instance. It is left out quietly, unless the
// user asked for it by name.
var ErrUnavailable = errors.New("osc: not available")

// Env is what an instance gives its one-sided components.
type Env struct {
	Params *mca.Params
	Job    rte.Job
	PML    pml.Module
	BML    bml.Manager // the ways of the BTLs to each process
	Shm    *shm.Domain // nil when no memory is shared
	Btl    *btl.Env    // of the transports below
	// Alloc gives zeroed memory that the ranks of this host can map, if there is any such (AllocMem); else memory of the process. Its owner Unrefs it.
	Alloc func(n int64) (*core.Region, error)
	// Say tells of a fallback: counted by key, told once a job. The token is held.
	Say func(key, message string)
}

// Component is what registers with mca under framework "osc".
type Component interface {
	mca.Component
	// Open makes the component's per-instance state. It is called by all ranks, whatever windows there will be, and costs next to nothing.
	Open(env *Env) (Factory, error)
}

// Factory makes modules for the windows of one instance. The token is not held.
type Factory interface {
	// Query says how eagerly w would be served, or as an error, in a few words, why it is not. It is called at the same point by every member, may
	// not communicate, and must answer alike on all of them: it looks at what they have in common.
	Query(w *Win) (priority int, err error)
	// Enable makes the module, and the window's memory where w.Flavor says that MPI allocates it. It is collective over w.Comm; it may use w.Coll and
	// messages on &w.Comm.Inner. An error on one member leaves nothing behind on it; Win makes sure that all learn of it.
	Enable(w *Win) (Module, error)
	// Close ends the component's state, after the last window. The token is held.
	Close() error
}

// FaultListener is a Factory that wants to know when a window's communicator has got a fault. The token is held.
type FaultListener interface {
	CommFailed(c *core.Comm)
}

// Flavor is how a window got its memory (MPI-3.1 §11.2).
type Flavor uint8

// Flavors; the values order nothing.
const (
	Create   Flavor = iota // the program's memory
	Allocate               // allocated by MPI
	Shared                 // allocated by MPI, for load and store by all members
	Dynamic                // attached later
)

// AllTargets is for calls that concern every member.
const AllTargets = -1

// OpKind is what an operation does.
type OpKind uint8

// Operations (MPI-3.1 §11.3).
const (
	Put OpKind = iota
	Get
	Accumulate
	GetAccumulate  // GetAccumulate and FetchAndOp: Result gets what was there
	CompareAndSwap // one element: Compare against what is there, Origin in its place, Result what was there
)

// Op is one operation. It is valid during Issue only: a module copies what it needs longer. Buffers stay the program's, untouched until the operation is
// complete at the origin.
type Op struct {
	Kind    OpKind
	Origin  core.Buffer // empty where Acc is NoOp
	Compare core.Buffer
	Result  core.Buffer
	Rank    int            // target, in the window's communicator; never ProcNull
	Off     int64          // where in the target's window, in bytes from its base; of a dynamic window an address at the target
	Count   int64          // elements of Type at the target
	Type    *datatype.Type // at the target
	Low     int64          // the bytes [Off+Low, Off+High) of the window are touched, and lie inside it unless the window is dynamic
	High    int64          // Low == High: nothing is
	Acc     *core.Op       // of accumulating operations
	Request *core.Request  // of request-based ones, else nil; active
	Local   unsafe.Pointer // the target's memory where Win found it mapped here, at Off; else nil
}

// Module is one window of one component. Operations and Flush are the hot path.
//
// Epochs are Win's affair: a module is called in legal orders only, and is told when to synchronise. Errors of operations that are found later (a dynamic
// address that is not attached, a target that died) are reported by the call that completes them, and by their request.
type Module interface {
	// Issue begins an operation. The token is held, and may be given away meanwhile. done: it is complete at the origin and at the target, and op.Request
	// is Win's to finish. Otherwise the module finishes op.Request when the operation is complete at the origin, with results in place; completion
	// at the target is Flush's.
	Issue(op *Op) (done bool, err error)
	// Flush returns when all operations of this rank to target (AllTargets: to all) are complete there, FlushLocal when their buffers may be used
	// again. The token is held, and may be given away meanwhile.
	Flush(target int) error
	FlushLocal(target int) error

	// The rest is called without the token. Ranks are those of the window's communicator.

	// Fence completes this rank's operations everywhere and returns when those of all members to this one are complete, too (ModeNoPrecede: there are
	// none, and nobody need wait unless the assertions of the next epoch need it).
	Fence(assert Assert) error
	// Start begins an access epoch to the given ranks; it may wait for their Post, as may the operations and Complete. The slice is the module's.
	Start(group []int, assert Assert) error
	Complete() error
	// Post opens the window to the given ranks; Wait returns when they all have completed, Test tells.
	Post(group []int, assert Assert) error
	Wait() error
	Test() (bool, error)
	Lock(t LockType, target int, assert Assert) error
	Unlock(target int) error
	LockAll(assert Assert) error
	UnlockAll() error
	// Sync makes what others have written visible to loads, and stores to them (MPI-3.1 §11.5.4).
	Sync() error
	// Free is collective; nothing is under way at any member, no epoch is open, and all members are past their last call. After it the window's memory may
	// go.
	Free() error
}

// Attacher is the module of a dynamic window.
type Attacher interface {
	// Attach makes memory reachable; region keeps it alive and is held until Detach or Free. Pieces may not overlap: ErrRMAAttach. Without the token.
	Attach(region *core.Region) error
	// Detach ends that for the piece that begins at base: ErrBase when there is none. Nothing of this rank's program reaches it any more.
	Detach(base unsafe.Pointer) error
}

// Sharer is a module whose members' memory can be loaded and stored directly (MPI-3.1 §11.2.3).
type Sharer interface {
	// Query gives rank's memory as it is mapped here, and its size; the memory lives as long as the window.
	SharedQuery(rank int) (base unsafe.Pointer, size int64, err error)
}

// Mapper is a module that can name memory of a target by which this rank may load and store it, and whose operations are then no more than that: Win does
// plain small Puts and Gets itself. nil: not that one. It is asked once for each target, with the token held.
type Mapper interface {
	Mapped(rank int) unsafe.Pointer
}

// Atomic is a Mapper whose accumulates are no more than atomic instructions on the memory that it names, in all members, so that Win does small ones
// without the token, beside those of Issue. Any goroutine calls it.
type Atomic interface {
	Mapper
	// Accumulate does n elements of t, a predefined type, at mem, and puts into old, unless that is nil, what was there; acc may be any operation, and the
	// operand is nil for core.NoOp. false: they need more than instructions, or acc is not defined on them, and nothing was done.
	Accumulate(mem, operand, old unsafe.Pointer, n int64, t *datatype.Type, acc *core.Op) bool
	// CompareSwap is a compare-and-swap of one element.
	CompareSwap(mem, compare, value, old unsafe.Pointer, t *datatype.Type) bool
}

// Extenter is a module that finds out by itself how large the window is at a target and what its displacement unit is, when members differ: nothing that
// grows with their number is kept. The token is held, and may be given away meanwhile. Of other modules' windows Win keeps a table.
type Extenter interface {
	Extent(rank int) (size int64, unit int64, err error)
}

// LockType is the kind of a lock.
type LockType int

// Kinds of locks.
const (
	LockShared LockType = iota
	LockExclusive
)

// Assert is a set of assertions (MPI-3.1 §11.5.5), with the values of the public API.
type Assert int

// Assertions.
const (
	ModeNoCheck Assert = 1 << iota
	ModeNoStore
	ModeNoPut
	ModeNoPrecede
	ModeNoSucceed
)
