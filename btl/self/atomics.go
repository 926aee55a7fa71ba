package self

import (
	"fmt"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
)

// word finds the word of an atomic operation.
func (ep *endpoint) word(t *btl.Transfer) (unsafe.Pointer, error) {
	b, err := ep.remote(t)
	if err == nil && len(b) == 0 {
		err = fmt.Errorf("btl self: an atomic operation on %d bytes; 4 and 8 can be", t.N)
	}
	return unsafe.Pointer(unsafe.SliceData(b)), err
}

// FetchOp implements btl.Atomics.
func (ep *endpoint) FetchOp(t *btl.Transfer, op btl.AtomicOp, operand uint64) (bool, error) {
	word, err := ep.word(t)
	if err == nil {
		err = btl.WordOp(word, t.N, op, operand, t.Local)
	}
	return err == nil, err
}

// CompareSwap implements btl.Atomics.
func (ep *endpoint) CompareSwap(t *btl.Transfer, compare, value uint64) (bool, error) {
	word, err := ep.word(t)
	if err == nil {
		err = btl.WordSwap(word, t.N, compare, value, t.Local)
	}
	return err == nil, err
}

// Coherent implements btl.Coherent.
func (ep *endpoint) Coherent() {}

// Map implements btl.Mapper.
func (ep *endpoint) Map(h btl.MemHandle, n int64) (*core.Region, error) {
	r := (*module)(ep).find(h)
	if r == nil {
		return nil, errHandle
	}
	if n < 0 || n > r.size {
		return nil, fmt.Errorf("btl self: %d bytes of the %d registered", n, r.size)
	}
	return core.NewRegion(core.RegionPeer, r.mem, n, nil), nil
}

// Ring implements btl.Mapper: a rank that stores for itself is awake.
func (ep *endpoint) Ring() {}

var (
	_ btl.Coherent = (*endpoint)(nil)
	_ btl.Mapper   = (*endpoint)(nil)
)
