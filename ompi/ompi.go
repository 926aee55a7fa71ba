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

// Types that package core shares with the components; their methods are documented there (go doc core.Group).
type (
	// Buffer is what a call sends or where it receives to: memory, a count and a datatype. Slice, Value, Typed, TypedAt and Raw make
	// one; making it wrong (memory with pointers, a count that does not fit) is reported by the call that is given it. A Buffer is a
	// small value that refers to the memory, which must not be touched while an operation on it is under way.
	Buffer = core.Buffer

	// Status tells what a completed operation did (MPI-3.1 §3.2.5). Of a receive: Source and Tag are those of the message, which the
	// receive may have left open (AnySource, AnyTag); Bytes, Count(t) and Elements(t) are its size in bytes, in whole elements of a
	// type, and in predefined elements, Undefined where the last one is not whole. Err is the operation's error, as the call
	// returns it. Cancelled: the operation was cancelled and did nothing. Of a send, and where there was no operation, Source is
	// AnySource, Tag AnyTag and the size 0.
	Status = core.Status

	// Group is an ordered set of processes of the job (MPI-3.1 §6.3). It does not change, and needs no Free.
	Group = core.Group

	// Info is an ordered set of string keys and values (MPI-3.1 §9): hints for those who know them.
	Info = core.Info

	// Comparison is how two groups or communicators relate (MPI-3.1 §6.3.1, §6.4.1): Ident, Congruent, Similar or Unequal.
	Comparison = core.Comparison

	// Error is what every failing call returns. Class is one of the Err… constants, and errors.Is compares it:
	//
	//	if errors.Is(err, ompi.ErrTruncate) { ... }
	//
	// errors.As gives the rest:
	//
	//	var e *ompi.Error
	//	if errors.As(err, &e) { log.Print(e.Op, e.Comm, e.Peer) }
	//
	// Op is MPI's name of the call ("Recv"); Comm the name of the communicator or window, if there is one; Peer the rank in it that
	// the error concerns (with ErrProcFailed: that has died), or Undefined; Index the position in the list of requests given to the
	// call, or -1. Err is the cause, which errors.Unwrap gives, too; it may be nil. The text has all of that.
	Error = core.Error

	// ErrorClass is an MPI error class (MPI-3.1 §8.4), a number of the MPI 5.0 ABI. It is an error itself, so that it can be given to
	// errors.Is.
	ErrorClass = core.ErrorClass

	// Op is an operation of reductions (MPI-3.1 §5.9): Sum and the other predefined ones, or what NewOp and NewRawOp make.
	Op = core.Op

	// Loc is a value with an index: the element type of MaxLoc and MinLoc (MPI-3.1 §5.9.4).
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
