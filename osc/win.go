package osc

import (
	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
)

// Win is a window at one of its members. What a component may look at is exported.
type Win struct {
	Comm   *core.Comm  // the window's own, a duplicate of the one that it was made over; its Context names the window among all members
	Coll   *coll.Table // collectives on Comm
	Engine *progress.Engine
	Flavor Flavor
	Info   *core.Info
	Hints  Hints

	// Memory is this member's: the program's, or what Enable made (of Size bytes). Nil in a dynamic window, and where Size is 0.
	Memory *core.Region
	Size   int64 // in bytes
	Unit   int64 // displacement unit in bytes

	// SameSize and SameUnit tell that those of all members are alike.
	SameSize, SameUnit bool
	// OneHost tells that all members run on this host, OneProcess that they are goroutines of this process.
	OneHost, OneProcess bool
}

// Hints are the info keys that all members understand alike (MPI-3.1 §11.2.1); where members differ, the weaker promise holds.
type Hints struct {
	NoLocks    bool     // no_locks: there are no passive target epochs
	Ordering   Ordering // accumulate_ordering
	SameOpNoOp bool     // accumulate_ops is same_op_no_op (the default) rather than same_op
	SameSize   bool     // same_size, as promised
	SameUnit   bool     // same_disp_unit, as promised
	// NotContiguous is alloc_shared_noncontig: the members' parts of shared memory need not follow one another.
	NotContiguous bool
	// Recover is ompi_lock_recovery: a lock whose holder died is given to the next, who is told by nothing but this hint having been set.
	Recover bool
}

// Ordering says which accumulates of one origin to one place happen in program order (MPI-3.1 §11.7.2).
type Ordering uint8

// Orderings; the default is all of them.
const (
	OrderRAR Ordering = 1 << iota
	OrderRAW
	OrderWAR
	OrderWAW
	OrderNone Ordering = 0
	OrderAll           = OrderRAR | OrderRAW | OrderWAR | OrderWAW
)
