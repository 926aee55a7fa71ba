package progress

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pause is what the agent blocks on: a timer as fine as the kernel's (the runtime's, in an idle process, are of whole
// milliseconds), a bell, and the engine's epoll set, all in one set. The engine's own bell and set are the drivers', one of whom may be asleep over
// them. An agent with a thread of its own blocks in the kernel: being woken by way of the netpoller, as the others are, costs several times as much.
type pause struct {
	set, timer, bell int
	engine           int      // the engine's epoll set that is in ours, -1: none yet
	file             *os.File // the set as the netpoller sees it, nil: it does not
	conn             syscall.RawConn
}

// newPause makes the descriptors, for an agent with a thread of its own or without.
func newPause(own bool) (p *pause, err error) {
	p = &pause{set: -1, timer: -1, bell: -1, engine: -1}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.set, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("progress: epoll_create1: %w", err)
	}
	if p.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("progress: timerfd_create: %w", err)
	}
	if p.bell, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("progress: eventfd: %w", err)
	}
	for _, fd := range []int{p.timer, p.bell} {
		if err = p.control(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN); err != nil {
			return nil, err
		}
	}
	if own {
		return p, nil
	}
	if err = unix.SetNonblock(p.set, true); err != nil {
		return nil, fmt.Errorf("progress: O_NONBLOCK on an epoll set: %w", err)
	}
	p.file = os.NewFile(uintptr(p.set), "progress-agent")
	if p.conn, err = p.file.SyscallConn(); err != nil {
		return nil, fmt.Errorf("progress: epoll set of the agent: %w", err)
	}
	return p, nil
}

func (p *pause) control(op, fd int, events uint32) error {
	ev := unix.EpollEvent{Events: events, Fd: int32(fd)}
	if err := unix.EpollCtl(p.set, op, fd, &ev); err != nil {
		return fmt.Errorf("progress: epoll_ctl: %w", err)
	}
	return nil
}

// watch has the next thing that the engine's descriptors tell end a block, if there are any. The caller holds the token.
func (p *pause) watch(s *fdSet) error {
	if s.file == nil {
		return nil
	}
	op := unix.EPOLL_CTL_MOD
	if p.engine != s.epfd {
		op = unix.EPOLL_CTL_ADD
	}
	if err := p.control(op, s.epfd, unix.EPOLLIN|unix.EPOLLONESHOT); err != nil {
		return err
	}
	p.engine = s.epfd
	return nil
}

// after ends the block d from now; d < 0: no timer does.
func (p *pause) after(d time.Duration) {
	var at unix.ItimerSpec
	if d >= 0 {
		at.Value = unix.NsecToTimespec(int64(max(d, 1)))
	}
	_ = unix.TimerfdSettime(p.timer, 0, &at, nil) // fails for arguments that are not these
}

// ring ends the block.
func (p *pause) ring() {
	one := [8]byte{1}
	_, _ = unix.Write(p.bell, one[:]) // EAGAIN: it rings already
}

// pauseHeld is for how many milliseconds a block keeps the processor of the Go scheduler.
const pauseHeld = 5

// block waits for the timer or the bell, and while asleep says that it is the agent that sleeps for the engine, for the engine's descriptors, too. It
// reports whether it was not the timer alone that ended it.
func (p *pause) block(asleep *atomic.Uint32) (rung bool) {
	var ev [3]unix.EpollEvent
	if p.conn != nil {
		_ = p.conn.Read(func(fd uintptr) (stop bool) { // fails when the set was closed, which is after the agent's end
			n, errno := epollWaitRaw(int(fd), ev[:])
			if errno != 0 {
				return errno != unix.EINTR
			}
			stop, rung = p.came(ev[:n], asleep)
			return stop
		})
		return rung
	}
	for held := true; ; {
		var n int
		var err error
		if held {
			var errno syscall.Errno
			n, errno = epollWaitHolding(p.set, ev[:], pauseHeld)
			held = errno != 0 || n > 0 // a signal came
		} else if n, err = unix.EpollWait(p.set, ev[:], -1); err != nil && err != unix.EINTR {
			return false
		}
		if stop, rung := p.came(ev[:max(n, 0)], asleep); stop {
			return rung
		}
	}
}

// came takes note of what has come, and tells whether the block ends.
func (p *pause) came(events []unix.EpollEvent, asleep *atomic.Uint32) (stop, rung bool) {
	for _, ev := range events {
		var b [8]byte
		switch int(ev.Fd) {
		case p.timer, p.bell:
			_, _ = unix.Read(int(ev.Fd), b[:]) // what is read, or not, is of no interest
			stop = true
			rung = rung || int(ev.Fd) == p.bell
		default:
			engine := asleep.Load() == onAgent
			stop, rung = stop || engine, rung || engine
		}
	}
	return stop, rung
}

func (p *pause) close() {
	if p.file != nil {
		p.file.Close()
		p.set = -1
	}
	for _, fd := range []int{p.set, p.timer, p.bell} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}
