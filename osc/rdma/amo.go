package rdma

import (
	"errors"
	"time"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/osc"
)

// Accumulates of one element, and compare-and-swap, by a BTL's atomics. This rank waits for them: the next one to the place must come later.

// amo carries an operation out so. done is false where that cannot be.
func (m *module) amo(t *target, op *osc.Op) (done bool, err error) {
	n := op.Type.Size()
	if op.Count != 1 || op.Type.Kind() == datatype.KindNone || n != 4 && n != 8 || (t.base+uint64(op.Off))%uint64(n) != 0 {
		return false, nil
	}
	var result unsafe.Pointer
	if op.Kind != osc.Accumulate {
		if op.Result.Type().Kind() == datatype.KindNone {
			return false, nil
		}
		result = op.Result.Addr()
	}
	if op.Origin.Type() != nil && op.Origin.Type().Kind() == datatype.KindNone {
		return false, nil
	}
	var what btl.AtomicOp
	var operand, compare uint64
	swap := op.Kind == osc.CompareAndSwap
	switch {
	case swap && !whole(op.Type.Kind()), swap && op.Compare.Type().Kind() == datatype.KindNone:
		return false, nil
	case swap:
		compare = loadWord(op.Compare.Addr(), n)
	case op.Acc == core.NoOp:
		if result == nil {
			return true, nil
		}
	default:
		if what, done = wordOp(op.Acc, op.Type.Kind()); !done {
			return false, nil
		}
	}
	if op.Acc != core.NoOp || swap {
		operand = loadWord(op.Origin.Addr(), n)
	}
	old, err := m.onWord(t, t.amo, t.amoMem, op.Off, n, what, operand, compare, swap)
	if errors.Is(err, btl.ErrNotSupported) {
		t.amo = nil
		return false, nil
	}
	if err == nil && result != nil {
		storeWord(result, n, old)
	}
	return err == nil, err
}

// whole tells kinds that are equal when their bits are.
func whole(k datatype.Kind) bool {
	switch k {
	case datatype.KindInt32, datatype.KindInt64, datatype.KindUint32, datatype.KindUint64:
		return true
	}
	return false
}

// wordOp gives the atomic operation that does what op does to elements of a kind.
func wordOp(op *core.Op, k datatype.Kind) (btl.AtomicOp, bool) {
	if op == core.Replace {
		return btl.AtomicSwap, true
	}
	if !whole(k) {
		return 0, false
	}
	signed := k == datatype.KindInt32 || k == datatype.KindInt64
	switch op {
	case core.Sum:
		return btl.AtomicAdd, true
	case core.BAnd:
		return btl.AtomicAnd, true
	case core.BOr:
		return btl.AtomicOr, true
	case core.BXor:
		return btl.AtomicXor, true
	case core.Min:
		return btl.AtomicMin, signed
	case core.Max:
		return btl.AtomicMax, signed
	}
	return 0, false
}

// onWord carries an atomic operation out on n bytes at off of what mem names, and waits for its end. what is ignored if it is a compare-and-swap.
func (m *module) onWord(t *target, a btl.Atomics, mem btl.MemHandle, off, n int64, what btl.AtomicOp, operand, compare uint64, swap bool) (uint64, error) {
	x := m.newXfer(t, nil)
	x.value = [8]byte{}
	x.Local, x.Remote, x.Off, x.N = unsafe.Pointer(&x.value), mem, off, n
	for {
		var done bool
		var err error
		if swap {
			done, err = a.CompareSwap(&x.Transfer, compare, operand)
		} else {
			done, err = a.FetchOp(&x.Transfer, what, operand)
		}
		switch {
		case errors.Is(err, btl.ErrAgain):
			if err = t.gone(m); err == nil {
				m.pause()
				continue
			}
		case err == nil && !done:
			m.wait(t, awaitOver, &x.over)
			if !x.over {
				x.left = true // a BTL has it still
				return 0, t.gone(m)
			}
			err = x.err
		}
		old := loadWord(unsafe.Pointer(&x.value), n)
		if err != nil && !errors.Is(err, btl.ErrNotSupported) {
			err = m.verdict(t, err)
		}
		m.freeXfer(x)
		return old, err
	}
}

// verdict finds out whether an error is a target's death, of which the BTL may know before this instance does.
func (m *module) verdict(t *target, err error) error {
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); m.pause() {
		if gone := t.gone(m); gone != nil {
			return gone
		}
	}
	if m.w.Comm.Fault() != nil {
		return &core.Error{Class: core.ErrProcFailed, Peer: t.rank, Index: -1, Err: errFreed}
	}
	return err
}

func loadWord(p unsafe.Pointer, n int64) uint64 {
	if n == 4 {
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

func storeWord(p unsafe.Pointer, n int64, v uint64) {
	if n == 4 {
		*(*uint32)(p) = uint32(v)
		return
	}
	*(*uint64)(p) = v
}
