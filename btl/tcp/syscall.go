package tcp

import (
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls of the hot path are raw: on a non-blocking socket they do not sleep, and telling the scheduler would cost more than
// many of them do. What they may copy at once is bounded (maxIO), so that the garbage collector never waits long for one.

// maxIO is the most that one system call moves, in bytes. A 1 MiB copy takes some 200 µs.
const maxIO = 1 << 20

func recvRaw(fd int, p *byte, n int) (int, syscall.Errno) {
	r, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(p)), uintptr(n), unix.MSG_DONTWAIT, 0, 0)
	return int(r), errno
}

func sendRaw(fd int, p *byte, n int) (int, syscall.Errno) {
	r, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(p)), uintptr(n), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return int(r), errno
}

func readvRaw(fd int, iov *unix.Iovec, n int) (int, syscall.Errno) {
	r, _, errno := unix.RawSyscall(unix.SYS_READV, uintptr(fd), uintptr(unsafe.Pointer(iov)), uintptr(n))
	return int(r), errno
}

func sendmsgRaw(fd int, msg *unix.Msghdr) (int, syscall.Errno) {
	r, _, errno := unix.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(msg)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	return int(r), errno
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

func addrPort(sa unix.Sockaddr) netip.AddrPort {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr).Unmap(), uint16(sa.Port))
	}
	return netip.AddrPort{}
}

func newSocket(a netip.Addr) (int, error) {
	family := unix.AF_INET
	if a.Is6() {
		family = unix.AF_INET6
	}
	return unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
}

// tune sets what the parameters ask of a connection's socket. Buffer sizes count from before the connection is made, so that
// they take part in the choice of the window.
func tune(fd int, o *options) error {
	set := func(level, opt, value int) error { return unix.SetsockoptInt(fd, level, opt, value) }
	if !o.UseNagle {
		if err := set(unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			return err
		}
	}
	if idle, interval, count := o.keepalive(); idle > 0 {
		for _, s := range [...]struct{ level, opt, value int }{
			{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
			{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, idle},
			{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, interval},
			{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, count},
		} {
			if err := set(s.level, s.opt, s.value); err != nil {
				return err
			}
		}
	}
	return tuneBuffers(fd, o)
}

func tuneBuffers(fd int, o *options) error {
	if o.Sndbuf > 0 {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, o.Sndbuf); err != nil {
			return err
		}
	}
	if o.Rcvbuf > 0 {
		return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, o.Rcvbuf)
	}
	return nil
}

// tuneLoopback bounds what is under way in a connection inside this host: more only lets data leave the caches before it is read.
// The receive side is bounded by its window, since SO_RCVBUF is cut to a limit of the system's that is often far too small.
func tuneLoopback(fd int, o *options) {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return
	}
	inside := false
	switch a := sa.(type) {
	case *unix.SockaddrInet4:
		inside = a.Addr[0] == 127
	case *unix.SockaddrInet6:
		inside = netip.AddrFrom16(a.Addr).IsLoopback()
	}
	if !inside {
		return
	}
	// Without these it is slower, nothing worse: errors say nothing.
	if o.Sndbuf == 0 && o.SndbufLoopback > 0 {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, o.SndbufLoopback)
	}
	if o.Rcvbuf == 0 && o.WindowLoopback > 0 {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_WINDOW_CLAMP, o.WindowLoopback)
	}
}

// unsent is how many bytes the peer's kernel has not acknowledged.
func unsent(fd int) int {
	n, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
	if err != nil {
		return 0
	}
	return n
}
