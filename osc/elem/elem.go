// Package elem applies the predefined operations of accumulates to memory, element by element (MPI-3.1 §11.3.4): each element changes as a whole, among all
// who go through this package, in all threads and in all processes that have mapped the memory. Components of osc use it.
//
// Aligned elements of 1 to 8 bytes change by compare-and-swap of the word that they lie in. Those of 16 bytes, the pairs of MaxLoc and MinLoc, and elements that
// are not aligned change under a lock of Locks, which lies where all who do this to the memory find it.
package elem

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// Code names an operation on elements of one kind, in memory and on the wire; 0 is none. Replace and NoOp have codes, too, as has compare-and-swap.
type Code uint16

// Of gives the code for op on the elements of t, which is predefined or derived of one predefined type (core.Op.CheckAccumulate approved). ok is false
// where there is none.
func Of(op *core.Op, t *datatype.Type) (c Code, ok bool) { panic("to come") }

// Swap gives the code of compare-and-swap on t.
func Swap(t *datatype.Type) (c Code, ok bool) { panic("to come") }

// Valid reports whether a code that came from a peer means anything.
func (c Code) Valid() bool { panic("to come") }

// Size is that of an element in bytes.
func (c Code) Size() int64 { panic("to come") }

// Locks are for elements without an atomic instruction. The zero value is ready; it holds no pointers, so that it may lie in shared memory.
type Locks struct {
	stripes [64]struct {
		word uint32
		_    [60]byte
	}
}

// LocksSize is the size of Locks in bytes.
const LocksSize = int64(unsafe.Sizeof(Locks{}))

// Apply does mem[i] = operand[i] op mem[i] for n elements. The operand is not changed and does not overlap mem.
func (c Code) Apply(mem, operand unsafe.Pointer, n int64, l *Locks) { panic("to come") }

// Fetch is Apply that puts into old what was in mem. Old may be the operand's memory. The operand may be nil for NoOp.
func (c Code) Fetch(mem, operand, old unsafe.Pointer, n int64, l *Locks) { panic("to come") }

// CompareSwap puts value into mem if compare is there; old gets what was there. For codes of Swap.
func (c Code) CompareSwap(mem, compare, value, old unsafe.Pointer, l *Locks) { panic("to come") }
