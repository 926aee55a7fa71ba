package udp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	batchPackets  = 64
	batchMessages = 16
	// gsoMost is the most that one message of several datagrams may have, in bytes; the kernel allows 64 datagrams.
	gsoMost = 65000
)

// mmsghdr is the kernel's.
type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32
	_   [4]byte
}

// batch is packets on their way to the kernel: they are handed over together, by one system call. Packets of equal size to one peer are one
// message that the kernel cuts (GSO), where offload says so. It is always flushed before memory that it refers to can change.
type batch struct {
	m       *module
	sock    *socket
	packets int
	heads   [batchPackets][headSize]byte
	conns   [batchPackets]*conn
	numbers [batchPackets]uint64 // of data packets; else noNumber
	iovs    [3 * batchPackets]unix.Iovec
	niov    int

	messages int
	msgs     [batchMessages]mmsghdr
	first    [batchMessages + 1]int // packet of each message
	ctrl     [batchMessages][24]byte
	segment  int // size of the packets of the last message
	size     int // of the last message; when it is no multiple of segment, nothing may be added
}

const noNumber = ^uint64(0)

// transmit implements host.
func (c *conn) transmit(kind kind, number uint64, buf []byte, data unsafe.Pointer, n int) bool {
	m, b := c.m, &c.m.batch
	if c.sock.full {
		return false
	}
	if b.packets == batchPackets || b.packets > 0 && b.sock != c.sock {
		if b.flush(); c.sock.full {
			return false
		}
	}
	if kind == kindAck && c.heldWords() > 0 {
		buf = m.ackBits(c)
	}
	p := packet{id: c.sendID, from: uint32(m.job.Rank()), window: m.window}
	c.head(&p, kind, number, m.now)
	head := b.heads[b.packets][:]
	p.put(head)
	sum := crc32.Update(c.sendKey, castagnoli, head)
	if len(buf) > 0 {
		sum = crc32.Update(sum, castagnoli, buf)
	}
	if n > 0 {
		sum = crc32.Update(sum, castagnoli, unsafe.Slice((*byte)(data), n))
	}
	binary.LittleEndian.PutUint32(head[4:], sum)
	m.stats.Packets++
	m.stats.WireBytes += uint64(headSize + len(buf) + n)
	if m.inject != nil {
		m.inject.send(c, head, buf, data, n)
		return true
	}
	b.sock = c.sock
	if kind != kindData {
		number = noNumber
	}
	b.add(c, number, buf, data, n)
	if kind != kindData && len(buf) > 0 {
		b.flush() // the bits are made anew for the next
	}
	return true
}

// ackBits makes the body of an acknowledgement: the selective bits that have no room in the head.
func (m *module) ackBits(c *conn) []byte {
	words := c.heldWords()
	if cap(m.bits) < 8*words {
		m.bits = make([]byte, 8*words)
	}
	m.bits = m.bits[:8*words]
	for i := range words {
		binary.LittleEndian.PutUint64(m.bits[8*i:], c.held64(i+1))
	}
	return m.bits
}

// add puts the packet, whose head lies in its place already, into the batch.
func (b *batch) add(c *conn, number uint64, buf []byte, data unsafe.Pointer, n int) {
	size := headSize + len(buf) + n
	i := b.packets
	b.conns[i], b.numbers[i] = c, number
	if b.messages == 0 || !b.joins(c, size) {
		if b.messages == batchMessages {
			// The head is in the place of packet i, and moves to that of the first.
			head := b.heads[i]
			b.flush()
			i = 0
			b.heads[0], b.conns[0], b.numbers[0] = head, c, number
			b.sock = c.sock
		}
		k := b.messages
		b.messages++
		b.first[k] = i
		h := &b.msgs[k].hdr
		*h = unix.Msghdr{Name: (*byte)(unsafe.Pointer(&c.name)), Namelen: c.nameLen, Iov: &b.iovs[b.niov]}
		b.segment, b.size = size, 0
	}
	b.packets = i + 1
	b.size += size
	start := b.niov
	b.iov(&b.heads[i][0], headSize)
	if len(buf) > 0 {
		b.iov(&buf[0], len(buf))
	}
	if n > 0 {
		b.iov((*byte)(data), n)
	}
	h := &b.msgs[b.messages-1].hdr
	h.SetIovlen(int(h.Iovlen) + b.niov - start)
	if b.size > b.segment && h.Control == nil {
		ctrl := &b.ctrl[b.messages-1]
		cm := (*unix.Cmsghdr)(unsafe.Pointer(ctrl))
		cm.Level, cm.Type = unix.SOL_UDP, unix.UDP_SEGMENT
		cm.SetLen(unix.CmsgLen(2))
		binary.NativeEndian.PutUint16(ctrl[unix.CmsgLen(0):], uint16(b.segment))
		h.Control = &ctrl[0]
		h.SetControllen(unix.CmsgSpace(2))
	}
}

// joins reports whether a packet goes with the last message, as one more segment.
func (b *batch) joins(c *conn, size int) bool {
	return c.sock.gso && b.conns[b.first[b.messages-1]] == c && b.size%b.segment == 0 && size <= b.segment && b.size+size <= gsoMost
}

func (b *batch) iov(p *byte, n int) {
	b.iovs[b.niov].Base = p
	b.iovs[b.niov].SetLen(n)
	b.niov++
}

// flush hands everything over. What the kernel does not take is given back to its flow, as lost.
func (b *batch) flush() {
	if b.packets == 0 {
		return
	}
	done := 0
	for done < b.messages {
		n, errno := sendmmsgRaw(b.sock.fd, &b.msgs[done], b.messages-done)
		if errno == 0 {
			done += n
			continue
		}
		if errno == unix.EINTR {
			continue
		}
		if errno == unix.EAGAIN || errno == unix.ENOBUFS {
			b.m.stats.Full++
			b.sock.full = true
			break
		}
		h := &b.msgs[done].hdr
		if h.Control != nil && b.sock.gso { // the kernel or the device does not do it; the packets go one by one
			b.sock.gso = false
			break
		}
		b.refused(errno)
		done++ // as if lost on the way
	}
	b.first[b.messages] = b.packets
	packets := b.first[done]
	unsent := b.packets
	clear(b.iovs[:b.niov])
	b.packets, b.messages, b.niov = 0, 0, 0
	for i := packets; i < unsent; i++ {
		if c := b.conns[i]; b.numbers[i] != noNumber {
			c.unsent(b.numbers[i])
		} else {
			c.ackNow = true
		}
		b.m.work(b.conns[i].ep)
	}
}

// refused says that the kernel refuses datagrams.
func (b *batch) refused(errno syscall.Errno) {
	b.m.stats.Refusals++
	if !errors.Is(errno, unix.ECONNREFUSED) {
		b.m.env.Upcalls.Say("btl_udp_send", fmt.Sprintf("btl udp: the kernel refuses datagrams from %s, which count as lost: %v", b.sock.addr, errno))
	}
}

func sendmmsgRaw(fd int, p *mmsghdr, n int) (int, syscall.Errno) {
	r, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(p)), uintptr(n), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return int(r), errno
}

func recvmmsgRaw(fd int, p *mmsghdr, n int) (int, syscall.Errno) {
	r, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(p)), uintptr(n), unix.MSG_DONTWAIT, 0, 0)
	return int(r), errno
}
