package ompi

import (
	"sync/atomic"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// precv is a partitioned receive. But for left, its fields are the token's.
type precv struct {
	core.Request
	c           *Comm
	source, tag int
	parts       int
	left        []atomic.Int64 // by partition: how much has not come, in units; 0: it is there

	met      bool // offer is that of the matching send
	offer    offer
	mismatch error // the offer is of another amount of data
	each     int64 // units of one of our partitions
	theirs   int64 // units of one of the sender's; a unit is a byte, unless there is no data

	out     int // messages waited for
	got     int // partitions of the sender that have come
	here    []bool
	running bool // started at least once
	ended   bool
	posting bool
	queued  bool
	freed   bool
	err     error

	inner []precvMessage
	chunk []byte
	conv  datatype.Convertor
}

// precvMessage is a message of a partitioned receive: a large partition of the sender, or what some small ones share.
type precvMessage struct {
	p       *precv
	h       core.Handle
	k       int
	scratch []byte // where it goes when the sender's partition is no block of our buffer
}

func newPrecv(c *Comm, buf Buffer, parts, source, tag int) *precv {
	p := &precv{c: c, source: source, tag: tag, parts: parts, left: make([]atomic.Int64, parts)}
	p.Engine, p.Owner = c.inst.engine, p
	p.Renew(c.c, "Precv_init", source, buf)
	p.Persistent = true
	if buf.Bytes() > 0 {
		p.conv.Prepare(buf.Type(), buf.Count(), buf.Addr())
	}
	return p
}

// meet takes the offer of the matching send.
func (p *precv) meet(o offer) {
	if p.freed {
		return // it has taken its turn
	}
	p.met, p.offer = true, o
	total, sent := p.Buf.Bytes(), o.bytes*int64(o.parts)
	switch {
	case sent > total:
		p.mismatch = core.NewError(ErrTruncate, "the partitioned send has %d bytes, the receive has room for %d", sent, total)
	case sent < total:
		p.mismatch = core.NewError(ErrCount, "the partitioned send has %d bytes, the receive wants %d", sent, total)
	case total > 0:
		p.each, p.theirs = total/int64(p.parts), o.bytes
	default:
		p.each, p.theirs = int64(o.parts), int64(p.parts)
	}
	p.here = make([]bool, o.parts)
	p.inner = make([]precvMessage, o.tags())
	if o.small() {
		p.chunk = make([]byte, chunkSize)
	}
	for k := range p.inner {
		m := &p.inner[k]
		m.p, m.k = p, k
		q := p.c.pml.RecvInitHeld(&p.c.c.P2P, m.place(), p.source, partitionOffer+1+o.base+k)
		q.Hook = m
		m.h = q.Handle()
	}
	if p.underWay() {
		p.expect()
		p.post()
	}
}

// place is where a message goes.
func (m *precvMessage) place() Buffer {
	p := m.p
	n := p.offer.bytes
	switch {
	case p.offer.small():
		return bytesAt(p.chunk)
	case p.mismatch != nil:
		return bytesAt(nil) // it is taken all the same, so that the sender does not wait for ever
	}
	b, off := p.Buf, int64(m.k)*n
	size := b.Type().Size()
	switch {
	case b.Type().Contiguous():
		return core.MakeBuffer(unsafe.Add(b.Addr(), off), n, datatype.Byte)
	case off%size == 0 && n%size == 0:
		return b.At(off/size, n/size)
	}
	m.scratch = make([]byte, n)
	return bytesAt(m.scratch)
}

func (p *precv) underWay() bool { return p.running && !p.ended }

// expect sets up the count of what has to come in this round.
func (p *precv) expect() {
	each := p.each
	if !p.met || p.mismatch != nil {
		each = 1 // nothing comes that could be told from the rest
	}
	for i := range p.left {
		p.left[i].Store(each)
	}
	clear(p.here)
	p.got = 0
}

// Start implements core.Operation.
func (p *precv) Start(r *core.Request) error {
	r.Reset()
	r.Status = core.MakeStatus(p.source, p.tag, p.Buf.Bytes())
	p.out, p.ended, p.err, p.running = 0, false, nil, true
	p.expect()
	if err := p.c.inst.fatal.Load(); err != nil {
		p.err = err
	}
	p.c.inst.ops.add(p)
	r.SetActive(true)
	switch {
	case p.source == ProcNull:
		for i := range p.left {
			p.left[i].Store(0)
		}
		r.Status = procNullStatus()
	case p.met:
		p.post()
		return nil
	default:
		p.c.partPeer(p.source).listen()
	}
	p.check()
	return nil
}

// Cancel implements core.Operation; Request.Cancel refuses before.
func (p *precv) Cancel(*core.Request) error { return nil }

// cancelled implements pendingOp.
func (p *precv) cancelled(err *core.Error) { p.fail(err) }

// fail ends the round.
func (p *precv) fail(err error) {
	if p.underWay() {
		p.err = err
		p.check()
	}
}

// free gives the messages back. The request is inactive.
func (p *precv) free() {
	p.freed = true
	for i := range p.inner {
		p.inner[i].h.Abandon()
	}
	p.inner = nil
}

// post posts the receives of the round, or the next one.
func (p *precv) post() {
	p.posting = true
	if p.offer.small() {
		for p.err == nil && p.out == 0 && p.got < p.offer.parts {
			p.out++
			startInner(p.inner[0].h)
		}
	} else {
		for i := range p.inner {
			p.out++
			startInner(p.inner[i].h)
		}
	}
	p.posting = false
	p.check()
}

// RequestDone implements core.Hook: a message has come, or none will.
func (m *precvMessage) RequestDone(r *core.Request) {
	p := m.p
	p.out--
	err := r.Status.Err
	m.h.Drop()
	switch {
	case err != nil && core.ClassOf(err) == ErrTruncate && p.mismatch != nil:
		p.got++
	case err != nil:
		if p.err == nil {
			p.err = err
		}
	case p.offer.small():
		p.takeChunk(p.chunk[:r.Status.Bytes()])
		if !p.posting && !p.queued && p.err == nil && p.got < p.offer.parts {
			p.queued = true
			p.c.inst.partWork.add(p.c.inst, p)
		}
	default:
		if m.scratch != nil {
			p.conv.SetPosition(int64(m.k) * p.offer.bytes)
			p.conv.Unpack(m.scratch)
		}
		p.arrived(run{m.k, 1})
	}
	p.check()
}

// takeChunk takes the small partitions of a message.
func (p *precv) takeChunk(b []byte) {
	for len(b) > 0 {
		r, data, rest, ok := p.offer.nextRun(b)
		for k := r.first; ok && k < r.first+r.count; k++ {
			ok = !p.here[k]
			p.here[k] = true
		}
		if !ok {
			p.err = &core.Error{Class: ErrIntern, Peer: p.source, Index: -1, Err: core.NewError(ErrIntern, "a message of a partitioned send makes no sense").Err}
			return
		}
		if p.mismatch == nil && len(data) > 0 {
			off := int64(r.first) * p.offer.bytes
			if p.Buf.Type().Contiguous() {
				copy(unsafe.Slice((*byte)(unsafe.Add(p.Buf.Addr(), off)), len(data)), data)
			} else {
				p.conv.SetPosition(off)
				p.conv.Unpack(data)
			}
		}
		p.arrived(r)
		b = rest
	}
}

// arrived counts partitions of the sender towards ours.
func (p *precv) arrived(r run) {
	p.got += r.count
	if p.mismatch != nil || p.each == 0 {
		return
	}
	lo, hi := int64(r.first)*p.theirs, int64(r.first+r.count)*p.theirs
	for i := lo / p.each; i < int64(p.parts) && i*p.each < hi; i++ {
		p.left[i].Add(max(lo, i*p.each) - min(hi, (i+1)*p.each))
	}
}

// work implements partWorker.
func (p *precv) work() {
	p.queued = false
	if p.underWay() {
		p.post()
	}
}

// check completes the round when all has come, or when something failed and nothing is under way.
func (p *precv) check() {
	if p.ended || p.posting || p.out > 0 || !p.underWay() {
		return
	}
	complete := p.source == ProcNull || p.met && p.got >= p.offer.parts
	if p.err == nil && !complete {
		return
	}
	p.ended = true
	p.c.inst.ops.remove(p)
	p.Status.Err = p.err
	if p.err == nil {
		p.Status.Err = p.mismatch
	}
	p.Finish()
}
