package tcp

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl/inet"
	"github.com/ompi-go/ompi-go/progress"
)

// listener accepts connections on one address.
type listener struct {
	m      *module
	local  inet.Local
	addr   netip.AddrPort
	fd     int
	reg    progress.FD
	paused bool // too many callers who have not said who they are
}

// backlog is how many connections the kernel holds for us; at start a whole job may call one rank.
const backlog = 4096

// listen opens a listener on l's address, on a port of the range the parameters allow. The token is held.
func (m *module) listen(l inet.Local) (*listener, error) {
	first, count := m.opts.PortMinV4, m.opts.PortRangeV4
	if l.Prefix.Addr().Is6() {
		first, count = m.opts.PortMinV6, m.opts.PortRangeV6
	}
	fd, err := newSocket(l.Prefix.Addr())
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	ln := &listener{m: m, local: l, fd: fd}
	if err = ln.bind(first, count); err == nil {
		// The sizes a connection is accepted with are the listener's.
		if err = tuneBuffers(fd, &m.opts); err == nil {
			err = unix.Listen(fd, backlog)
		}
	}
	if err == nil {
		var sa unix.Sockaddr
		if sa, err = unix.Getsockname(fd); err == nil {
			ln.addr = addrPort(sa)
			ln.reg, err = m.engine.AddFD(fd, unix.EPOLLIN, ln)
		}
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("listening on %s (%s), ports %d to %d: %w", l.Prefix.Addr(), l.Iface, first, first+count-1, err)
	}
	return ln, nil
}

// bind takes the kernel's choice of a port when it lies in the range, else the first free one. Ranks begin at different places
// of the range, so that those of one host do not all try the same ports.
func (ln *listener) bind(first, count int) error {
	a := ln.local.Prefix.Addr()
	if first <= ephemeralFirst && first+count > ephemeralLast {
		return unix.Bind(ln.fd, sockaddr(netip.AddrPortFrom(a, 0)))
	}
	start := ln.m.job.Rank() % count
	for i := range count {
		err := unix.Bind(ln.fd, sockaddr(netip.AddrPortFrom(a, uint16(first+(start+i)%count))))
		if err == nil || !errors.Is(err, unix.EADDRINUSE) && !errors.Is(err, unix.EACCES) {
			return err
		}
	}
	return errors.New("none of them is free")
}

// A range that includes all dynamic ports needs no search. Linux's are 32768 to 60999 unless configured otherwise; nobody makes
// them reach below 1024.
const (
	ephemeralFirst = 1024
	ephemeralLast  = 60999
)

// maxStrangers bounds the callers that have not yet proved who they are; the rest wait in the kernel.
const maxStrangers = 256

// Ready accepts callers.
func (ln *listener) Ready(uint32) {
	for range 64 { // so that a flood of callers does not keep the engine from the rest
		if ln.m.strangers >= maxStrangers {
			ln.pause(true)
			return
		}
		fd, sa, err := unix.Accept4(ln.fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case err == nil:
			ln.m.greet(fd, addrPort(sa))
		case errors.Is(err, unix.EINTR) || errors.Is(err, unix.ECONNABORTED):
		case errors.Is(err, unix.EAGAIN):
			return
		default:
			ln.m.env.Upcalls.Say("btl_tcp_accept", fmt.Sprintf("btl tcp: accepting a connection on %s: %v", ln.addr, err))
			return
		}
	}
}

func (ln *listener) pause(on bool) {
	if ln.paused == on {
		return
	}
	events := uint32(unix.EPOLLIN)
	if on {
		events = 0
	}
	if err := ln.m.engine.ModFD(ln.reg, events); err == nil {
		ln.paused = on
	}
}

func (ln *listener) close() {
	ln.m.engine.RemoveFD(ln.reg)
	unix.Close(ln.fd)
}
