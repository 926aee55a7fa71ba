package tcp

import (
	"encoding/binary"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/datatype"
)

const (
	maxInline = 2048      // payload of an inline message
	smallSize = 8 << 10   // inline messages that wait for room in the socket
	packSize  = 128 << 10 // a payload that is not contiguous is packed in pieces of this size
	inlineMin = frameSize + btl.InlineHeader
)

// txState is what the sending side of a link is doing.
type txState uint8

const (
	txClosed txState = iota // not up
	txIdle                  // everything is in the socket
	txSmall                 // small[smallOff:smallEnd] waits for room
	txFrag                  // frag waits for room, with a part of it sent
	txBroken                // the socket refused data; Poll will find out
)

// sending is the sending side of a link.
type sending struct {
	tx    txState
	txErr syscall.Errno // of txBroken
	armed bool          // the epoll set watches for room
	sent  uint32        // sequence number of the last message taken

	small              []byte
	smallOff, smallEnd int

	// Of frag, what is not sent: head[headOff:headLen], then pieceLen bytes at piece, then left bytes to be packed from conv.
	frag             *btl.Frag
	head             [frameSize + btl.HeaderMax]byte
	headOff, headLen int
	piece            unsafe.Pointer
	pieceLen, left   int
	conv             datatype.Convertor // the owner's cursor may move on while the fragment waits
	packed           []byte
	iov              [2]unix.Iovec
	msg              unix.Msghdr

	wantAck, wantBye bool // control frames to send when tx is idle
	byeOut           bool
}

// sendInline takes an inline message. The link is idle or has small messages waiting.
func (l *link) sendInline(tag btl.Tag, h0, h1 uint64, data unsafe.Pointer, n int) bool {
	size := inlineMin + n
	off := 0
	switch l.tx {
	case txIdle:
	case txSmall:
		if off = l.smallEnd; off+size > len(l.small) {
			return false
		}
	default:
		return false
	}
	if l.byeOut || l.win != nil && !l.win.room(l.sent) {
		return false
	}
	b := l.small[off : off+size]
	fr := frame{kind: frameActive, tag: tag, hdrLen: btl.InlineHeader, length: uint32(n), seq: l.sent + 1, ack: l.got}
	fr.put(b)
	binary.LittleEndian.PutUint64(b[frameSize:], h0)
	binary.LittleEndian.PutUint64(b[frameSize+8:], h1)
	copy(b[inlineMin:], unsafe.Slice((*byte)(data), n))
	if !l.pushSmall(off, size) {
		return false
	}
	l.took(btl.InlineHeader + n)
	if l.win != nil {
		l.win.keepInline(l.sent, b)
	}
	return true
}

// took counts a message of n bytes as sent and everything received as acknowledged by it.
func (l *link) took(n int) {
	l.sent++
	l.unacked = 0
	l.m.stats.Sent++
	l.m.stats.SentBytes += uint64(n)
}

// pushSmall sends the n bytes at off of small, which lie behind all others there. It reports false when the socket is broken and
// nothing was taken.
func (l *link) pushSmall(off, n int) bool {
	if l.tx == txSmall {
		l.smallEnd += n
		return true
	}
	done, errno := sendRaw(l.fd, &l.small[off], n)
	switch {
	case errno == 0 && done == n:
		return true
	case errno == unix.EAGAIN || errno == unix.EINTR:
		done = 0
	case errno != 0:
		l.writeFailed(errno)
		return false
	}
	l.smallOff, l.smallEnd, l.tx = done, n, txSmall
	l.m.stats.Partial++
	l.arm()
	return true
}

// send takes a fragment. The link is idle.
func (l *link) send(f *btl.Frag) (bool, error) {
	n := int(f.HdrLen) + f.Len
	if int64(n) > l.m.opts.maxFrame() || f.HdrLen > btl.HeaderMax || f.Len < 0 {
		return false, fmt.Errorf("btl tcp: a fragment with a header of %d and a payload of %d bytes exceeds btl_tcp_max_send_size", f.HdrLen, f.Len)
	}
	if l.byeOut {
		return false, fmt.Errorf("btl tcp: sending to rank %d after BYE", l.ep.proc.Rank)
	}
	packed := f.Data == nil && f.Len > 0
	if packed {
		l.conv = *f.Conv
	}
	if l.win != nil {
		l.win.keepFrag(l.sent+1, f, packed)
	}
	l.begin(f, packed, 0)
	if !l.push() && l.tx == txBroken {
		l.clearFrag()
		return false, btl.ErrAgain
	}
	if packed {
		f.Conv.SetPosition(f.Conv.Position() + int64(f.Len))
	}
	l.took(n)
	if l.win != nil {
		return false, nil // done when acknowledged
	}
	return l.tx == txIdle, nil
}

