package ompi

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/progress"
)

// Partitioned point-to-point communication (MPI-4 chapter 4). A PsendInit sends an offer; the n-th offer with a tag from a rank
// belongs to the n-th PrecvInit with that source and tag. Until then, and without waiting for it, partitions travel as they become
// ready: the PML keeps what comes before its receive. Everything below happens with the engine's token held, but for the marking of
// ready partitions and the look at arrived ones.

// partComm is what a communicator knows about partitioned operations.
type partComm struct{ peers map[int]*partPeer }

// partPeer is one rank of a communicator as the peer of partitioned operations.
type partPeer struct {
	c      *Comm
	rank   int
	next   int              // data tags given out to sends to it
	offers map[int][]offer  // by tag: those that no receive has taken
	wants  map[int][]*precv // by tag: receives without an offer, in order of initialization
	nWants int
	offer  core.Handle // the receive of the next offer; zero until first needed
	mem    []byte      // where it goes
	posted bool
	queued bool
	closed bool // the communicator has been freed
}

// partPeer gives the state about a rank.
func (c *Comm) partPeer(rank int) *partPeer {
	p := c.parts.peers[rank]
	if p == nil {
		if c.parts.peers == nil {
			c.parts.peers = make(map[int]*partPeer)
		}
		p = &partPeer{c: c, rank: rank, offers: make(map[int][]offer), wants: make(map[int][]*precv), mem: make([]byte, offerSize)}
		c.parts.peers[rank] = p
	}
	return p
}

// close gives back the receive of the offers, which has ended. The communicator has been freed.
func (p *partPeer) close() {
	p.closed = true
	if !p.queued {
		p.offer.Abandon()
	}
}

// want gives a new receive its offer, when that is there, and else enters it for the next one.
func (p *partPeer) want(r *precv) {
	if list := p.offers[r.tag]; len(list) > 0 {
		if p.offers[r.tag] = list[1:]; len(list) == 1 {
			delete(p.offers, r.tag)
		}
		r.meet(list[0])
		return
	}
	p.wants[r.tag] = append(p.wants[r.tag], r)
	p.nWants++
	p.listen()
}

// listen posts the receive of an offer while a receive wants one.
func (p *partPeer) listen() {
	if p.posted || p.nWants == 0 {
		return
	}
	if p.offer.R == nil {
		q := p.c.pml.RecvInitHeld(&p.c.c.P2P, bytesAt(p.mem), p.rank, partitionOffer)
		q.Hook = p
		p.offer = q.Handle()
	}
	p.posted = true
	startInner(p.offer)
}

// RequestDone implements core.Hook: an offer has come, or none will.
func (p *partPeer) RequestDone(*core.Request) {
	if !p.queued {
		p.queued = true
		p.c.inst.partWork.add(p.c.inst, p)
	}
}

// work implements partWorker.
func (p *partPeer) work() {
	p.queued, p.posted = false, false
	q := p.offer.R
	p.offer.Drop()
	if p.closed {
		defer p.offer.Abandon()
	}
	if err := q.Status.Err; err != nil {
		for _, list := range p.wants {
			for _, r := range list {
				r.fail(err)
			}
		}
		return // the next Start tries again
	}
	o, err := parseOffer(p.mem[:q.Status.Bytes()])
	if err != nil {
		for _, list := range p.wants {
			for _, r := range list {
				r.fail(core.NewError(ErrIntern, "%v", err))
			}
		}
		return
	}
	if list := p.wants[o.tag]; len(list) > 0 {
		if len(list) == 1 {
			delete(p.wants, o.tag)
		} else {
			p.wants[o.tag] = list[1:]
		}
		p.nWants--
		list[0].meet(o)
	} else {
		p.offers[o.tag] = append(p.offers[o.tag], o)
	}
	p.listen()
}

// partWork is what hooks leave to be done: a hook must not start the request that it is told of, and the PML is in the middle of
// something. It is a poller of the engine while there is any.
type partWork struct {
	source      *progress.Source
	list, spare []partWorker
}

type partWorker interface{ work() }

func (w *partWork) add(i *Instance, x partWorker) {
	w.list = append(w.list, x)
	if w.source == nil {
		w.source = i.engine.AddPoller(w)
	}
	w.source.On()
}

// Poll implements progress.Poller.
func (w *partWork) Poll() int {
	list := w.list
	w.list, w.spare = w.spare[:0], nil
	w.source.Off()
	for _, x := range list {
		x.work()
	}
	clear(list)
	w.spare = list[:0]
	return len(list)
}

// startInner starts one of the persistent requests that the messages of a partitioned operation are.
func startInner(h core.Handle) {
	if err := h.R.Owner.Start(h.R); err != nil { // no PML refuses to start; the outcome tells
		h.R.FinishErr(err)
	}
}

func bytesAt(b []byte) Buffer {
	return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(b)), int64(len(b)), datatype.Byte)
}

