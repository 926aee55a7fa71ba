package portals4

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/portals4"
	"github.com/ompi-go/ompi-go/progress"
)

// module is one of the component's modules in one instance.
type module struct {
	opt    Options
	env    *btl.Env
	engine *progress.Engine
	iface  *portals4.Interface
	ni     *portals4.NI
	number int
	source *progress.Source // on while there is something that waits for another pass
	uid    uint32
	most   int64 // largest message, header included

	eq                   *portals4.EQ // of everything: credit bounds what comes, free lists what ends
	am, rdma             *portals4.PT
	amIndex, rdmaIndex   uint32
	quick, fromSlot, ops *portals4.MDHandle // what the interface copies at once; fragments; gets, puts and atomic operations
	volatile             int                // bytes that the interface copies at once

	links   []*link // by job rank; nil until used by either end
	failing []*link // peers that the interface has given up, until Poll says so
	debtors []*link // peers that could not be sent their credit
	slots   freeSlots
	pending freeOps
	memory  registrations
	recv    blocks

	promised     int64 // credit granted
	promisedMsgs int   // likewise, beyond the least

	x       portals4.Transfer
	into    portals4.Into
	ev      portals4.Event
	hdr     [btl.HeaderMax]byte
	scratch []byte // of a message that the interface copies at once
	polling bool
	closed  bool
	stats   stats
}

// stats count what is seldom. They are written with the token held.
type stats struct {
	waits   uint64 // times that a message had to wait for credit
	credits uint64 // messages that brought credit to others
	blocks  uint64 // blocks linked
}

const (
	// eqSpare are events for blocks that unlink, flow control, and whatever nobody thinks of.
	eqSpare = 1024
	// rankEvents are for each rank: what comes without credit (credit.go), the least promise, and the blocks for that.
	rankEvents = 8 + leastMsgs + 2
)

// open makes the module's objects. The token is held.
func (m *module) open() (err error) {
	if m.ni, err = m.iface.NI(portals4.Matching|portals4.Logical, portals4.AnyPID, nil); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = m.Close() // the first error is the one to tell
		}
	}()
	if err = m.ni.SetJobMap(); err != nil {
		return err
	}
	o := &m.opt
	o.fit(m.ni.Limits(), m.env.Job.Size())
	m.most = o.most()
	if m.uid, err = m.ni.UID(); err != nil {
		return err
	}
	if m.eq, err = m.ni.EQAlloc(o.EQSize); err != nil {
		return err
	}
	m.amIndex = ptIndex(m.number)
	m.rdmaIndex = m.amIndex + 1
	if m.am, err = m.ni.PTAlloc(portals4.PTFlowCtrl|portals4.PTOnlyTruncate, m.eq, m.amIndex); err != nil {
		return err
	}
	if m.rdma, err = m.ni.PTAlloc(0, m.eq, m.rdmaIndex); err != nil {
		return err
	}
	for _, d := range []struct {
		md      **portals4.MDHandle
		eq      *portals4.EQ
		options portals4.MDOptions
	}{
		{&m.quick, nil, portals4.MDVolatile | portals4.MDEventSuccessDisable | portals4.MDEventSendDisable},
		{&m.fromSlot, m.eq, 0},
		{&m.ops, m.eq, portals4.MDEventSendDisable},
	} {
		if *d.md, err = m.ni.MDBind(&portals4.MD{Anywhere: true, EQ: d.eq, Options: d.options}); err != nil {
			return err
		}
	}
	m.volatile = int(min(m.ni.Limits().MaxVolatileSize, 64<<10))
	m.scratch = make([]byte, m.volatile)
	m.links = make([]*link, m.env.Job.Size())
	m.slots.init(o.Slots, int(m.most))
	m.pending.init(o.MaxPending)
	m.memory.init()
	m.recv.m = m
	if err = m.recv.provide(o.RecvNum); err != nil {
		return err
	}
	m.iface.OnFailure(m.unreachable)
	if err = m.eq.OnEvents(m); err != nil {
		return err
	}
	m.source = m.engine.AddPoller(m)
	m.source.Off()
	return nil
}

func (m *module) Name() string { return "portals4" }

func (m *module) Limits() btl.Limits { return m.opt.limits() }

func (o *Options) limits() btl.Limits {
	return btl.Limits{Eager: o.EagerLimit, RndvEager: o.RndvEager, MaxSend: o.MaxSend, MinGet: o.GetLimit, MinPut: o.PutLimit,
		MinPipeline: o.MinPipeline, PipeSend: o.PipeSend, PipeFrag: o.PipeFrag,
		Latency: o.Latency, Bandwidth: o.Bandwidth, Exclusivity: o.Exclusivity}
}

// AddProcs looks at the peers' cards. Credit is asked for with the first message.
func (m *module) AddProcs(procs []*core.Proc) ([]btl.Endpoint, []error) {
	eps, errs := make([]btl.Endpoint, len(procs)), make([]error, len(procs))
	for i, p := range procs {
		if errs[i] = m.reaches(p); errs[i] == nil {
			eps[i] = m.link(p.Rank)
		}
	}
	return eps, errs
}

