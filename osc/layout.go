package osc

import (
	"math/bits"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// layout is what a member knows of the windows of all: one size and unit where they are alike, else a table, or a module that finds out.
type layout struct {
	size, unit int64   // of all, if they are alike; else 0
	table      []int64 // of each member, if they are not; or
	extend     Extenter
}

func int64s(s []int64) core.Buffer {
	return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(s)), int64(len(s)), datatype.Int64)
}

// What the members agree about, as numbers whose largest counts. Of those that must be alike there is one more, negated.
const (
	agreeFlavor = iota
	agreeOther  // -flavor
	agreeSize
	agreeSmall // -size
	agreeUnit
	agreeFine // -unit
	agreeLocks
	agreeNoOp
	agreeSizes // promises that not all give
	agreeUnits
	agreePacked
	agreeLose
	agreeOrder // and the three behind it
	agreed     = agreeOrder + 4
)

// agree finds out whether the members' windows are alike, and which hints all of them gave.
func (w *Win) agree() error {
	v := make([]int64, agreed)
	v[agreeFlavor], v[agreeOther] = int64(w.Flavor), -int64(w.Flavor)
	v[agreeSize], v[agreeSmall] = w.Size, -w.Size
	v[agreeUnit], v[agreeFine] = w.Unit, -w.Unit
	h := &w.Hints
	v[agreeLocks], v[agreeNoOp] = not(h.NoLocks), 1-not(h.SameOpNoOp)
	v[agreeSizes], v[agreeUnits] = not(h.SameSize), not(h.SameUnit)
	v[agreePacked], v[agreeLose] = not(h.NotContiguous), not(h.Recover)
	for i := range 4 {
		v[agreeOrder+i] = int64(h.Ordering) >> i & 1
	}
	if err := w.Coll.Allreduce.Allreduce(core.InPlaceBuffer(), int64s(v), core.Max); err != nil {
		return err
	}
	if v[agreeFlavor] != -v[agreeOther] {
		return core.NewError(core.ErrArg, "members make windows of different kinds: all call the same function")
	}
	w.SameSize, w.SameUnit = v[agreeSize] == -v[agreeSmall], v[agreeUnit] == -v[agreeFine]
	w.Hints = Hints{NoLocks: v[agreeLocks] == 0, SameOpNoOp: v[agreeNoOp] != 0, SameSize: v[agreeSizes] == 0, SameUnit: v[agreeUnits] == 0,
		NotContiguous: v[agreePacked] == 0, Recover: v[agreeLose] == 0}
	for i := range 4 {
		w.Hints.Ordering |= Ordering(v[agreeOrder+i]) << i
	}
	return nil
}

func not(b bool) int64 {
	if b {
		return 0
	}
	return 1
}

// spread makes the table of sizes and units, where it is needed.
func (w *Win) spread() error {
	if w.SameSize && w.SameUnit {
		w.layout.size, w.layout.unit = w.Size, w.Unit
		return nil
	}
	if x, ok := w.module.(Extenter); ok {
		w.layout.extend = x
		return nil
	}
	table := make([]int64, 2*w.Comm.Size())
	if err := w.Coll.Allgather.Allgather(int64s([]int64{w.Size, w.Unit}), int64s(table)); err != nil {
		return err
	}
	w.layout.table = table
	return nil
}

// extent gives a target's window: its size and displacement unit in bytes. The token is held, and may be given away meanwhile.
func (w *Win) extent(rank int) (size, unit int64, err error) {
	switch {
	case w.SameSize && w.SameUnit || rank == w.Comm.MyRank:
		return w.Size, w.Unit, nil
	case w.layout.table != nil:
		return w.layout.table[2*rank], w.layout.table[2*rank+1], nil
	}
	return w.layout.extend.Extent(rank)
}

// farthest is beyond every offset that means anything, so that sums of two do not overflow.
const farthest = 1 << 62

// locate fills in where op touches the target's window, disp units from its base, and refuses what lies outside. Dynamic windows have absolute
// addresses, which the target checks.
func (w *Win) locate(op *Op, disp int64) error {
	lo, hi, err := op.Type.Span(op.Count)
	if err != nil {
		return err
	}
	op.Low, op.High = lo, hi
	if w.Flavor == Dynamic {
		op.Off = disp
		if lo < hi && (disp < 0 || lo < -disp || hi > farthest || disp > farthest) {
			return outside(op.Rank, "address %#x and a type that touches bytes [%d,%d) of it: no memory lies there", uint64(disp), lo, hi)
		}
		return nil
	}
	if disp < 0 {
		err := core.NewError(core.ErrDisp, "displacement %d is negative", disp)
		err.Peer = op.Rank
		return err
	}
	size, unit, err := w.extent(op.Rank)
	if err != nil {
		return err
	}
	over, off := bits.Mul64(uint64(disp), uint64(unit))
	if lo == hi { // nothing is touched
		op.Off = int64(min(off, uint64(size)))
		return nil
	}
	if over != 0 || off >= farthest || hi > size || int64(off)+lo < 0 || int64(off)+hi > size {
		return outside(op.Rank, "displacement %d of %d bytes and a type that touches bytes [%d,%d) of it; the window there has %d bytes", disp, unit, lo, hi, size)
	}
	op.Off = int64(off)
	return nil
}

func outside(rank int, format string, args ...any) error {
	err := core.NewError(core.ErrRMARange, format, args...)
	err.Peer = rank
	return err
}
