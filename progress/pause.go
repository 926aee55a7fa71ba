package progress

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pause is what the agent blocks on: a timer as fine as the kernel's (the runtime's, in an idle process, are of whole
// milliseconds), a bell, and the engine's epoll set, all in one set that the Go netpoller watches. The engine's own bell and set are the
// drivers', one of whom may be asleep over them.
type pause struct {
	set, timer, bell int
	engine           int // the engine's epoll set that is in ours, -1: none yet
	file             *os.File
	conn             syscall.RawConn
}

// newPause makes the descriptors.
func newPause() (p *pause, err error) {
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
		if err = p.add(fd); err != nil {
			return nil, err
		}
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

func (p *pause) add(fd int) error {
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	if err := unix.EpollCtl(p.set, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return fmt.Errorf("progress: epoll_ctl: %w", err)
	}
	return nil
}

// watch has the engine's descriptors end a block, once there are any. The caller holds the token.
func (p *pause) watch(s *fdSet) error {
	if s.file == nil || p.engine == s.epfd {
		return nil
	}
	if err := p.add(s.epfd); err != nil {
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

// block waits for the timer or the bell, and if engine is set for the engine's descriptors, too. It reports whether it was not the timer
// alone that ended it.
func (p *pause) block(engine bool) (rung bool) {
	var ev [3]unix.EpollEvent
	_ = p.conn.Read(func(fd uintptr) bool { // fails when the set was closed, which is after the agent's end
		n, errno := epollWaitRaw(int(fd), ev[:])
		if errno != 0 {
			return errno != unix.EINTR
		}
		stop := false
		for i := range n {
			var b [8]byte
			switch int(ev[i].Fd) {
			case p.timer, p.bell:
				_, _ = unix.Read(int(ev[i].Fd), b[:]) // what is read, or not, is of no interest
				stop = true
				rung = rung || int(ev[i].Fd) == p.bell
			default:
				stop, rung = stop || engine, rung || engine
			}
		}
		return stop
	})
	return rung
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
