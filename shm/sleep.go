package shm

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Sleeping across processes. The sleeper publishes asleep, then looks at its rings once more; a sender writes its message, then
// looks at asleep. Each must see the other's write or its own must be seen: that takes a full barrier on both sides. Senders are
// many and hot, sleepers rare: where the kernel has membarrier(2) the sleeper runs the barrier on the senders' behalf, and senders
// need none. NeedFence says whether a sender must bring its own.

const (
	membarrierGlobalExpedited         = 1 << 1
	membarrierRegisterGlobalExpedited = 1 << 2
)

func membarrier(cmd uintptr) error {
	if _, _, errno := unix.RawSyscall(unix.SYS_MEMBARRIER, cmd, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// bell is the address of a peer's doorbell.
type bell struct{ addr unix.SockaddrUnix }

// bellName is in the abstract namespace: it vanishes with its owner.
func (d *Domain) bellName(rank int) string {
	return fmt.Sprintf("@ompi-go/%s/%d/%s", d.job.ID(), rank, d.called("bell"))
}

// NeedFence reports whether a sender must order its message before its look at the receiver's sleep by a full barrier of its
// own: a kernel without membarrier, and goroutine ranks (whose stores are sequentially consistent anyway).
func (d *Domain) NeedFence() bool { return d.seg == nil || d.seg.noMembarrier }

// Arm publishes that this rank sleeps (progress.Sleeper).
func (d *Domain) Arm() {
	if d.seg == nil || d.closed { // a closed domain's memory is no longer mapped
		return
	}
	d.ctl.asleep.Store(1)
	if !d.seg.noMembarrier {
		_ = membarrier(membarrierGlobalExpedited) // it was tried at Open
	}
}

// Disarm takes it back.
func (d *Domain) Disarm() {
	if d.seg != nil && !d.closed {
		d.ctl.asleep.Store(0)
	}
}

// openBell makes the doorbell: a datagram socket that wakes the engine's epoll set.
func (d *Domain) openBell() error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("shm: doorbell: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: d.bellName(d.job.Rank())}); err != nil {
		unix.Close(fd)
		return fmt.Errorf("shm: doorbell: %w", err)
	}
	w, err := d.engine.AddFD(fd, unix.EPOLLIN, (*bellDrain)(d))
	if err != nil {
		unix.Close(fd)
		return err
	}
	d.seg.bell, d.seg.bellFD = fd, w
	return nil
}

type bellDrain Domain

// Ready empties the doorbell; the engine is awake by now.
func (b *bellDrain) Ready(uint32) {
	var buf [8]byte
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(b.seg.bell), ptr(&buf[0]), uintptr(len(buf)), unix.MSG_DONTWAIT, 0, 0)
		if errno != 0 || n == 0 {
			return
		}
	}
}

func (d *Domain) ringProcess(p *Peer) {
	// A full queue means that it rings already; a vanished socket, that the peer is gone, which its pidfd tells.
	_ = unix.Sendto(d.seg.bell, []byte{1}, unix.MSG_DONTWAIT, &p.bell.addr)
}
