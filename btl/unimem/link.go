package unimem

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/shm"
	"github.com/ompi-go/ompi-go/unimem"
)

// link is the connection with one rank of this host, both ways.
type link struct {
	m      *module
	proc   *core.Proc
	at     int // its position
	owner  *shm.Peer
	peer   *unimem.Peer
	card   card
	routes routes
	dead   error
	report *progress.Timer // its failure is about to be told
	fenced atomic.Uint32   // target of the barrier where membarrier is missing
	called bool            // the peer was told to look at its queue
	outbox []unimem.Message
	failed error // as the timer will tell

	// Sending.
	slots     []slot
	free      []uint8 // of them
	busy      int     // and how many are not
	size      int64   // largest message: the smaller of both ends' bounce buffers
	credits   int     // eager buffers at the peer that may be written
	eagerNext uint64  // those ever used
	eagerWay  unimem.Route
	eagerBase int64 // first of them, in the peer's memory

	// Receiving.
	bounce  []bounce
	partial unimem.Message // INLINE whose second message is still to come; its kind is 0 when there is none
	wrote   uint64         // eager buffers that the peer has written
	owed    uint32         // of which it has not been told that they are free again
	heard   uint64         // its heartbeat as last seen
	silence int            // how often it was the same since
}

// slot is a bounce buffer of the sender, and the message in it.
type slot struct {
	l      *link
	id     uint8
	state  slotState
	tag    uint8
	hdrLen uint8
	n      int64 // header and payload
	mem    unsafe.Pointer
	theirs uint32    // number of the receiver's buffer
	frag   *btl.Frag // whose payload is read where it lies, nil: it is in the buffer
	seq    uint64    // of an eager message
	head   unimem.Transfer
	body   unimem.Transfer // payload that lies elsewhere
	way    way
	left   int // transfers that are not over
}

type slotState uint8

const (
	slotFree slotState = iota
	slotAsked
	slotMoving
	slotEager
	slotBounce // a transfer of the floor above has it
)

// bounce is a buffer of the receiver, and the message that comes into it.
type bounce struct {
	off    int64
	tag    uint8
	hdrLen uint8
	n      int64
	taken  bool
}

// connect maps the peer's device and makes the buffers.
func (l *link) connect() error {
	m := l.m
	b, err := m.env.Job.Get(l.proc.Rank, cardKey)
	if err != nil {
		return err
	}
	if l.card, err = parseCard(b, m.cfg.Peers); err != nil {
		return err
	}
	if l.owner, err = m.shm.Attach(l.proc.Rank); err != nil {
		return err
	}
	cfg := l.card.config()
	base, err := m.shm.At(l.proc.Rank, shm.Piece(l.card.piece), cfg.Size())
	if err != nil {
		return err
	}
	if err := l.buffers(); err != nil {
		return err
	}
	me := m.shm.Position(m.env.Job.Rank())
	l.peer = m.dev.Connect(base, cfg, me, l.at)
	if l.routes, err = m.newRoutes(l.peer); err != nil {
		return err
	}
	eager := int64(l.card.buffers) * int64(l.card.eagerSize)
	l.eagerBase = int64(l.card.eagerAt) + int64(me)*eager
	if m.opt.Eager { // pre-allocated, and registered once: the cost is not a message's
		if l.eagerWay, err = m.dev.Register(l.peer, l.eagerBase, eager); err != nil {
			return err
		}
		l.credits = int(l.card.buffers)
	}
	return m.watch(l, l.owner.PID())
}

// buffers makes the bounce buffers for both directions. There are as many for what the peer sends as it may use at a time, so that a peer
// never waits for what another does.
func (l *link) buffers() error {
	m := l.m
	out := min(m.opt.Buffers, int(l.card.buffers))
	size := m.opt.slotBytes()
	if l.size = int64(l.card.bufferSize); l.size < size {
		return fmt.Errorf("rank %d has bounce buffers of %d bytes, this one of %d: btl_unimem_max_send_size and btl_unimem_eager_limit must be the same in all ranks",
			l.proc.Rank, l.size, size)
	}
	l.size = size
	off, err := m.dev.Alloc(size * int64(out+m.opt.Buffers))
	if err != nil {
		return fmt.Errorf("bounce buffers for rank %d: %w", l.proc.Rank, err)
	}
	l.slots = make([]slot, out)
	l.free = make([]uint8, out)
	for i := range l.slots {
		s := &l.slots[i]
		s.l, s.id, s.mem = l, uint8(i), m.dev.At(off)
		s.head.Owner, s.body.Owner = s, s
		l.free[i] = uint8(out - 1 - i)
		off += size
	}
	l.bounce = make([]bounce, m.opt.Buffers)
	for i := range l.bounce {
		l.bounce[i].off = off
		off += size
	}
	l.outbox = make([]unimem.Message, 0, 2*len(l.slots)+2*len(l.bounce)+2)
	return nil
}

// say sends a message of the protocol, which cannot be refused: how many may wait for room is bounded by the buffers.
func (l *link) say(f frame) {
	l.outbox = append(l.outbox, f.message())
	l.post()
}

// post sends what waits, in order.
func (l *link) post() {
	n := 0
	for n < len(l.outbox) && l.room(1) {
		l.peer.Out.Put(&l.outbox[n])
		n++
	}
	if n > 0 {
		l.outbox = l.outbox[:copy(l.outbox, l.outbox[n:])]
		l.wake()
	}
}

// room reports whether n mailbox messages can be sent now.
func (l *link) room(n uint32) bool {
	if l.peer.Out.Room(n) {
		return true
	}
	if l.peer.Out.Bad() {
		l.later(l.garbage("says that it has read what was never sent"))
	}
	return false
}

// wake rings the peer if it sleeps. Its flag is read after the message was written: where the reader of the flag cannot be sure that the
// sleeper sees the message, a barrier goes between.
func (l *link) wake() {
	if !l.called {
		l.called = true
		l.peer.Call()
	}
	if l.m.fence {
		l.fenced.Add(1)
	}
	l.m.shm.Ring(l.owner)
}

func (l *link) garbage(what string) error {
	return fmt.Errorf("btl unimem: rank %d %s", l.proc.Rank, what)
}

// later has the timer tell of a failure that is noticed where nobody may be told.
func (l *link) later(cause error) {
	if l.dead == nil && l.report == nil {
		l.failed = cause
		l.report = l.m.engine.AddTimer(0, l)
	}
}

// Expired is the timer's call.
func (l *link) Expired() {
	l.report = nil
	if l.failed != nil {
		l.fail(l.failed)
		return
	}
	l.m.env.Upcalls.EndpointFailed(l.m, l.proc, true, l.dead)
}

// fail gives the peer up. Nothing that it sends later is looked at.
func (l *link) fail(cause error) {
	if l.dead != nil {
		return
	}
	l.dead = cause
	l.m.engine.StopTimer(l.report)
	l.report = nil
	l.m.env.Upcalls.EndpointFailed(l.m, l.proc, true, cause)
	l.giveBack(cause)
}

// giveBack ends what is under way, in order to let go of the memory of others.
func (l *link) giveBack(cause error) {
	if l.peer == nil {
		return
	}
	l.m.dev.Abandon(l.peer)
	l.outbox = l.outbox[:0]
	for i := range l.slots {
		s := &l.slots[i]
		if s.state == slotMoving {
			l.routes.release(&s.way)
		}
		if f := s.frag; f != nil {
			s.frag = nil
			f.Owner.FragDone(f, cause)
		}
	}
	l.m.abandonOps(l, cause)
	l.routes.close()
	l.m.dev.Deregister(l.eagerWay)
}
