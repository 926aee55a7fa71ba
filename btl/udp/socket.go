package udp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl/inet"
	"github.com/ompi-go/ompi-go/progress"
)

// socket is bound to one of this process's addresses and serves all peers that are reached from there.
type socket struct {
	m        *module
	local    inet.Local
	addr     netip.AddrPort
	fd       int
	reg      progress.FD
	datagram int // largest sent
	room     int // what the kernel holds for us, by its own accounts
	gso      bool
	full     bool // the kernel takes no more until the next pass
	hot      bool // read in every pass
	misses   int  // reads in a row that found nothing
}

// Datagrams: what belongs to others in a packet of the network, and what is sent inside a host, where the interface takes 64 KiB.
const (
	overheadV4       = 28
	overheadV6       = 48
	loopbackDatagram = 62 << 10
	// offloadBelow is the size from which on cutting and joining by the kernel wins nothing.
	offloadBelow = 16 << 10
)

// bindSocket makes the socket of a local address. The token is held.
func (m *module) bindSocket(l inet.Local, mtu int) (*socket, error) {
	first, count, overhead, family := m.opts.PortMinV4, m.opts.PortRangeV4, overheadV4, unix.AF_INET
	if l.Prefix.Addr().Is6() {
		first, count, overhead, family = m.opts.PortMinV6, m.opts.PortRangeV6, overheadV6, unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	s := &socket{m: m, local: l, fd: fd}
	s.datagram = max(minDatagram, min(mtu-overhead, maxDatagram, loopbackDatagram))
	if m.opts.Datagram > 0 {
		s.datagram = m.opts.Datagram
	}
	s.tune(family)
	if err = s.bind(first, count); err == nil {
		var sa unix.Sockaddr
		if sa, err = unix.Getsockname(fd); err == nil {
			s.addr = addrPort(sa)
			s.reg, err = m.engine.AddFD(fd, unix.EPOLLIN, s)
		}
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("opening a socket on %s (%s), ports %d to %d: %w", l.Prefix.Addr(), l.Iface, first, first+count-1, err)
	}
	m.engine.PollFDsEvery(16)
	return s, nil
}

// tune asks the kernel for room and help. Without them it is slower, nothing worse: errors say nothing.
func (s *socket) tune(family int) {
	o := &s.m.opts
	for _, b := range [...]struct{ option, size int }{{unix.SO_SNDBUF, o.Sndbuf}, {unix.SO_RCVBUF, o.Rcvbuf}} {
		if b.size > 0 {
			_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, b.option, b.size)
		}
	}
	s.room = 64 << 10
	if n, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF); err == nil {
		s.room = n
	}
	// A datagram that is too long for a part of the way goes in pieces.
	if family == unix.AF_INET {
		_ = unix.SetsockoptInt(s.fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DONT)
	} else {
		_ = unix.SetsockoptInt(s.fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DONT)
		_ = unix.SetsockoptInt(s.fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
	}
	if o.Offload && s.datagram < offloadBelow {
		s.gso = unix.SetsockoptInt(s.fd, unix.SOL_UDP, unix.UDP_SEGMENT, 0) == nil
	}
	if o.Offload {
		_ = unix.SetsockoptInt(s.fd, unix.SOL_UDP, unix.UDP_GRO, 1)
	}
}

// bind takes the kernel's choice of a port when it lies in the range, else the first free one. Ranks begin at different places
// of the range, so that those of one host do not all try the same ports.
func (s *socket) bind(first, count int) error {
	a := s.local.Prefix.Addr()
	if first <= ephemeralFirst && first+count > ephemeralLast {
		return unix.Bind(s.fd, sockaddr(netip.AddrPortFrom(a, 0)))
	}
	start := s.m.job.Rank() % count
	for i := range count {
		err := unix.Bind(s.fd, sockaddr(netip.AddrPortFrom(a, uint16(first+(start+i)%count))))
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

// sendTo sends one datagram, if the kernel takes it now.
func (s *socket) sendTo(to netip.AddrPort, b []byte) {
	_ = unix.Sendto(s.fd, b, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, sockaddr(to)) // else it is lost, as it may be anyway
}

func (s *socket) close() {
	s.m.engine.RemoveFD(s.reg)
	unix.Close(s.fd)
}

// socketFor is the socket from which a candidate is called.
func (m *module) socketFor(c inet.Candidate) *socket {
	var any *socket
	for _, s := range m.sockets {
		switch a := s.local.Prefix.Addr(); {
		case a.Is4() != c.Remote.Addr().Is4() || s.local.Loopback != c.Remote.Addr().IsLoopback():
		case !c.Bind.IsValid() || a == c.Bind:
			return s
		default:
			any = s
		}
	}
	return any
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

// putAddr writes an address as the kernel reads it, and gives its length.
func putAddr(to *unix.RawSockaddrInet6, a netip.AddrPort) uint32 {
	*to = unix.RawSockaddrInet6{}
	port := (*[2]byte)(unsafe.Pointer(&to.Port)) // at the same place in both families
	binary.BigEndian.PutUint16(port[:], a.Port())
	if a.Addr().Is4() {
		to.Family = unix.AF_INET
		(*unix.RawSockaddrInet4)(unsafe.Pointer(to)).Addr = a.Addr().As4()
		return unix.SizeofSockaddrInet4
	}
	to.Family, to.Addr = unix.AF_INET6, a.Addr().As16()
	return unix.SizeofSockaddrInet6
}

// addrOf reads an address as the kernel writes it.
func addrOf(from *unix.RawSockaddrInet6) netip.AddrPort {
	port := binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&from.Port))[:])
	switch from.Family {
	case unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(from)).Addr), port)
	case unix.AF_INET6:
		return netip.AddrPortFrom(netip.AddrFrom16(from.Addr).Unmap(), port)
	}
	return netip.AddrPort{}
}