// reaches says why a process is not reached.
func (m *module) reaches(p *core.Proc) error {
	if p.Locality == core.LocalSelf {
		return errors.New("btl portals4: not to itself")
	}
	if err := m.iface.Reaches(p); err != nil {
		return fmt.Errorf("btl portals4: %w", err)
	}
	b, err := m.env.Job.Get(p.Rank, cardKey)
	if err != nil {
		return fmt.Errorf("btl portals4: rank %d has no portals4 card: %w", p.Rank, err)
	}
	c, err := parseCard(b)
	switch {
	case err != nil:
		return fmt.Errorf("btl portals4: rank %d: %w", p.Rank, err)
	case c.modules <= m.number:
		return fmt.Errorf("btl portals4: rank %d has %d modules (btl_portals4_max_btls)", p.Rank, c.modules)
	case c.most < m.most:
		return fmt.Errorf("btl portals4: rank %d takes messages of %d bytes at most, this one sends up to %d (btl_portals4_max_send_size)", p.Rank, c.most, m.most)
	}
	return nil
}

// Events implements portals4.EQListener: what has happened is handled at once, by whoever drives the engine.
func (m *module) Events(*portals4.EQ) {
	if m.polling { // a handler that makes progress; who is in take looks again
		return
	}
	m.polling = true
	m.take()
	m.polling = false
}

// take handles all events.
func (m *module) take() {
	ev := &m.ev
	for !m.closed {
		if err := m.eq.Take(ev); err != nil {
			if e, ok := err.(*portals4.Error); !ok || e.Code != portals4.ErrEQDropped {
				break
			}
			m.failAll(fmt.Errorf("events were lost: more has come than btl_portals4_eq_recv_size %d has room for", m.opt.EQSize))
		}
		m.handle(ev)
	}
	ev.UserPtr, ev.Start = nil, nil // keep nobody's memory alive
}

func (m *module) handle(ev *portals4.Event) {
	switch p := ev.UserPtr.(type) {
	case *block:
		switch ev.Type {
		case portals4.EventPut:
			m.came(p, ev)
		case portals4.EventAutoUnlink:
			m.recv.unlinked(p)
		}
	case *slot:
		m.sent(p, ev)
	case *op:
		p.over(ev)
	default:
		if ev.Type == portals4.EventPTDisabled {
			// Messages that nobody knows of may have been thrown away.
			m.failAll(errors.New("flow control has struck: some peer has sent more than it was granted"))
		}
	}
}

// later has Poll called in the next pass, and those after it while there is something to do.
func (m *module) later() { m.source.On() }

// Poll does what had to wait (progress.Poller).
func (m *module) Poll() int {
	if m.polling {
		return 0
	}
	m.polling = true
	n := 0
	for ; len(m.failing) > 0 && !m.closed; n++ {
		l := m.failing[0]
		m.failing = m.failing[1:]
		m.take() // the ends of what was under way
		l.fail(l.cause)
		m.slots.reclaim(l)
		m.pending.reclaim(l)
	}
	debtors := m.debtors
	m.debtors = nil
	for _, l := range debtors {
		m.engine.Busy(-1)
		l.owes = false
		l.giveCredit()
	}
	m.pending.again(m)
	m.memory.again()
	m.take()
	if len(m.failing)+len(m.debtors)+len(m.pending.stuck)+len(m.memory.dying) == 0 {
		m.source.Off()
	}
	m.polling = false
	return n
}

// unreachable hears from the interface that it cannot reach a process any more.
func (m *module) unreachable(p *core.Proc, cause error) {
	if l := m.links[p.Rank]; l != nil && !m.closed { // one that was never reached is left to other BTLs
		l.lost(cause)
	}
}

// failAll gives up everybody who has credit, since messages may be missing that nobody will send again.
func (m *module) failAll(cause error) {
	for _, l := range m.links {
		if l != nil && l.granted {
			l.fail(cause)
		}
	}
}

// Flush reports whether everything that was taken is out.
func (m *module) Flush() bool {
	return m.slots.used == 0 && m.pending.used == 0 && len(m.debtors) == 0 && len(m.failing) == 0 && m.iface.Quiet()
}

// Close gives back what was not sent, and stops.
func (m *module) Close() error {
	if m.closed {
		return nil
	}
	m.closed = true
	if m.source != nil {
		m.source.Off()
	}
	m.engine.Busy(int32(-len(m.debtors) - len(m.pending.stuck)))
	for _, l := range m.links {
		if l != nil && l.dead == nil {
			l.dead = errClosed
		}
	}
	m.slots.giveBack(nil, errClosed)
	m.pending.giveBack(nil, errClosed)
	m.debtors, m.failing, m.pending.stuck = nil, nil, nil
	// An entry that is in use keeps its memory, and goes with the interface.
	m.memory.close()
	m.recv.close()
	var errs []error
	free := func(made bool, f func() error) {
		if made {
			if err := f(); err != nil && !errors.Is(err, portals4.ErrInUse) {
				errs = append(errs, err)
			}
		}
	}
	for _, md := range []*portals4.MDHandle{m.quick, m.fromSlot, m.ops} {
		free(md != nil, md.Release)
	}
	free(m.am != nil, m.am.Free)
	free(m.rdma != nil, m.rdma.Free)
	free(m.eq != nil, m.eq.Free)
	free(true, m.ni.Close)
	return errors.Join(errs...)
}

var errClosed = errors.New("btl portals4: closed")

// bytesAt is n bytes at p.
func bytesAt(p unsafe.Pointer, n int64) []byte { return unsafe.Slice((*byte)(p), n) }
