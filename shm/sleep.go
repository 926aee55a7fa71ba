package shm

import (
	"fmt"
	"os"

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

// A doorbell is an eventfd, which the peers get hold of with the first ring, and a datagram socket for those that may not (pidfd_getfd(2) asks for the
// rights that reading each other's memory does). The eventfd is the better one: the kernel takes a datagram for a sign that its sender is about to
// sleep, and wakes the receiver on the sender's core, where it then stands in a queue behind a sender that computes on.

// bell is a peer's doorbell.
type bell struct {
	addr unix.SockaddrUnix
	fd   int // the eventfd, 0: not yet asked for, -1: not to be had
}

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

// openBell makes the doorbell, both ways of which wake the engine's epoll set.
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
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("shm: doorbell: eventfd: %w", err)
	}
	if w, err = d.engine.AddFD(event, unix.EPOLLIN, (*eventDrain)(d)); err != nil {
		unix.Close(event)
		return err
	}
	d.seg.event, d.seg.eventFD = event, w
	d.ctl.id.bell = uint32(event)
	return nil
}

// closeBell is its end.
func (d *Domain) closeBell() {
	if d.seg.bell >= 0 {
		d.engine.RemoveFD(d.seg.bellFD)
		unix.Close(d.seg.bell)
	}
	if d.seg.event >= 0 {
		d.engine.RemoveFD(d.seg.eventFD)
		unix.Close(d.seg.event)
	}
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

type eventDrain Domain

// Ready empties the doorbell; the engine is awake by now.
func (b *eventDrain) Ready(uint32) {
	var buf [8]byte
	_, _, _ = unix.RawSyscall(unix.SYS_READ, uintptr(b.seg.event), ptr(&buf[0]), uintptr(len(buf))) // EAGAIN: it is empty
}

func (d *Domain) ringProcess(p *Peer) {
	if p.bell.fd == 0 {
		p.bell.fd = p.fetchBell()
	}
	one := [8]byte{1}
	if p.bell.fd > 0 {
		_, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(p.bell.fd), ptr(&one[0]), uintptr(len(one)))
		if errno == 0 || errno == unix.EAGAIN {
			return
		}
	}
	// A full queue means that it rings already; a vanished socket, that the peer is gone, which its pidfd tells.
	_ = unix.Sendto(d.seg.bell, one[:1], unix.MSG_DONTWAIT, &p.bell.addr)
}

// fetchBell gets a descriptor of the peer's eventfd, -1 if that is not to be.
func (p *Peer) fetchBell() int {
	number := p.ctl.id.bell
	if number == 0 {
		return -1
	}
	process, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return -1
	}
	defer unix.Close(process)
	fd, err := unix.PidfdGetfd(process, int(number), 0)
	if err != nil {
		return -1
	}
	if name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err != nil || name != "anon_inode:[eventfd]" { // a write to anything else could do harm, or block
		unix.Close(fd)
		return -1
	}
	return fd
}
