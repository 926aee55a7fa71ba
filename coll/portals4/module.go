package portals4

import (
	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
	p4 "github.com/ompi-go/ompi-go/portals4"
)

// module serves one communicator. But for what never changes its fields belong to the token.
type module struct {
	f     *factory
	comm  *core.Comm
	below *coll.Table
	tree  tree

	self, parent edge
	kids         []edge
	greeted      *p4.CT // neighbours whose entries are there
	ready        bool   // all of them
	needs        int    // triggered operations under way at most
	slots        []slot
	turn         int // the slot of the next round

	first, last *operation // with rounds that are not armed, in the order of their calls
	pumping     bool
	own         operation // that of a caller who waits
	transfer    p4.Transfer
	broken      error // nothing works any more
}

var _ interface {
	coll.Barrierer
	coll.Bcaster
	coll.Allreducer
	coll.Starter
} = (*module)(nil)

// begin lets o take its place. It may be over on return.
func (m *module) begin(o *operation) {
	o.traced = m.f.Begin(triggered[o.kind])
	o.running, o.next = true, nil
	if !o.waited {
		m.comm.Hold()
	}
	err := m.broken
	if f := m.comm.Fault(); f != nil {
		err = f.Err
	}
	if err != nil {
		o.end(err)
		return
	}
	if m.first == nil {
		m.first = o
	} else {
		m.last.next = o
	}
	m.last = o
	m.pump()
}

// pump arms the rounds for which there are slots.
func (m *module) pump() {
	if m.pumping || !m.ready {
		return // the caller's loop goes on, or greeted.Reached will come
	}
	m.pumping = true
	for m.broken == nil && m.first != nil {
		s := &m.slots[m.turn]
		if s.busy {
			break
		}
		o := m.first
		at, n := o.armed, min(m.f.opts.Segment, o.bytes-o.armed)
		o.armed += n
		if o.toArm--; o.toArm == 0 {
			m.first, o.next = o.next, nil
		}
		if m.turn++; m.turn == len(m.slots) {
			m.turn = 0
		}
		if err := s.arm(o, at, n); err != nil {
			m.fail(failure("arming an operation", err))
			break
		}
		s.advance()
	}
	m.pumping = false
}

// fail ends everything on the communicator: nothing that comes later touches its memory.
func (m *module) fail(err error) {
	if m.broken != nil {
		return
	}
	m.broken = err
	m.disarm()
	for i := range m.slots {
		s := &m.slots[i]
		if o := s.op; o != nil && o.running {
			o.end(err)
		}
		s.op = nil
	}
	for o := m.first; o != nil; {
		next := o.next
		o.next = nil
		if o.running {
			o.end(err)
		}
		o = next
	}
	m.first, m.last = nil, nil
}

// failure is an error of the interface that ends the communicator's collectives.
func failure(doing string, err error) error {
	return core.NewError(core.ErrIntern, "collectives over Portals: %s: %w", doing, err)
}

// wait carries out an operation that describe prepares, for a caller who waits. It begins with the token held and gives it back.
func (m *module) wait(o *operation) error {
	e := m.comm.Engine
	m.begin(o)
	if !o.req.Done() {
		e.WaitLocked(&o.req.Completion)
	}
	err := o.err
	o.waited = false
	e.Unlock()
	return err
}

// enter gives a caller who will wait an operation. It takes the token.
func (m *module) enter() *operation {
	m.comm.Engine.Lock()
	o := &m.own
	if o.waited { // goroutines that disagree about the order of operations
		o = new(operation)
	}
	o.f, o.m, o.waited = m.f, m, true
	o.req.Engine = m.comm.Engine
	o.req.Reset()
	return o
}

// Barrier implements coll.Barrierer.
func (m *module) Barrier() error {
	o := m.enter()
	o.barrier()
	return m.wait(o)
}

// fits tells whether data is served here. Ranks agree: they have the same number of bytes (MPI-3.1 §5.4).
func (m *module) fits(bytes int64) bool { return bytes > 0 && bytes <= m.f.opts.MaxData }

// Bcast implements coll.Bcaster. Types may differ between the ranks, but for their elements, so any type is served.
func (m *module) Bcast(buf core.Buffer, root int) error {
	if !m.fits(buf.Bytes()) {
		return m.below.Bcast.Bcast(buf, root)
	}
	o := m.enter()
	o.bcast(buf, root)
	return m.wait(o)
}

// reduces tells whether a reduction is served here.
func (m *module) reduces(send, recv core.Buffer, op *core.Op) (a p4.AtomicOp, t p4.Type, ok bool) {
	if send.IsInPlace() {
		send = recv
	}
	if m.f.atomicMax == 0 || !m.fits(send.Bytes()) {
		return 0, 0, false
	}
	return atomicOf(op, send.Type())
}

// Allreduce implements coll.Allreducer.
func (m *module) Allreduce(send, recv core.Buffer, op *core.Op) error {
	a, t, ok := m.reduces(send, recv, op)
	if !ok {
		return m.below.Allreduce.Allreduce(send, recv, op)
	}
	o := m.enter()
	o.allreduce(send, recv, a, t)
	return m.wait(o)
}

// Start implements coll.Starter.
func (m *module) Start(a *alg.Args) *core.Request {
	var op p4.AtomicOp
	var typ p4.Type
	serves := false
	switch a.Kind {
	case alg.Barrier:
		serves = true
	case alg.Bcast:
		serves = m.fits(a.Send.Bytes())
	case alg.Allreduce:
		op, typ, serves = m.reduces(a.Send, a.Recv, a.Op)
	}
	if !serves {
		if m.below.Start == nil {
			return m.cannot()
		}
		return m.below.Start.Start(a)
	}
	e := m.comm.Engine
	e.Lock()
	o := m.f.take(m)
	switch a.Kind {
	case alg.Barrier:
		o.barrier()
	case alg.Bcast:
		o.bcast(a.Send, a.Root)
		o.req.Buf = a.Send
	case alg.Allreduce:
		o.allreduce(a.Send, a.Recv, op, typ)
		o.req.Buf = a.Recv
	}
	m.begin(o)
	e.Unlock()
	return &o.req
}

// Init implements coll.Starter: persistent operations are those of the component below.
func (m *module) Init(a *alg.Args) *core.Request {
	if m.below.Start == nil {
		return m.cannot()
	}
	return m.below.Start.Init(a)
}

// cannot is the request of an operation that no component has.
func (m *module) cannot() *core.Request {
	e := m.comm.Engine
	e.Lock()
	defer e.Unlock()
	o := m.f.take(m)
	o.finish(core.NewError(core.ErrUnsupportedOperation, "coll: no component has this non-blocking operation; check parameter coll (component nbc has them)"))
	return &o.req
}
