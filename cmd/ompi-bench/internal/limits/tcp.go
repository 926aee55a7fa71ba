package limits

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const messageBytes = 8

// listen opens a socket on the loopback interface and returns it with its port.
func listen() (fd, port int, err error) {
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, 0, os.NewSyscallError("socket", err)
	}
	if err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err == nil {
		err = unix.Listen(fd, 1)
	}
	var name unix.Sockaddr
	if err == nil {
		name, err = unix.Getsockname(fd)
	}
	if err != nil {
		unix.Close(fd)
		return -1, 0, fmt.Errorf("limits: listen on loopback: %w", err)
	}
	return fd, name.(*unix.SockaddrInet4).Port, nil
}

// accept waits, but not for ever, for the child's connection.
func accept(listener int) (int, error) {
	ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
	deadline := time.Now().Add(patience)
	for {
		n, err := unix.Poll(ready, int(max(0, time.Until(deadline).Milliseconds())))
		if n > 0 {
			break
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return -1, os.NewSyscallError("poll", err)
		}
		if !time.Now().Before(deadline) {
			return -1, fmt.Errorf("limits: %w", errSilent)
		}
	}
	fd, _, err := unix.Accept4(listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("accept", err)
	}
	return fd, noDelay(fd)
}

func dial(port int) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return -1, os.NewSyscallError("connect", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return -1, os.NewSyscallError("fcntl", err)
	}
	return fd, noDelay(fd)
}

func noDelay(fd int) error {
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
}

// errClosed is the end of the conversation.
var errClosed = errors.New("connection closed")

// readFull spins on a raw read until the message is whole. A raw call keeps the Go scheduler out of the measurement.
func readFull(fd int, b *[messageBytes]byte, deadline time.Time) error {
	got := 0
	for polls := 1; got < messageBytes; polls++ {
		n, _, e := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[got])), uintptr(messageBytes-got))
		switch {
		case e == 0 && n == 0:
			return errClosed
		case e == 0:
			got += int(n)
		case e != syscall.EAGAIN && e != syscall.EINTR:
			return os.NewSyscallError("read", e)
		case polls%(1<<16) == 0 && time.Now().After(deadline):
			return errSilent
		}
	}
	return nil
}

func writeFull(fd int, b *[messageBytes]byte) error {
	n, _, e := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), messageBytes)
	if e != 0 {
		return os.NewSyscallError("write", e)
	}
	if n != messageBytes {
		return errors.New("write: the socket took part of eight bytes")
	}
	return nil
}

// tcp is the microseconds that eight bytes take one way between two processes.
func (c *child) tcp() (float64, error) {
	const rounds = 2000
	c.stopHops()
	var b [messageBytes]byte
	deadline := time.Now().Add(patience)
	start := time.Now()
	for range rounds {
		if err := writeFull(c.fd, &b); err != nil {
			return 0, err
		}
		if err := readFull(c.fd, &b, deadline); err != nil {
			return 0, err
		}
	}
	return time.Since(start).Seconds() * 1e6 / (2 * rounds), nil
}

// echo is the child's side: it ends when the parent closes.
func echo(fd int) error {
	var b [messageBytes]byte
	deadline := time.Now().Add(patience)
	for {
		if err := readFull(fd, &b, deadline); err != nil {
			if errors.Is(err, errClosed) || errors.Is(err, syscall.ECONNRESET) {
				return nil
			}
			return err
		}
		if err := writeFull(fd, &b); err != nil {
			return err
		}
	}
}
