package sm

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl"
)

// Memory that peers can map (package mpool) needs no system call to be read or written by them: the handle of a buffer in it names it,
// beside the address, and the peer maps it once. That also works where process_vm_readv is refused.
//
// In a handle (help.go) the number of the memory that a buffer lies in stands above the length, 0 for ordinary memory.

// IsShared implements btl.Sharer.
func (m *module) IsShared(h btl.MemHandle) bool { return h.B>>handleBits != 0 && !m.shm.InProcess() }

// mapTrials bounds how often mapping a peer's memory may fail before it is given up.
const mapTrials = 8

// copyMapped carries out a transfer whose remote end lies in memory that can be mapped. ok is false when this is not so: then there
// may be another way.
func (ep *endpoint) copyMapped(t *btl.Transfer, call uintptr) (ok bool, err error) {
	number := t.Remote.B >> handleBits
	if number == 0 || ep.unmapped >= mapTrials || ep.peer == nil || ep.m.shm.InProcess() {
		return false, nil
	}
	at, err := ep.source(t)
	if err != nil {
		return true, err
	}
	theirs, err := ep.peer.Memory(ep.m.shm, uint32(number), at.there, t.N)
	if errors.Is(err, os.ErrProcessDone) {
		return true, fmt.Errorf("process %d of rank %d has ended", ep.peer.PID(), ep.proc.Rank)
	}
	if err != nil {
		ep.unmapped++
		ep.m.env.Upcalls.Say("sm-map", fmt.Sprintf("memory of AllocMem is not read directly, but as other memory: %v", err))
		return false, nil
	}
	from, to := theirs, t.Local
	if call != unix.SYS_PROCESS_VM_READV {
		from, to = to, from
	}
	copyPieces(to, from, t.N)
	ep.m.mapped++
	ep.m.mappedBytes += uint64(t.N)
	return true, nil
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
