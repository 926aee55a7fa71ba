// Package elem applies the predefined operations of accumulates to memory, element by element (MPI-3.1 §11.3.4): each element changes as a whole, among all
// who go through this package, in all threads and in all processes that have mapped the memory. Components of osc use it.
//
// Aligned elements of 1 to 8 bytes change by compare-and-swap of the word that they lie in; a small one never touches more than the four aligned bytes
// around it, what lies beside it keeps what others store there. Those of 16 bytes, the pairs of MaxLoc and MinLoc, and elements that
// are not aligned change under a lock of Locks, which lies where all who do this to the memory find it. Which one it is depends on the place in a page alone, so
// that all mappings of the memory agree.
//
// Arithmetic is that of package core's reductions: integers wrap around, logical operations take anything but 0 for true and give 1 or 0, and comparisons are
// Go's own. Nothing here allocates or keeps its arguments.
package elem

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// Code names an operation on elements of one kind, in memory and on the wire; 0 is none. Replace and NoOp have codes, too, as has compare-and-swap.
//
// The low five bits are the kind of the elements, or of the values of pairs, bit 5 tells of pairs, the high byte is the operation.
type Code uint16

const (
	kindBits = 1<<5 - 1
	pairBit  = 1 << 5
)

// The operations, in the order of their numbers in a Code.
const (
	opSum = iota + 1
	opProd
	opMax
	opMin
	opLAnd
	opLOr
	opLXor
	opBAnd
	opBOr
	opBXor
	opMaxLoc
	opMinLoc
	opReplace
	opNoOp
	opSwap
)

func code(op int, k datatype.Kind) Code { return Code(op<<8 | int(k)) }

func (c Code) op() int             { return int(c >> 8) }
func (c Code) kind() datatype.Kind { return datatype.Kind(c & kindBits) }

// numberOf is op's number, 0 for a user's operation and nil.
func numberOf(op *core.Op) int {
	switch op {
	case core.Sum:
		return opSum
	case core.Replace:
		return opReplace
	case core.NoOp:
		return opNoOp
	case core.Prod:
		return opProd
	case core.Max:
		return opMax
	case core.Min:
		return opMin
	case core.LAnd:
		return opLAnd
	case core.LOr:
		return opLOr
	case core.LXor:
		return opLXor
	case core.BAnd:
		return opBAnd
	case core.BOr:
		return opBOr
	case core.BXor:
		return opBXor
	case core.MaxLoc:
		return opMaxLoc
	case core.MinLoc:
		return opMinLoc
	}
	return 0
}

// byNumber is numberOf, the other way round.
var byNumber = [...]*core.Op{opSum: core.Sum, opProd: core.Prod, opMax: core.Max, opMin: core.Min, opLAnd: core.LAnd, opLOr: core.LOr, opLXor: core.LXor,
	opBAnd: core.BAnd, opBOr: core.BOr, opBXor: core.BXor, opMaxLoc: core.MaxLoc, opMinLoc: core.MinLoc, opReplace: core.Replace, opNoOp: core.NoOp}

// Of gives the code for op on the elements of t, which is predefined or derived of one predefined type (core.Op.CheckAccumulate approved). ok is false
// where there is none. Replace and NoOp on a type whose elements differ are on its bytes.
func Of(op *core.Op, t *datatype.Type) (c Code, ok bool) {
	n := numberOf(op)
	if n == 0 || t == nil {
		return 0, false
	}
	k := t.Kind()
	if k == datatype.KindNone {
		if n >= opMaxLoc {
			if p := core.PairKind(t); p != datatype.KindNone {
				return code(n, p) | pairBit, true
			}
		}
		if k, ok = t.Homogeneous(); !ok && n >= opReplace {
			k = datatype.KindByte
		}
	}
	c = code(n, k)
	return c, c.Valid()
}

// Swap gives the code of compare-and-swap on t, a predefined type. MPI has it on integers, logical and byte; here it compares the bytes of any.
func Swap(t *datatype.Type) (c Code, ok bool) {
	if t == nil || t.Kind() == datatype.KindNone {
		return 0, false
	}
	return code(opSwap, t.Kind()), true
}

// IsSwap tells codes of Swap, which are for CompareSwap, from those for Apply and Fetch.
func (c Code) IsSwap() bool { return c.op() == opSwap }

// IsNoOp tells that nothing changes, and no operand is needed.
func (c Code) IsNoOp() bool { return c.op() == opNoOp }

// Pair tells that the elements are core.Loc, with their gaps. They lie Size bytes apart on both sides, and are not walked by pieces: the type is the pair's, and no other
// is allowed. Gaps are neither read nor written.
func (c Code) Pair() bool { return c&pairBit != 0 }

// Valid reports whether a code that came from a peer means anything.
func (c Code) Valid() bool {
	k, op := c.kind(), c.op()
	if c&^(kindBits|pairBit|0xff00) != 0 || k.Size() == 0 {
		return false
	}
	if c.Pair() {
		return op >= opMaxLoc && op <= opNoOp && core.Max.Kernel(k) != nil
	}
	if op == opSwap {
		return true
	}
	return op > 0 && op < len(byNumber) && byNumber[op].Kernel(k) != nil
}

// Size is that of an element in bytes; of a pair with its gaps. Memory may end before the last pair's last gap.
func (c Code) Size() int64 {
	s := int64(c.kind().Size())
	if c.Pair() {
		return pairSize(c.kind(), s)
	}
	return s
}

// pairSize is the size of core.Loc of a value of kind k and s bytes.
func pairSize(k datatype.Kind, s int64) int64 {
	align := int64(unsafe.Alignof(int32(0)))
	if s == 8 {
		align = int64(unsafe.Alignof(int64(0)))
	}
	return (core.PairIndex(k) + 4 + align - 1) &^ (align - 1)
}

// Instructions reports whether elements at mem, change by instructions alone, so that Apply, Fetch and CompareSwap need no Locks.
func (c Code) Instructions(mem unsafe.Pointer) bool {
	size := c.Size()
	return size <= 8 && !c.Pair() && uintptr(mem)&uintptr(size-1) == 0
}

// Apply does mem[i] = operand[i] op mem[i] for n elements. The operand is not changed and does not overlap mem; it need not be aligned. The code is Valid and not of Swap.
func (c Code) Apply(mem, operand unsafe.Pointer, n int64, l *Locks) {
	c.change(mem, operand, nil, n, l)
}

// Fetch is Apply that puts into old what was in mem. Old may be the operand's memory. The operand may be nil for NoOp.
func (c Code) Fetch(mem, operand, old unsafe.Pointer, n int64, l *Locks) {
	c.change(mem, operand, old, n, l)
}