// PsendInit makes a partitioned send (MPI-4 §4.2): buf is the whole, partitions divides its count. Start it, mark each partition once
// with Pready when its data is there, Wait; and again. The receiver may divide the same amount of data differently.
func (c *Comm) PsendInit(buf Buffer, partitions, dest, tag int) Request {
	if c.seen() {
		return observedStart(c, "Psend_init", dest, buf.Bytes(), func() Request { return c.psendInit(buf, partitions, dest, tag) })
	}
	return c.psendInit(buf, partitions, dest, tag)
}

func (c *Comm) psendInit(buf Buffer, partitions, dest, tag int) Request {
	const op = "Psend_init"
	if err := c.checkSend(op, buf, dest, tag); err != nil {
		return c.refused(op, err)
	}
	if err := checkPartitions(buf, partitions); err != nil {
		return c.refused(op, err)
	}
	p := &psend{c: c, dest: dest, marks: newMarks(partitions)}
	p.Engine, p.Owner = c.inst.engine, p
	p.Renew(c.c, op, dest, buf)
	p.Persistent = true
	p.offer = offer{tag: tag, parts: partitions}
	if partitions > 0 {
		p.offer.bytes = buf.Bytes() / int64(partitions)
	}
	if dest != ProcNull {
		if err := p.open(); err != nil {
			return c.refused(op, err)
		}
	}
	return Request{p.Handle(), c}
}

// PrecvInit makes a partitioned receive: of the amount of data that the matching PsendInit sends. Parrived tells about one of its
// partitions, Wait about the whole. There are no wildcards.
func (c *Comm) PrecvInit(buf Buffer, partitions, source, tag int) Request {
	if c.seen() {
		return observedStart(c, "Precv_init", source, buf.Bytes(), func() Request { return c.precvInit(buf, partitions, source, tag) })
	}
	return c.precvInit(buf, partitions, source, tag)
}

func (c *Comm) precvInit(buf Buffer, partitions, source, tag int) Request {
	const op = "Precv_init"
	if err := c.checkSend(op, buf, source, tag); err != nil { // its rules: there are no wildcards
		return c.refused(op, err)
	}
	if err := checkPartitions(buf, partitions); err != nil {
		return c.refused(op, err)
	}
	p := newPrecv(c, buf, partitions, source, tag)
	h := p.Handle()
	if source != ProcNull {
		c.inst.engine.Lock()
		c.partPeer(source).want(p)
		c.inst.engine.Unlock()
	}
	return Request{h, c}
}

func checkPartitions(buf Buffer, n int) error {
	switch {
	case n < 0 || n > maxPartitions:
		return core.NewError(ErrArg, "%d partitions; there can be 0 to %d", n, maxPartitions)
	case n == 0 && buf.Count() != 0, n > 0 && buf.Count()%int64(n) != 0:
		return core.NewError(ErrCount, "%d elements cannot be divided into %d partitions", buf.Count(), n)
	}
	return nil
}

// Pready marks a partition of an active partitioned send as ready: its data is there and will not change until the request is
// complete. Each is marked once after each Start, by any goroutine.
func (r Request) Pready(partition int) error {
	if r.seen() {
		return r.c.call("Pready", Undefined, 0, func() error { return r.pready(partition) })
	}
	return r.pready(partition)
}

func (r Request) pready(partition int) error {
	const op = "Pready"
	if r.h.R == nil {
		return r.bad(op, "the request is null")
	}
	p, ok := r.h.R.Owner.(*psend)
	if !ok || !r.h.Active() {
		return r.bad(op, "the request is no active partitioned send")
	}
	if uint(partition) >= uint(p.offer.parts) {
		return r.c.badArg(op, ErrArg, "partition %d; there are %d", partition, p.offer.parts)
	}
	if !p.marks.mark(partition) {
		return r.c.badArg(op, ErrArg, "partition %d has been marked already", partition)
	}
	p.ready()
	return nil
}

// Parrived reports whether a partition of a partitioned receive is there. A request that is null or inactive has them all.
func (r Request) Parrived(partition int) (bool, error) {
	if r.seen() {
		return observed(r.c, "Parrived", Undefined, 0, func() (bool, error) { return r.parrived(partition) })
	}
	return r.parrived(partition)
}

func (r Request) parrived(partition int) (bool, error) {
	const op = "Parrived"
	if !r.h.Live() {
		return true, nil
	}
	p, ok := r.h.R.Owner.(*precv)
	if !ok {
		return false, r.bad(op, "the request is no partitioned receive")
	}
	if uint(partition) >= uint(p.parts) {
		return false, r.c.badArg(op, ErrArg, "partition %d; there are %d", partition, p.parts)
	}
	if !r.h.Active() || p.left[partition].Load() == 0 {
		return true, nil
	}
	poll(p.Engine)
	if p.left[partition].Load() == 0 {
		return true, nil
	}
	var err error
	p.Engine.Lock()
	if r.h.Active() && p.Done() {
		err = p.Status.Err // it will never be
	}
	p.Engine.Unlock()
	if err != nil {
		return false, r.failure(op, err, -1)
	}
	return !r.h.Active(), nil
}
