package sm

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl"
)

// Single copy. Between processes the receiver reads the sender's memory with process_vm_readv; between goroutine ranks it copies
// from a registered address. A process needs no registration: its handle is the address, and the kernel checks it. Memory that can be
// mapped is just copied (region.go).

// Register implements btl.Registrar.
func (m *module) Register(mem unsafe.Pointer, n int64) (btl.MemHandle, error) {
	if m.shm.InProcess() {
		slot, gen := m.shm.Register(mem, n)
		return btl.MemHandle{A: uint64(slot), B: uint64(gen)}, nil
	}
	return m.handleOf(mem, n), nil
}

// Deregister implements btl.Registrar.
func (m *module) Deregister(h btl.MemHandle) {
	if m.shm.InProcess() {
		m.shm.Deregister(uint32(h.A), uint32(h.B))
	}
}

// Get implements btl.Getter.
func (ep *endpoint) Get(t *btl.Transfer) (bool, error) {
	if ok, err := ep.copyMapped(t, unix.SYS_PROCESS_VM_READV); ok {
		return err == nil, err
	}
	return ep.move(t, unix.SYS_PROCESS_VM_READV)
}

// Put implements btl.Putter.
func (ep *endpoint) Put(t *btl.Transfer) (bool, error) {
	if ok, err := ep.copyMapped(t, unix.SYS_PROCESS_VM_WRITEV); ok {
		return err == nil, err
	}
	return ep.move(t, unix.SYS_PROCESS_VM_WRITEV)
}

// move carries a transfer out, by the system call that fits its direction where the peer is another process.
func (ep *endpoint) move(t *btl.Transfer, call uintptr) (bool, error) {
	if ep.noCopy != nil {
		return false, fmt.Errorf("%w: %w", btl.ErrNotSupported, ep.noCopy)
	}
	if ep.m.shm.InProcess() {
		mem, err := ep.peer.Registered(uint32(t.Remote.A), uint32(t.Remote.B), t.Off, t.N)
		if err != nil {
			return false, err
		}
		theirs, ours := unsafe.Slice((*byte)(mem), t.N), unsafe.Slice((*byte)(t.Local), t.N)
		if call == unix.SYS_PROCESS_VM_READV {
			copy(ours, theirs)
		} else {
			copy(theirs, ours)
		}
		return true, nil
	}
	if err := ep.inside(t); err != nil {
		return false, err
	}
	err := copyPeer(call, ep.peer.PID(), t.Local, t.Remote.A+uint64(t.Off), int(t.N))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, unix.ESRCH):
		return false, fmt.Errorf("process %d of rank %d has ended", ep.peer.PID(), ep.proc.Rank)
	default:
		// The trial worked, and yet: perhaps this very memory cannot be read (EFAULT), perhaps the peer dropped its permissions.
		return false, fmt.Errorf("%w: process_vm_readv or writev: %w", btl.ErrNotSupported, err)
	}
}

// copyPiece bounds one system call: the goroutine cannot be stopped inside, and a long stop would stop the world.
const copyPiece = 1 << 20

// readPeer copies n bytes at address remote of process pid to local.
func readPeer(pid int, local unsafe.Pointer, remote uint64, n int) error {
	return copyPeer(unix.SYS_PROCESS_VM_READV, pid, local, remote, n)
}

// copyPeer copies n bytes between local and address remote of process pid.
func copyPeer(call uintptr, pid int, local unsafe.Pointer, remote uint64, n int) error {
	for n > 0 {
		k := min(n, copyPiece)
		to := unix.Iovec{Base: (*byte)(local), Len: uint64(k)}
		from := unix.RemoteIovec{Base: uintptr(remote), Len: k}
		got, _, errno := unix.RawSyscall6(call, uintptr(pid), uintptr(unsafe.Pointer(&to)), 1, uintptr(unsafe.Pointer(&from)), 1, 0)
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