// begin makes f the fragment that is being sent; conv is set when it is to be packed. from is as in a frame.
func (l *link) begin(f *btl.Frag, packed bool, from uint8) {
	fr := frame{kind: frameActive, tag: f.Tag, hdrLen: f.HdrLen, from: from, length: uint32(f.Len), seq: l.sent + 1, ack: l.got}
	fr.put(l.head[:])
	copy(l.head[frameSize:], f.Header())
	l.frag, l.headOff, l.headLen = f, 0, frameSize+int(f.HdrLen)
	if packed {
		l.piece, l.pieceLen, l.left = nil, 0, f.Len
		l.pack()
	} else {
		l.piece, l.pieceLen, l.left = f.Data, f.Len, 0
	}
}

// pack makes the next piece.
func (l *link) pack() {
	if l.packed == nil {
		l.packed = make([]byte, packSize)
	}
	n := l.conv.Pack(l.packed[:min(packSize, l.left)])
	l.piece, l.pieceLen = unsafe.Pointer(unsafe.SliceData(l.packed)), n
	l.left -= n
}

// push sends what the socket takes of frag and reports whether that was the rest.
func (l *link) push() bool {
	for {
		n, want := 0, 0
		if l.headOff < l.headLen {
			l.iov[0].Base = &l.head[l.headOff]
			l.iov[0].SetLen(l.headLen - l.headOff)
			n, want = 1, l.headLen-l.headOff
		}
		if l.pieceLen > 0 {
			size := min(l.pieceLen, maxIO)
			l.iov[n].Base = (*byte)(l.piece)
			l.iov[n].SetLen(size)
			n, want = n+1, want+size
		}
		l.msg.Iov = &l.iov[0]
		l.msg.SetIovlen(n)
		done, errno := sendmsgRaw(l.fd, &l.msg)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			done = 0
		case errno != 0:
			l.writeFailed(errno)
			return false
		}
		l.advance(done)
		if done < want {
			if l.tx != txFrag {
				l.tx = txFrag
				l.m.stats.Partial++
			}
			l.arm()
			return false
		}
		if l.pieceLen == 0 {
			if l.left == 0 {
				l.clearFrag()
				l.tx = txIdle
				return true
			}
			l.pack()
		}
	}
}

// advance takes n sent bytes off.
func (l *link) advance(n int) {
	h := min(n, l.headLen-l.headOff)
	l.headOff += h
	n -= h
	if l.pieceLen -= n; l.pieceLen == 0 {
		l.piece = nil // a pointer behind its end would be one into other memory
	} else {
		l.piece = unsafe.Add(l.piece, n)
	}
}

// clearFrag forgets the fragment, and lets the collector have what it referred to.
func (l *link) clearFrag() {
	l.frag, l.piece, l.iov[0].Base, l.iov[1].Base = nil, nil, nil, nil
	l.conv = datatype.Convertor{}
	l.headOff, l.headLen, l.pieceLen, l.left = 0, 0, 0, 0
}

// arm asks the epoll set to say when the socket has room. It is taken back when there turns out to be no need any more.
func (l *link) arm() {
	if !l.armed {
		l.armed = true
		if err := l.m.engine.ModFD(l.reg, unix.EPOLLIN|unix.EPOLLOUT); err != nil {
			l.writeFailed(unix.EBADF)
		}
	}
}

// writable goes on with what waits: the socket has room.
func (l *link) writable() {
	switch l.tx {
	case txIdle:
		// The level-triggered set would say so for ever.
		l.armed = false
		if err := l.m.engine.ModFD(l.reg, unix.EPOLLIN); err != nil {
			l.writeFailed(unix.EBADF)
		}
	case txSmall:
		n, errno := sendRaw(l.fd, &l.small[l.smallOff], l.smallEnd-l.smallOff)
		switch {
		case errno == unix.EAGAIN || errno == unix.EINTR:
			return
		case errno != 0:
			l.writeFailed(errno)
			return
		}
		if l.smallOff += n; l.smallOff == l.smallEnd {
			l.tx = txIdle
			l.control()
		}
	case txFrag:
		f := l.frag
		if l.push() {
			l.control()
			if l.win == nil {
				f.Owner.FragDone(f, nil)
			}
		}
	}
}

// control sends the control frames that are due, if it is their turn.
func (l *link) control() {
	if l.wantAck && l.controlFrame(&frame{kind: frameAck, ack: l.got}) {
		l.wantAck, l.unacked = false, 0
	}
	if l.wantBye && l.controlFrame(&frame{kind: frameBye, ack: l.got}) {
		l.wantBye, l.byeOut = false, true
	}
}

func (l *link) controlFrame(f *frame) bool {
	off := 0
	switch l.tx {
	case txIdle:
	case txSmall:
		if off = l.smallEnd; off+frameSize > len(l.small) {
			return false
		}
	default:
		return false
	}
	f.put(l.small[off : off+frameSize])
	return l.pushSmall(off, frameSize)
}
