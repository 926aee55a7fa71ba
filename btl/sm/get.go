package sm

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl"
)

// Single copy. Between processes the receiver reads the sender's memory with process_vm_readv; between goroutine ranks it copies
// from a registered address. A process needs no registration: its handle is the address, and the kernel checks it.

// Register implements btl.Registrar.
func (m *module) Register(mem unsafe.Pointer, n int64) (btl.MemHandle, error) {
	if m.shm.InProcess() {
		slot, gen := m.shm.Register(mem, n)
		return btl.MemHandle{A: uint64(slot), B: uint64(gen)}, nil
	}
	return btl.MemHandle{A: uint64(uintptr(mem)), B: uint64(n)}, nil
}

// Deregister implements btl.Registrar.
func (m *module) Deregister(h btl.MemHandle) {
	if m.shm.InProcess() {
		m.shm.Deregister(uint32(h.A), uint32(h.B))
	}
}

// Get implements btl.Getter.
func (ep *endpoint) Get(local unsafe.Pointer, n int64, remote btl.MemHandle, off int64) error {
	if ep.noCopy != nil {
		return fmt.Errorf("%w: %w", btl.ErrNotSupported, ep.noCopy)
	}
	if ep.m.shm.InProcess() {
		src, err := ep.peer.Registered(uint32(remote.A), uint32(remote.B), off, n)
		if err != nil {
			return err
		}
		copy(unsafe.Slice((*byte)(local), n), unsafe.Slice((*byte)(src), n))
		return nil
	}
	if off < 0 || n < 0 || uint64(off)+uint64(n) > remote.B {
		return fmt.Errorf("btl sm: range [%d,+%d) outside rank %d's memory of %d bytes", off, n, ep.proc.Rank, remote.B)
	}
	err := readPeer(ep.peer.PID(), local, remote.A+uint64(off), int(n))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ESRCH):
		return fmt.Errorf("process %d of rank %d has ended", ep.peer.PID(), ep.proc.Rank)
	default:
		// The trial worked, and yet: perhaps this very memory cannot be read (EFAULT), perhaps the peer dropped its permissions.
		return fmt.Errorf("%w: process_vm_readv: %w", btl.ErrNotSupported, err)
	}
}

// copyPiece bounds one system call: the goroutine cannot be stopped inside, and a long stop would stop the world.
const copyPiece = 1 << 20

// readPeer copies n bytes at address remote of process pid to local.
func readPeer(pid int, local unsafe.Pointer, remote uint64, n int) error {
	for n > 0 {
		k := min(n, copyPiece)
		to := unix.Iovec{Base: (*byte)(local), Len: uint64(k)}
		from := unix.RemoteIovec{Base: uintptr(remote), Len: k}
		got, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid), uintptr(unsafe.Pointer(&to)), 1, uintptr(unsafe.Pointer(&from)), 1, 0)
		if errno != 0 {
			return errno
		}
		if got == 0 {
			return unix.EFAULT
		}
		if n -= int(got); n > 0 { // a pointer past the end would be none of this memory
			local = unsafe.Add(local, int(got))
			remote += uint64(got)
		}
	}
	return nil
}
