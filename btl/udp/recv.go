package udp

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// rxBatch is how many datagrams one system call reads at most, or as many rows of them that the kernel has joined. More only leave
	// the caches before they are looked at.
	rxBatch = 8
	rxSize  = 64 << 10
	// passMax is how many system calls one pass makes for one socket before it looks at something else.
	passMax = 8
	// coldAfter is how many reads in a row may find nothing before a socket is left to the epoll set; some hundred microseconds.
	coldAfter = 1024
)

// receiver is the memory that datagrams are read into, of all sockets.
type receiver struct {
	msgs  [rxBatch]mmsghdr
	iovs  [rxBatch]unix.Iovec
	names [rxBatch]unix.RawSockaddrInet6
	ctrl  [rxBatch][64]byte
	bufs  [rxBatch][]byte
}

func newReceiver() *receiver {
	r := &receiver{}
	for i := range r.msgs {
		r.bufs[i] = make([]byte, rxSize)
		r.iovs[i].Base = &r.bufs[i][0]
		r.iovs[i].SetLen(rxSize)
		h := &r.msgs[i].hdr
		h.Name, h.Iov, h.Control = (*byte)(unsafe.Pointer(&r.names[i])), &r.iovs[i], &r.ctrl[i][0]
		h.SetIovlen(1)
	}
	return r
}

// Ready is the epoll set's call.
func (s *socket) Ready(uint32) {
	s.hot, s.misses = true, 0
	s.m.source.On()
	if !s.m.inPass {
		s.m.inPass = true
		s.m.finish(s.receive())
	}
}

// receive reads until the socket is empty, or enough for one pass, and returns how many datagrams came.
func (s *socket) receive() (n int) {
	m := s.m
	if m.rx == nil {
		m.rx = newReceiver()
	}
	r := m.rx
	for range passMax {
		for i := range r.msgs {
			h := &r.msgs[i].hdr
			h.Namelen, h.Flags = unix.SizeofSockaddrInet6, 0
			h.SetControllen(len(r.ctrl[i]))
		}
		got, errno := recvmmsgRaw(s.fd, &r.msgs[0], rxBatch)
		if errno != 0 {
			if errno == unix.EINTR {
				continue
			}
			break // EAGAIN; other errors are of datagrams sent, and read with the next call
		}
		m.now = m.clock()
		for i := range got {
			if m.closed {
				return n
			}
			n += m.came(s, &r.names[i], r.bufs[i][:r.msgs[i].n], segmentOf(&r.msgs[i].hdr))
		}
		if got < rxBatch {
			break
		}
	}
	return n
}

// segmentOf is the size of the datagrams that the kernel has joined; 0: it is one.
func segmentOf(h *unix.Msghdr) int {
	if h.Controllen < unix.SizeofCmsghdr {
		return 0
	}
	c := (*unix.Cmsghdr)(unsafe.Pointer(h.Control))
	if c.Level != unix.SOL_UDP || c.Type != unix.UDP_GRO {
		return 0
	}
	at := unix.CmsgLen(0)
	return int(int32(binary.NativeEndian.Uint32(unsafe.Slice(h.Control, at+4)[at:])))
}

// came takes datagrams of one sender and returns how many there were.
func (m *module) came(s *socket, name *unix.RawSockaddrInet6, b []byte, segment int) (n int) {
	if segment <= 0 {
		segment = max(1, len(b))
	}
	for {
		k := min(segment, len(b))
		m.datagram(s, name, b[:k:k])
		n++
		if b = b[k:]; len(b) == 0 || m.closed {
			return n
		}
	}
}

// datagram takes one datagram.
func (m *module) datagram(s *socket, name *unix.RawSockaddrInet6, b []byte) {
	m.stats.PacketsIn++
	m.stats.WireBytesIn += uint64(len(b))
	if isGreeting(b) {
		m.greeted(s, addrOf(name), b)
		return
	}
	var p packet
	if err := p.parse(b); err != nil {
		m.stranger(addrOf(name), err.Error())
		return
	}
	var ep *endpoint
	if p.from < uint32(len(m.eps)) {
		ep = m.eps[p.from]
	}
	if ep == nil || ep.conn == nil || ep.conn.recvID != p.id {
		m.stats.Strays++ // damaged, or of a connection that is no more
		return
	}
	c := ep.conn
	if !intact(c.recvKey, b) {
		m.stats.BadSums++
		return
	}
	if ep.err != nil {
		if p.kind != kindClose && !m.closed {
			c.transmit(kindClose, c.sent, nil, nil, 0) // it need not go on asking
		}
		return
	}
	if !c.up {
		ep.connected() // only who has heard the proof knows the key: the accept is late
	}
	if p.kind == kindClose && !c.closing {
		c.closing, c.closeAt, c.closeNo = true, m.now, p.number
	}
	if err := c.input(&p, b[headSize:], m.now); err != nil {
		c.violated(err)
		return
	}
	m.work(ep)
}
