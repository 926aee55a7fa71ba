package portals4

import (
	"encoding/binary"
	"fmt"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/portals4"
)

// Atomic operations are those of the interface that bring back what was there: PtlFetchAtomic and PtlSwap.

var atomicOps = [...]portals4.AtomicOp{btl.AtomicAdd: portals4.Sum, btl.AtomicAnd: portals4.Band, btl.AtomicOr: portals4.Bor, btl.AtomicXor: portals4.Bxor,
	btl.AtomicMin: portals4.Min, btl.AtomicMax: portals4.Max, btl.AtomicSwap: portals4.Swap}

// FetchOp implements btl.Atomics.
func (l *link) FetchOp(t *btl.Transfer, what btl.AtomicOp, operand uint64) (bool, error) {
	if int(what) >= len(atomicOps) {
		return false, fmt.Errorf("btl portals4: no atomic operation %d", what)
	}
	kind := opFetch
	if what == btl.AtomicSwap {
		kind = opSwap
	}
	return l.atomic(t, kind, atomicOps[what], operand, 0)
}

// CompareSwap implements btl.Atomics.
func (l *link) CompareSwap(t *btl.Transfer, compare, value uint64) (bool, error) {
	return l.atomic(t, opSwap, portals4.CSwap, value, compare)
}

func (l *link) atomic(t *btl.Transfer, kind opKind, what portals4.AtomicOp, operand, compare uint64) (bool, error) {
	if t.N != 4 && t.N != 8 {
		return false, fmt.Errorf("btl portals4: an atomic operation on %d bytes; 4 and 8 can be", t.N)
	}
	o, err := l.begin(t, kind)
	if o == nil {
		return false, err
	}
	o.what, o.typ = what, portals4.Int64
	if t.N == 4 {
		o.typ = portals4.Int32
	}
	for i, v := range [...]uint64{operand, compare} {
		if t.N == 4 {
			binary.NativeEndian.PutUint32(o.word[i][:], uint32(v))
		} else {
			binary.NativeEndian.PutUint64(o.word[i][:], v)
		}
	}
	return false, o.start()
}

// Coherent implements btl.Coherent: the interface changes words by compare-and-swap (package portals4/atomics).
func (l *link) Coherent() {}

var _ btl.Coherent = (*link)(nil)
