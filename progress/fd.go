package progress

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// FDHandler is told that its file descriptor is ready; events are EPOLL bits. It is called with the token held.
type FDHandler interface{ Ready(events uint32) }

// FD names a registered file descriptor.
type FD struct {
	fd   int
	slot int
}

// fdSet is one epoll set. While the engine is polled it is asked with a zero timeout; when the engine sleeps, the set itself is
// watched by the Go netpoller, so that sleeping costs no thread.
type fdSet struct {
	epfd     int
	file     *os.File // the epoll set as the netpoller sees it
	conn     syscall.RawConn
	bell     int  // eventfd in the set: rings the sleeper from inside the process
	keepBell bool // who polls is not the driver, which may be asleep: the ring is for it
	slots    []fdSlot
	free     []int
	live     int    // registered descriptors, the bell not counted
	every    uint32 // passes between polls of the set, a power of two
	buf      [32]unix.EpollEvent
}

type fdSlot struct {
	fd  int
	gen int32
	h   FDHandler
}

const bellSlot = -1

// The epoll set is made with the first descriptor: engines of goroutine ranks need none.
func (s *fdSet) init() (err error) {
	if s.file != nil {
		return nil
	}
	epfd, bell := -1, -1
	defer func() {
		if err == nil {
			return
		}
		if s.file != nil { // it owns the epoll set
			s.file.Close()
			s.file, epfd = nil, -1
		}
		for _, fd := range []int{epfd, bell} {
			if fd >= 0 {
				unix.Close(fd)
			}
		}
	}()
	if epfd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("progress: epoll_create1: %w", err)
	}
	if bell, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("progress: eventfd: %w", err)
	}
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: bellSlot}
	if err = unix.EpollCtl(epfd, unix.EPOLL_CTL_ADD, bell, &ev); err != nil {
		return fmt.Errorf("progress: epoll_ctl: %w", err)
	}
	// os.NewFile hands a descriptor to the netpoller when it is in non-blocking mode.
	if err = unix.SetNonblock(epfd, true); err != nil {
		return fmt.Errorf("progress: O_NONBLOCK on an epoll set: %w", err)
	}
	s.file = os.NewFile(uintptr(epfd), "progress-epoll")
	if s.conn, err = s.file.SyscallConn(); err != nil {
		return fmt.Errorf("progress: epoll set: %w", err)
	}
	s.epfd, s.bell = epfd, bell
	return nil
}

func (s *fdSet) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	unix.Close(s.bell)
	// Their numbers may soon be somebody else's.
	s.file, s.conn, s.epfd, s.bell = nil, nil, -1, -1
	return err
}

// AddFD watches fd (non-blocking) for events, such as EPOLLIN. The caller holds the token and keeps ownership of fd.
func (e *Engine) AddFD(fd int, events uint32, h FDHandler) (FD, error) {
	s := &e.fds
	if err := s.init(); err != nil {
		return FD{}, err
	}
	var slot int
	if n := len(s.free); n > 0 {
		slot = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		slot = len(s.slots)
		s.slots = append(s.slots, fdSlot{})
	}
	g := s.slots[slot].gen + 1
	ev := unix.EpollEvent{Events: events, Fd: int32(slot), Pad: g}
	if err := unix.EpollCtl(s.epfd, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		s.free = append(s.free, slot)
		return FD{}, fmt.Errorf("progress: watching descriptor %d: %w", fd, err)
	}
	s.slots[slot] = fdSlot{fd: fd, gen: g, h: h}
	s.live++
	e.Wake() // a driver asleep on the bell alone must come to sleep on the set
	return FD{fd: fd, slot: slot}, nil
}

// ModFD changes the events watched. The caller holds the token.
func (e *Engine) ModFD(f FD, events uint32) error {
	ev := unix.EpollEvent{Events: events, Fd: int32(f.slot), Pad: e.fds.slots[f.slot].gen}
	return unix.EpollCtl(e.fds.epfd, unix.EPOLL_CTL_MOD, f.fd, &ev)
}

// RemoveFD stops watching; call it before closing fd. The caller holds the token.
func (e *Engine) RemoveFD(f FD) {
	s := &e.fds
	if s.slots[f.slot].h == nil || s.slots[f.slot].fd != f.fd {
		return
	}
	_ = unix.EpollCtl(s.epfd, unix.EPOLL_CTL_DEL, f.fd, nil) // it may be closed already
	s.slots[f.slot].h = nil
	s.free = append(s.free, f.slot)
	s.live--
}

// PollFDsEvery sets how many passes lie between looks at the file descriptors (rounded up to a power of two, at least 1). The
// least asked for holds. The caller holds the token.
func (e *Engine) PollFDsEvery(n uint32) {
	p := uint32(1)
	for p < n {
		p <<= 1
	}
	if p < e.fds.every {
		e.fds.every = p
	}
}

// poll dispatches what is ready, without blocking.
func (s *fdSet) poll() int {
	n, err := epollWaitRaw(s.epfd, s.buf[:])
	if err != 0 {
		return 0
	}
	handled := 0
	for i := range n {
		ev := s.buf[i]
		if ev.Fd == bellSlot {
			if !s.keepBell {
				s.drain()
			}
			continue
		}
		if int(ev.Fd) >= len(s.slots) {
			continue
		}
		if slot := &s.slots[ev.Fd]; slot.h != nil && slot.gen == ev.Pad {
			slot.h.Ready(ev.Events)
			handled++
		}
	}
	return handled
}

// block waits until the set is ready, or the timeout (< 0: none) has passed, and reports whether the set is ready.
func (s *fdSet) block(timeout time.Duration) bool {
	var deadline time.Time
	if timeout >= 0 {
		deadline = time.Now().Add(timeout)
	}
	if err := s.file.SetReadDeadline(deadline); err != nil {
		return false // closed: the caller looks at its condition again
	}
	var probe [1]unix.EpollEvent
	err := s.conn.Read(func(fd uintptr) bool {
		n, errno := epollWaitRaw(int(fd), probe[:])
		return errno != 0 || n > 0
	})
	return err == nil // else the time is up, or the set was closed
}

func (s *fdSet) ring() {
	one := [8]byte{1}
	_, _ = unix.Write(s.bell, one[:]) // EAGAIN: the bell rings already
}

func (s *fdSet) drain() {
	var b [8]byte
	_, _ = unix.Read(s.bell, b[:]) // EAGAIN: nothing rang
}
