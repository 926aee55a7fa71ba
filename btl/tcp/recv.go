package tcp

import (
	"io"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl"
)

const (
	// bulkMin is the payload from which on a message that is not yet here completely is received apart from the cache. It is at
	// most what the cache has room for beside frame and header.
	bulkMin = 4096
	// passMax is how much one pass reads of one socket before it looks at something else, in bytes.
	passMax = 2 << 20
	// ackEvery is how many messages may be unacknowledged while more of them can be read.
	ackEvery = 16
)

// receiving is the receiving side of a link.
type receiving struct {
	cache   []byte // cache[r:w] is read and not yet understood
	r, w    int
	got     uint32 // sequence number of the last message delivered
	unacked int    // messages delivered since the peer last heard of it
	byeIn   bool   // the peer will send no more messages
	bulk    bulk   // the large message that is arriving
	cut     bulk   // of a link that is down: the large message that was arriving; its rest comes over another link
	rdv     [2]unix.Iovec
	misses  int  // reads in a row that found nothing
	hot     bool // among module.hot
}

// bulk is a large message whose payload is on its way to dst.
type bulk struct {
	dst    []byte
	have   int
	placer btl.Placer // who gave dst; nil: it is from the pool
	waste  bool       // nobody wants it any more
	tag    btl.Tag
	from   uint8
	hdrLen uint8
	hdr    [btl.HeaderMax]byte
}

func (b *bulk) active() bool { return b.dst != nil }

// abort tells the placer that its payload will not come.
func (b *bulk) abort(ep *endpoint, err error) {
	if !b.active() {
		return
	}
	placer, n := b.placer, len(b.dst)
	b.dst, b.placer = nil, nil
	if placer != nil {
		placer.Placed(ep.proc.Rank, b.hdr[:b.hdrLen], n, err)
	}
}

// divert takes the memory of a placer out of it.
func (b *bulk) divert(ep *endpoint, err error) {
	if !b.active() || b.placer == nil {
		return
	}
	placer, n := b.placer, len(b.dst)
	b.dst, b.placer, b.waste = ep.m.pool.Get(n), nil, true
	placer.Placed(ep.proc.Rank, b.hdr[:b.hdrLen], n, err)
}

// receive reads until the socket is empty, or enough for one pass, and delivers what is complete. It returns how many system calls
// found something.
func (l *link) receive() int {
	events, total := 0, 0
	for total < passMax && l.state == linkUp {
		n, want, err := l.read()
		if n == 0 {
			if err != nil {
				events++
				l.ended(err)
			}
			break
		}
		events++
		total += n
		l.parse()
		if n < want {
			break // more would have been here
		}
	}
	if l.unacked > 0 && l.state == linkUp && l.win != nil {
		l.wantAck = true
		l.control()
	}
	return events
}

// read fills the rest of the large message that is arriving, and the cache with what follows. It returns the bytes read and the
// bytes there was room for; 0 with no error when there is nothing.
func (l *link) read() (n, want int, err error) {
	for {
		var errno unix.Errno
		if l.bulk.active() {
			rest := l.bulk.dst[l.bulk.have:]
			want = min(len(rest), maxIO)
			l.rdv[0].Base = &rest[0]
			l.rdv[0].SetLen(want)
			k := 1
			if want == len(rest) {
				l.rdv[1].Base = &l.cache[0] // empty: a large message begins when the cache is used up
				l.rdv[1].SetLen(len(l.cache))
				k, want = 2, want+len(l.cache)
			}
			n, errno = readvRaw(l.fd, &l.rdv[0], k)
			l.rdv[0].Base = nil
		} else {
			want = len(l.cache) - l.w
			n, errno = recvRaw(l.fd, &l.cache[l.w], want)
		}
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			return 0, want, nil
		case errno != 0:
			return 0, want, errno
		case n == 0:
			return 0, want, io.EOF
		}
		l.arrived(n)
		return n, want, nil
	}
}

// arrived accounts for n bytes read.
func (l *link) arrived(n int) {
	if !l.bulk.active() {
		l.w += n
		return
	}
	b := &l.bulk
	k := min(n, len(b.dst)-b.have)
	b.have += k
	l.r, l.w = 0, n-k
	if b.have == len(b.dst) {
		l.bulkDone()
	}
}

