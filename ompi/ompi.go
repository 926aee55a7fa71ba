// Package ompi is MPI for Go: the face that programs see. A program is
//
//	func main() {
//		ompi.Main(func(world *ompi.Comm) error {
//			...
//		})
//	}
//
// started by mpirun (or mpiexec, srun), or by ompi.Run with its ranks as goroutines. Everything MPI is a method of a
// communicator over Buffers; Slice, Value and Typed make those from Go memory. Every call is safe from many goroutines
// (MPI_THREAD_MULTIPLE is the only level). Errors are returned; errors.Is compares their MPI class.
//
// Arguments are checked here, once; the floors below trust them.
package ompi

import "github.com/ompi-go/ompi-go/core"

// Constants with the values of the MPI 5.0 ABI.
const (
	AnySource = core.AnySource // matches any sender
	AnyTag    = core.AnyTag    // matches any tag
	ProcNull  = core.ProcNull  // the peer that is not: sends and receives complete at once
	Root      = core.Root
	Undefined = core.Undefined
)

// Types that every floor shares.
type (
	Buffer     = core.Buffer
	Status     = core.Status
	Group      = core.Group
	Info       = core.Info
	Comparison = core.Comparison
	Error      = core.Error
	ErrorClass = core.ErrorClass
	Op         = core.Op
	Loc[T any] = core.Loc[T]
)

// Results of comparisons.
const (
	Ident     = core.Ident
	Congruent = core.Congruent
	Similar   = core.Similar
	Unequal   = core.Unequal
)

// Predefined operations (MPI-3.1 §5.9.2).
var (
	Sum, Prod, Max, Min = core.Sum, core.Prod, core.Max, core.Min
	LAnd, LOr, LXor     = core.LAnd, core.LOr, core.LXor
	BAnd, BOr, BXor     = core.BAnd, core.BOr, core.BXor
	MaxLoc, MinLoc      = core.MaxLoc, core.MinLoc
	Replace, NoOp       = core.Replace, core.NoOp
)
