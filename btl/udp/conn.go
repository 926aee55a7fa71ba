package udp

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl"
)

const (
	maxInline = 2048 // payload of an inline message
	// coalesce is the buffer of a packet that is begun by a small message: what follows before it is sent goes with it.
	coalesce = 4096
	// placeMin is the payload from which on a handler is asked where it belongs, if it does not come in one packet.
	placeMin = 4096
)

// crowd is how many packets are under way before small messages wait for each other.
const crowd = 64

// conn is a connection of an endpoint: the flow, the frames that travel in it, and where its datagrams go.
type conn struct {
	flow
	m  *module
	ep *endpoint

	up       bool // frames may flow; before, the initiator waits for the answer to its proof
	ini, acc side
	recvID   uint64 // what comes must have it
	sendID   uint64
	recvKey  uint32
	sendKey  uint32
	sock     *socket
	name     unix.RawSockaddrInet6 // where datagrams go, of either family
	nameLen  uint32
	maxFrame uint32 // the peer's largest message, as it said

	bulk    bulk
	byeOut  bool   // a BYE is written: no message may follow
	byeIn   bool   // the peer will send no more messages
	closing bool   // the peer has forgotten the connection
	closeAt int64  // when it said so
	closeNo uint64 // how many data packets it had sent
}

// bulk is a large message whose payload is on its way to dst.
type bulk struct {
	dst    []byte
	have   int
	placer btl.Placer // who gave dst; nil: it is from the pool
	waste  bool       // nobody wants it any more
	tag    btl.Tag
	hdrLen uint8
	hdr    [btl.HeaderMax]byte
}

// abort tells the placer that its payload will not come.
func (b *bulk) abort(rank int, err error) {
	placer, n := b.placer, len(b.dst)
	b.dst, b.placer = nil, nil
	if placer != nil {
		placer.Placed(rank, b.hdr[:b.hdrLen], n, err)
	}
}

// sendInline takes an inline message.
func (c *conn) sendInline(tag btl.Tag, h0, h1 uint64, data unsafe.Pointer, n int) bool {
	total := frameSize + btl.InlineHeader + n
	if c.byeOut || !c.fits(total) {
		return false
	}
	b := c.begin(total, frameSize+btl.InlineHeader)
	fr := frame{kind: frameActive, tag: tag, hdrLen: btl.InlineHeader, length: uint32(n)}
	fr.put(b)
	binary.LittleEndian.PutUint64(b[frameSize:], h0)
	binary.LittleEndian.PutUint64(b[frameSize+8:], h1)
	c.copyIn(unsafe.Slice((*byte)(data), n))
	c.took(btl.InlineHeader + n)
	return true
}

// push takes a fragment.
func (c *conn) push(f *btl.Frag) (bool, error) {
	n := int(f.HdrLen) + f.Len
	if int64(n) > c.m.opts.maxFrame() || f.HdrLen > btl.HeaderMax || f.Len < 0 {
		return false, fmt.Errorf("btl udp: a fragment with a header of %d and a payload of %d bytes exceeds btl_udp_max_send_size", f.HdrLen, f.Len)
	}
	if c.byeOut {
		return false, fmt.Errorf("btl udp: sending to rank %d after BYE", c.ep.proc.Rank)
	}
	packed := f.Data == nil && f.Len > 0
	if !c.fits(frameSize + n) {
		return false, btl.ErrAgain
	}
	head := frameSize + int(f.HdrLen)
	copied := packed || f.Len <= c.m.opts.CopyLimit
	total := head
	if copied {
		total += f.Len
	}
	b := c.begin(total, head)
	fr := frame{kind: frameActive, tag: f.Tag, hdrLen: f.HdrLen, length: uint32(f.Len)}
	fr.put(b)
	copy(b[frameSize:], f.Header())
	switch {
	case packed:
		c.packIn(f)
	case copied:
		c.copyIn(unsafe.Slice((*byte)(f.Data), f.Len))
	default:
		c.refer(f)
	}
	c.took(n)
	return copied, nil
}

// fits reports whether there are packets enough for a frame of so many bytes, wherever it begins.
func (c *conn) fits(total int) bool {
	if p := c.open(); p != nil && total <= c.room(p) {
		return true
	}
	return c.free() >= (total+c.bodyMax()-splitLoss-1)/(c.bodyMax()-splitLoss)+1
}

// room is how many bytes an open packet has left.
func (c *conn) room(p *outPacket) int { return min(cap(p.buf), c.bodyMax()) - len(p.buf) }

// splitLoss is what a packet may lack, since elements are packed whole.
const splitLoss = 64

// begin gives the first n bytes of a frame of total bytes: behind others when all has room there, else in a packet of its own.
func (c *conn) begin(total, n int) []byte {
	p := c.open()
	if p == nil || total > c.room(p) {
		p = c.write(min(c.bodyMax(), max(total, coalesce)))
	}
	at := len(p.buf)
	p.buf = p.buf[:at+n]
	return p.buf[at:]
}

// tail gives room behind what is written, in another packet if need be, of at most n bytes.
func (c *conn) tail(n int) []byte {
	p := c.open()
	room := c.room(p)
	if room <= 0 {
		p = c.write(min(c.bodyMax(), max(n, coalesce)))
		room = c.room(p)
	}
	at := len(p.buf)
	p.buf = p.buf[:at+min(n, room)]
	return p.buf[at:]
}

func (c *conn) copyIn(b []byte) {
	for len(b) > 0 {
		b = b[copy(c.tail(len(b)), b):]
	}
}

