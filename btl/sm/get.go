package sm

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl"
)

// source is where a transfer's bytes are: an address of this process, or of the peer's.
type source struct {
	here   unsafe.Pointer
	there  uint64
	mapped bool // here, which is the peer's memory
}

// source checks a transfer's range, and finds its bytes.
func (ep *endpoint) source(t *btl.Transfer) (source, error) {
	if ep.m.shm.InProcess() {
		mem, err := ep.peer.Registered(uint32(t.Remote.A), uint32(t.Remote.B), t.Off, t.N)
		return source{here: mem}, err
	}
	addr, n := parseHandle(t.Remote)
	if t.Off < 0 || t.N < 0 || t.Off > n || t.N > n-t.Off {
		return source{}, fmt.Errorf("btl sm: range [%d,+%d) outside rank %d's memory of %d bytes", t.Off, t.N, ep.proc.Rank, n)
	}
	addr += uint64(t.Off)
	if ep.maps(t.Remote) {
		mem, err := ep.mapRemote(uint32(t.Remote.B>>handleBits), addr, t.N)
		if mem != nil || err != nil {
			return source{here: mem, mapped: true}, err
		}
	}
	if ep.noCopy != nil {
		return source{}, fmt.Errorf("%w: %w", btl.ErrNotSupported, ep.noCopy)
	}
	return source{there: addr}, nil
}

// Single copy. Between processes the receiver reads the sender's memory with process_vm_readv; between goroutine ranks it copies
// from a registered address. A process needs no registration for that: its handle is the address, and the kernel checks it. But who
// helps a receiver (help.go) must know its memory. Memory that can be mapped is just copied (region.go).

// Register implements btl.Registrar.
func (m *module) Register(mem unsafe.Pointer, n int64) (btl.MemHandle, error) {
	if m.shm.InProcess() {
		slot, gen := m.shm.Register(mem, n)
		return btl.MemHandle{A: uint64(slot), B: uint64(gen)}, nil
	}
	h, err := m.windows.add(mem, n)
	if err == nil {
		h.B |= uint64(m.shm.MemoryAt(mem, n)) << handleBits
	}
	return h, err
}

// Deregister implements btl.Registrar.
func (m *module) Deregister(h btl.MemHandle) {
	if m.shm.InProcess() {
		m.shm.Deregister(uint32(h.A), uint32(h.B))
		return
	}
	m.windows.remove(h)
}

// Get implements btl.Getter.
func (ep *endpoint) Get(t *btl.Transfer) (bool, error) {
	if t.Shared {
		if done, ok, err := ep.getShared(t); ok {
			return done, err
		}
	}
	return ep.move(t, unix.SYS_PROCESS_VM_READV)
}

// Put implements btl.Putter.
func (ep *endpoint) Put(t *btl.Transfer) (bool, error) {
	return ep.move(t, unix.SYS_PROCESS_VM_WRITEV)
}

// move carries a transfer out, by the system call that fits its direction where the peer is another process.
func (ep *endpoint) move(t *btl.Transfer, call uintptr) (bool, error) {
	at, err := ep.source(t)
	if err != nil {
		return false, err
	}
	if at.here != nil {
		from, to := at.here, t.Local
		if call != unix.SYS_PROCESS_VM_READV {
			from, to = to, from
		}
		copyPieces(to, from, t.N)
		ep.count(at, t.N)
		return true, nil
	}
	err = ep.copyError(copyPeer(call, ep.peer.PID(), t.Local, at.there, int(t.N)))
	return err == nil, err
}

// copyError says what the kernel's refusal to copy means.
func (ep *endpoint) copyError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ESRCH):
		return fmt.Errorf("process %d of rank %d has ended", ep.peer.PID(), ep.proc.Rank)
	default:
		// The trial worked, and yet: perhaps this very memory cannot be read (EFAULT), perhaps the peer dropped its permissions.
		return fmt.Errorf("%w: process_vm_readv or writev: %w", btl.ErrNotSupported, err)
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
