package sm

import (
	"fmt"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
)

// Words that are within reach, because peers are goroutines or their memory is mapped, are changed by the processor's atomic operations, and so
// are atomic even with what the peer does by sync/atomic. Others are not: the kernel copies bytes, no more.

// FetchOp implements btl.Atomics.
func (ep *endpoint) FetchOp(t *btl.Transfer, op btl.AtomicOp, operand uint64) (bool, error) {
	word, err := ep.word(t)
	if err == nil {
		err = btl.WordOp(word, t.N, op, operand, t.Local)
	}
	return ep.worded(err)
}

// CompareSwap implements btl.Atomics.
func (ep *endpoint) CompareSwap(t *btl.Transfer, compare, value uint64) (bool, error) {
	word, err := ep.word(t)
	if err == nil {
		err = btl.WordSwap(word, t.N, compare, value, t.Local)
	}
	return ep.worded(err)
}

func (ep *endpoint) worded(err error) (bool, error) {
	if err != nil {
		return false, fmt.Errorf("btl sm: %w", err)
	}
	return true, nil
}

// word finds the word of an atomic operation.
func (ep *endpoint) word(t *btl.Transfer) (unsafe.Pointer, error) {
	at, err := ep.source(t)
	switch {
	case err != nil:
		return nil, err
	case at.here == nil:
		return nil, fmt.Errorf("%w: atomic operations on memory of another process that is not mapped", btl.ErrNotSupported)
	}
	return at.here, nil
}

// Coherent implements btl.Coherent.
func (ep *endpoint) Coherent() {}

// Map implements btl.Mapper: memory of AllocMem between processes, any between goroutine ranks.
func (ep *endpoint) Map(h btl.MemHandle, n int64) (*core.Region, error) {
	if ep.m.shm.InProcess() {
		mem, err := ep.peer.Registered(uint32(h.A), uint32(h.B), 0, n)
		if err != nil {
			return nil, err
		}
		return core.NewRegion(core.RegionPeer, mem, n, nil), nil
	}
	addr, size := parseHandle(h)
	if n < 0 || n > size {
		return nil, fmt.Errorf("btl sm: %d bytes of rank %d's memory of %d", n, ep.proc.Rank, size)
	}
	if !ep.maps(h) || ep.peer == nil {
		return nil, fmt.Errorf("btl sm: %w: memory of rank %d that is not of AllocMem cannot be mapped", btl.ErrNotSupported, ep.proc.Rank)
	}
	r, err := ep.peer.MapPart(ep.m.shm, uint32(h.B>>handleBits), addr, n)
	if err != nil {
		ep.m.sayUnmapped(err)
		return nil, fmt.Errorf("btl sm: %w: %w", btl.ErrNotSupported, err)
	}
	return r, nil
}

// Ring implements btl.Mapper.
func (ep *endpoint) Ring() {
	if ep.peer != nil {
		ep.m.shm.Ring(ep.peer)
	}
}

var (
	_ btl.Coherent = (*endpoint)(nil)
	_ btl.Mapper   = (*endpoint)(nil)
)