// parse takes complete messages out of the cache and starts a large one.
func (l *link) parse() {
	for l.w-l.r >= frameSize && l.state == linkUp && !l.bulk.active() {
		var f frame
		b := l.cache[l.r:l.w]
		if err := f.parse(b, l.ep.peerMax); err != nil {
			l.violated("%w", err)
			return
		}
		if f.kind == frameActive {
			body := frameSize + int(f.hdrLen)
			size := body + int(f.length)
			switch {
			case len(b) >= size:
				l.r += size
				if !l.admit(&f) {
					return
				}
				l.got++
				l.unacked++
				l.deliver(&f, b[frameSize:body], b[body:size])
				if l.unacked >= ackEvery && l.win != nil && l.state == linkUp {
					l.wantAck = true
					l.control()
				}
				continue
			case f.length < bulkMin || len(b) < body:
			default:
				if l.admit(&f) {
					l.bulkBegin(&f, b[frameSize:body], b[body:])
				}
				return
			}
			break
		}
		l.r += frameSize
		l.controlled(&f)
	}
	if l.r == l.w {
		l.r, l.w = 0, 0
	} else if l.r > 0 && !l.bulk.active() && l.state == linkUp {
		l.w = copy(l.cache, l.cache[l.r:l.w])
		l.r = 0
	}
}

// admit checks a message's place in the sequence, and hears the acknowledgement that it carries.
func (l *link) admit(f *frame) bool {
	switch {
	case f.seq != l.got+1:
		l.violated("message %d after message %d", f.seq, l.got)
	case l.byeIn:
		l.violated("a message after BYE")
	case l.m.env.Dispatch.Handlers[f.tag] == nil:
		l.violated("a message with tag %#x, for which this process has no handler", uint8(f.tag))
	case f.from != 0 && !l.ep.multi:
		l.violated("a message from another link, which does not exist")
	default:
		return l.win == nil || l.acknowledged(f.ack)
	}
	return false
}

// deliver hands a complete message up.
func (l *link) deliver(f *frame, hdr, payload []byte) {
	l.m.stats.Frames++
	l.m.stats.Bytes += uint64(len(hdr) + len(payload))
	if f.from != 0 {
		if l.ep.resume(f.from, &l.bulk) { // begun on the broken link: it goes where that was going
			if copy(l.bulk.dst, payload) != len(l.bulk.dst) || len(payload) != len(l.bulk.dst) {
				l.violated("another message again than was cut off")
				return
			}
			l.bulkFinish()
			return
		}
	}
	l.m.env.Dispatch.Handlers[f.tag].Receive(l.ep.proc.Rank, hdr, payload)
}

// bulkBegin starts a large message of which here has arrived; its frame is admitted.
func (l *link) bulkBegin(f *frame, hdr, here []byte) {
	b, n := &l.bulk, int(f.length)
	if f.from != 0 && l.ep.resume(f.from, b) {
		if len(b.dst) != n {
			l.violated("another message again than was cut off")
			return
		}
	} else {
		b.tag, b.hdrLen = f.tag, f.hdrLen
		copy(b.hdr[:], hdr)
		b.placer, b.dst, b.waste = nil, nil, false
		if p, ok := l.m.env.Dispatch.Handlers[f.tag].(btl.Placer); ok {
			if b.dst = p.Place(l.ep.proc.Rank, b.hdr[:b.hdrLen], n); b.dst != nil {
				b.placer = p
			}
		}
		if b.dst == nil {
			b.dst = l.m.pool.Get(n)
		}
	}
	b.from = f.from
	b.have = copy(b.dst, here)
	l.r, l.w = 0, 0
}

// bulkDone delivers the large message, which has arrived.
func (l *link) bulkDone() {
	l.got++
	l.unacked++
	l.m.stats.Frames++
	l.m.stats.Bytes += uint64(int(l.bulk.hdrLen) + len(l.bulk.dst))
	l.bulkFinish()
}

func (l *link) bulkFinish() {
	b, rank := &l.bulk, l.ep.proc.Rank
	dst, placer := b.dst, b.placer
	b.dst, b.placer = nil, nil
	if placer != nil {
		l.m.stats.Placed++
		placer.Placed(rank, b.hdr[:b.hdrLen], len(dst), nil)
		return
	}
	if !b.waste {
		l.m.env.Dispatch.Handlers[b.tag].Receive(rank, b.hdr[:b.hdrLen], dst)
	}
	l.m.pool.Put(dst)
}

// controlled obeys a control frame.
func (l *link) controlled(f *frame) {
	if l.win != nil && !l.acknowledged(f.ack) {
		return
	}
	switch f.kind {
	case frameBye:
		l.byeIn = true
	case frameDown:
		if !l.ep.multi || int(f.tag) >= len(l.ep.links) || int(f.tag) == l.index {
			l.violated("the end of link %d, of which it cannot know", f.tag)
			return
		}
		l.ep.downed(l.ep.links[f.tag], f.seq)
	}
}
