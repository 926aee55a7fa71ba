package ompi

import (
	"sync/atomic"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/pml"
)

// marks are the partitions that goroutines have marked as ready in this round, in the order of marking.
type marks struct {
	flags []atomic.Bool
	queue []atomic.Int32 // partition+1; 0: not written yet
	tail  atomic.Int32
}

func newMarks(n int) marks {
	return marks{flags: make([]atomic.Bool, n), queue: make([]atomic.Int32, n)}
}

// mark enters a partition; false: it has been entered before.
func (m *marks) mark(partition int) bool {
	if !m.flags[partition].CompareAndSwap(false, true) {
		return false
	}
	m.queue[m.tail.Add(1)-1].Store(int32(partition) + 1)
	return true
}

// at gives the k-th partition entered, -1 when there is none yet.
func (m *marks) at(k int) int {
	if k >= len(m.queue) {
		return -1
	}
	return int(m.queue[k].Load()) - 1
}

func (m *marks) reset() {
	for i := range m.flags {
		m.flags[i].Store(false)
		m.queue[i].Store(0)
	}
	m.tail.Store(0)
}

// psend is a partitioned send. But for marks and calls, its fields are the token's.
type psend struct {
	core.Request
	c     *Comm
	dest  int
	offer offer
	marks marks
	calls atomic.Int32 // of Pready that have marked and not been served

	head     int // marked partitions that messages have taken
	out      int // messages under way
	sent     int // partitions whose messages have left
	ended    bool
	flushing bool
	queued   bool
	err      error

	inner []core.Handle // the messages: one a partition, or one for all
	chunk []byte        // small partitions: the message
	load  int           // and how many are in it; 0: it is free
	conv  datatype.Convertor
}

// open makes the messages and sends the offer.
func (p *psend) open() error {
	c, o := p.c, &p.offer
	p.Engine.Lock()
	peer := c.partPeer(p.dest)
	o.base = peer.next
	fits := o.base <= partitionTags-o.tags()
	if fits {
		peer.next += o.tags()
	}
	p.Engine.Unlock()
	if !fits {
		return core.NewError(ErrOther, "partitioned sends to rank %d on this communicator have used all %d tags; duplicate the communicator", p.dest, partitionTags)
	}
	buf := p.Buf
	p.inner = make([]core.Handle, o.tags())
	if o.small() {
		p.chunk = make([]byte, chunkSize)
		if o.bytes > 0 {
			p.conv.Prepare(buf.Type(), buf.Count(), buf.Addr())
		}
	}
	for k := range p.inner {
		b := bytesAt(p.chunk)
		if !o.small() {
			each := buf.Count() / int64(o.parts)
			b = buf.At(int64(k)*each, each)
		}
		q := c.pml.SendInit(&c.c.P2P, b, p.dest, partitionOffer+1+o.base+k, pml.Standard)
		q.Hook = p
		p.inner[k] = q.Handle()
	}
	// It need not be waited for: where it fails, the data will as well.
	h := c.pml.Isend(&c.c.P2P, bytesAt(appendOffer(nil, *o)), p.dest, partitionOffer, pml.Standard).Handle()
	p.Engine.Lock()
	h.Abandon()
	p.Engine.Unlock()
	return nil
}

// Start implements core.Operation.
func (p *psend) Start(r *core.Request) error {
	r.Reset()
	r.Status = core.EmptyStatus()
	p.marks.reset()
	p.head, p.sent, p.ended, p.err = 0, 0, false, nil
	if err := p.c.inst.fatal.Load(); err != nil {
		p.err = err
	}
	p.c.inst.ops.add(p)
	r.SetActive(true)
	p.check()
	return nil
}

// Cancel implements core.Operation; Request.Cancel refuses before.
func (p *psend) Cancel(*core.Request) error { return nil }

// cancelled implements pendingOp.
func (p *psend) cancelled(err *core.Error) {
	p.err = err
	p.check()
}

// free gives the messages back. The request is inactive.
func (p *psend) free() {
	for _, h := range p.inner {
		h.Abandon()
	}
	p.inner = nil
}

// ready sends what is marked. Of goroutines that mark at the same time one sends for all, so that what is small goes together.
func (p *psend) ready() {
	if p.calls.Add(1) > 1 {
		return // who is in the loop below looks once more
	}
	for n := int32(1); n != 0; {
		n = p.calls.Load()
		p.Engine.Lock()
		p.flush()
		p.Engine.Unlock()
		n = p.calls.Add(-n)
	}
}

// flush hands marked partitions to messages.
func (p *psend) flush() {
	p.flushing = true
	for p.err == nil && !p.ended && p.flushOne() {
	}
	p.flushing = false
	p.check()
}

// flushOne hands on one partition, or as many small ones as fit a message; false: there is none, or the message is under way.
func (p *psend) flushOne() bool {
	k := p.marks.at(p.head)
	switch {
	case k < 0:
		return false
	case p.dest == ProcNull:
		p.head++
		p.sent++
	case !p.offer.small():
		p.head++
		p.out++
		startInner(p.inner[k])
	case p.load > 0:
		return false
	default:
		p.out++
		p.inner[0].R.Buf = bytesAt(p.chunk[:p.fill()])
		startInner(p.inner[0])
	}
	return true
}

// fill puts marked partitions into the chunk, as many as it has room for, and gives its length.
func (p *psend) fill() int {
	each := int(p.offer.bytes)
	n, header := 0, 0
	var last run
	for {
		k := p.marks.at(p.head)
		if k < 0 {
			return n
		}
		if last.count > 0 && k == last.first+last.count {
			if n+each > chunkSize {
				return n
			}
		} else {
			if n+recordSize+each > chunkSize {
				return n
			}
			header, last = n, run{first: k}
			n += recordSize
		}
		p.pack(k, p.chunk[n:n+each])
		n += each
		last.count++
		putRun(p.chunk[header:], last)
		p.head++
		p.load++
	}
}

func (p *psend) pack(k int, dst []byte) {
	if len(dst) == 0 {
		return
	}
	off := int64(k) * p.offer.bytes
	if p.Buf.Type().Contiguous() {
		copy(dst, unsafe.Slice((*byte)(unsafe.Add(p.Buf.Addr(), off)), len(dst)))
		return
	}
	p.conv.SetPosition(off)
	p.conv.Pack(dst)
}

// RequestDone implements core.Hook: a message has left, or failed.
func (p *psend) RequestDone(r *core.Request) {
	if p.err == nil {
		p.err = r.Status.Err
	}
	p.out--
	if p.offer.small() {
		p.inner[0].Drop()
		p.sent += p.load
		p.load = 0
		if !p.flushing && !p.queued && p.marks.at(p.head) >= 0 {
			p.queued = true
			p.c.inst.partWork.add(p.c.inst, p)
		}
	} else {
		r.Handle().Drop()
		p.sent++
	}
	p.check()
}

// work implements partWorker.
func (p *psend) work() {
	p.queued = false
	p.flush()
}

// check completes the round when all has left, or when something failed and nothing is under way.
func (p *psend) check() {
	if p.ended || p.flushing || p.out > 0 || p.err == nil && p.sent < p.offer.parts {
		return
	}
	p.ended = true
	p.c.inst.ops.remove(p)
	p.Status.Err = p.err
	p.Finish()
}