// packIn packs a payload that is not contiguous, and moves the owner's cursor on.
func (c *conn) packIn(f *btl.Frag) {
	for left := f.Len; left > 0; {
		room := c.tail(left)
		n := f.Conv.Pack(room)
		if n < len(room) { // it keeps elements whole
			p := c.open()
			p.buf = p.buf[:len(p.buf)-len(room)+n]
			if n == 0 {
				p.open = false
				c.write(min(c.bodyMax(), max(left, coalesce)))
			}
		}
		left -= n
	}
}

// refer has the payload sent from where it lies; f is given back when all has come.
func (c *conn) refer(f *btl.Frag) {
	p, data, left := c.open(), f.Data, f.Len
	f.Sent = 0
	for {
		n := min(left, c.bodyMax()-len(p.buf))
		p.open = false
		p.data, p.n, p.frag = data, n, f
		f.Sent++
		if left -= n; left == 0 {
			return
		}
		data = unsafe.Add(data, n)
		p = c.write(0)
	}
}

// took counts a message of n bytes and sends what may be sent: at once, or in a pass at its end, when more may have joined. With many packets
// under way a small message waits for the next pass or a full packet, too.
func (c *conn) took(n int) {
	m := c.m
	m.stats.Sent++
	m.stats.SentBytes += uint64(n)
	m.work(c.ep)
	if c.sent-c.una >= crowd && c.next-c.sent == 1 && c.open() != nil {
		m.urgent = true
		return
	}
	if !m.inPass {
		m.now = m.clock()
		c.pump(m.now)
		m.batch.flush()
	}
}

// deliver takes the body of the next packet in order.
func (c *conn) deliver(body []byte) {
	m, rank := c.m, c.ep.proc.Rank
	for len(body) > 0 && !c.dead {
		if b := &c.bulk; b.dst != nil {
			k := copy(b.dst[b.have:], body)
			b.have += k
			body = body[k:]
			if b.have == len(b.dst) {
				c.bulkDone()
			}
			continue
		}
		var fr frame
		if err := fr.parse(body, c.maxFrame); err != nil {
			c.violated(err)
			return
		}
		if c.byeIn {
			c.violated(fmt.Errorf("a frame after BYE"))
			return
		}
		if fr.kind == frameBye {
			c.byeIn = true
			c.ackNow = true
			body = body[frameSize:]
			continue
		}
		h := m.env.Dispatch.Handlers[fr.tag]
		if h == nil {
			c.violated(fmt.Errorf("a message with tag %#x, for which this process has no handler", uint8(fr.tag)))
			return
		}
		at := frameSize + int(fr.hdrLen)
		hdr, rest, n := body[frameSize:at:at], body[at:], int(fr.length)
		if len(rest) < n {
			c.bulkBegin(&fr, h, hdr, rest)
			return
		}
		body = rest[n:]
		m.stats.Frames++
		m.stats.Bytes += uint64(len(hdr) + n)
		h.Receive(rank, hdr, rest[:n:n])
	}
}

// bulkBegin starts a message of which here has come and more is to come.
func (c *conn) bulkBegin(fr *frame, h btl.Handler, hdr, here []byte) {
	b, n := &c.bulk, int(fr.length)
	b.tag, b.hdrLen = fr.tag, fr.hdrLen
	copy(b.hdr[:], hdr)
	b.placer, b.waste = nil, false
	var dst []byte
	if p, ok := h.(btl.Placer); ok && n >= placeMin {
		if dst = p.Place(c.ep.proc.Rank, b.hdr[:b.hdrLen], n); dst != nil {
			b.placer = p
		}
	}
	if dst == nil {
		dst = c.m.pool.Get(n)
	}
	b.dst = dst
	b.have = copy(b.dst, here)
}

func (c *conn) bulkDone() {
	m, b, rank := c.m, &c.bulk, c.ep.proc.Rank
	m.stats.Frames++
	m.stats.Bytes += uint64(int(b.hdrLen) + len(b.dst))
	dst, placer := b.dst, b.placer
	b.dst, b.placer = nil, nil
	if placer != nil {
		m.stats.Placed++
		placer.Placed(rank, b.hdr[:b.hdrLen], len(dst), nil)
		return
	}
	if !b.waste {
		m.env.Dispatch.Handlers[b.tag].Receive(rank, b.hdr[:b.hdrLen], dst)
	}
	m.pool.Put(dst)
}

// divert takes the memory of a placer out of the message that is coming.
func (c *conn) divert(err error) {
	b := &c.bulk
	if b.dst == nil || b.placer == nil {
		return
	}
	placer, n := b.placer, len(b.dst)
	b.dst, b.placer, b.waste = c.m.pool.Get(n), nil, true
	placer.Placed(c.ep.proc.Rank, b.hdr[:b.hdrLen], n, err)
}

// violated gives up a peer that sends what it may not.
func (c *conn) violated(err error) {
	c.ep.fail(fmt.Errorf("btl udp: %s broke the protocol: it sent %w", c.ep.name(), err), true)
}

// bye writes a BYE, once, when there is room.
func (c *conn) bye() {
	if c.byeOut || !c.fits(frameSize) {
		return
	}
	fr := frame{kind: frameBye}
	fr.put(c.begin(frameSize, frameSize))
	c.byeOut = true
	c.m.work(c.ep)
}

// came, buffer and release are for the flow.
func (c *conn) came(f *btl.Frag)    { f.Owner.FragDone(f, nil) }
func (c *conn) buffer(n int) []byte { return c.m.pool.Get(n) }
func (c *conn) release(b []byte)    { c.m.pool.Put(b[:cap(b)]) }
