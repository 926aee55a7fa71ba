package sm

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/shm"
)

// Memory that peers can map (package mpool) needs no system call to be read or written by them: the handle of a buffer in it names it,
// beside the address, and the peer maps it once. That also works where process_vm_readv is refused. So does a request for help (coop.go).
//
// In a handle (help.go) the number of the memory that a buffer lies in stands above the length, 0 for ordinary memory.

// IsShared implements btl.Sharer.
func (m *module) IsShared(h btl.MemHandle) bool { return h.B>>handleBits != 0 && !m.shm.InProcess() }

// mapTrials bounds how often mapping a peer's memory may fail before it is given up.
const mapTrials = 8

// maps reports whether memory of that handle, of either end, is to be mapped by the other.
func (ep *endpoint) maps(h btl.MemHandle) bool {
	return h.B>>handleBits != 0 && ep.unmapped < mapTrials && !ep.m.shm.InProcess()
}

// mapRemote gives the address, in this process, of n bytes at addr of the peer, in its memory of that number; nil when that cannot be mapped,
// and there may be another way to it.
func (ep *endpoint) mapRemote(number uint32, addr uint64, n int64) (unsafe.Pointer, error) {
	if ep.peer == nil {
		return nil, nil
	}
	mem, err := ep.peer.Memory(ep.m.shm, number, addr, n)
	switch {
	case err == nil:
		return mem, nil
	case errors.Is(err, os.ErrProcessDone):
		return nil, fmt.Errorf("process %d of rank %d has ended", ep.peer.PID(), ep.proc.Rank)
	}
	if !errors.Is(err, shm.ErrManyMapped) {
		ep.unmapped++
	}
	ep.m.sayUnmapped(err)
	return nil, nil
}

func (m *module) sayUnmapped(err error) {
	m.env.Upcalls.Say("sm-map", fmt.Sprintf("memory of AllocMem is not mapped, but copied as other memory is: %v", err))
}

// count counts a transfer of which this end needs no system call.
func (ep *endpoint) count(at source, n int64) {
	if at.mapped {
		ep.m.mapped++
		ep.m.mappedBytes += uint64(n)
	}
}

// copyPieces copies n bytes in pieces: the runtime cannot stop a goroutine inside one.
func copyPieces(to, from unsafe.Pointer, n int64) {
	for n > 0 {
		k := min(n, copyPiece)
		copy(unsafe.Slice((*byte)(to), k), unsafe.Slice((*byte)(from), k))
		if n -= k; n > 0 { // a pointer past the end would be none of this memory
			to, from = unsafe.Add(to, k), unsafe.Add(from, k)
		}
	}
}
