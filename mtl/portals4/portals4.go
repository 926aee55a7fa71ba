package portals4

import (
	"fmt"
	"math"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/mtl"
	ptl "github.com/ompi-go/ompi-go/portals4"
	"github.com/ompi-go/ompi-go/progress"
)

func init() { mca.Register(component{}) }

type component struct{}

func (component) Framework() string { return "mtl" }
func (component) Name() string      { return "portals4" }
func (component) Options() any      { return &Options{} }

// module is the open MTL of an instance.
type module struct {
	opt    Options
	split  split
	most   int    // bytes in an unexpected put, at most
	long   uint64 // protocol of long messages: protoLong or protoRndv
	trig   bool   // receives arm gets
	limits ptl.Limits

	env    *btl.Env
	engine *progress.Engine
	iface  *ptl.Interface
	ni     *ptl.NI

	sendEQ, readEQ, recvEQ, flowEQ *ptl.EQ
	recvPT, readPT, flowPT         *ptl.PT
	md                             *ptl.MDHandle // of memory anywhere, its events go to sendEQ
	mute                           *ptl.MDHandle // likewise, without events
	swift                          *ptl.MDHandle // likewise, whose puts are copied: see quick.go
	xfer                           ptl.Transfer  // reused by every call

	me    int // rank in the job
	peers []*peer
	chans []*channel // by number

	slots  int // operations of ours that may begin; each ends with one event in sendEQ
	flying int // puts under way of those that count for a drain
	ids    ids
	pools  pools
	sends  []*sendReq // all that live
	recvs  []*recvReq
	free   struct {
		sends *sendReq
		recvs *recvReq
		notes *note
		msgs  *message
	}
	waiting peerList // peers with sends that wait
	gets    getQueue // gets that wait for a slot, or to be tried again
	notes   noteQueue
	search  searching

	blocks blocks
	credit credits
	rec    recovery
	trigs  triggers
	stats  stats
	broken *core.Error // events were lost: nothing works any more
	reopen bool        // the portal table entry read was disabled: its queue was full
	closed bool
}

// peer is a process of the job.
type peer struct {
	proc *core.Proc
	id   ptl.Process
	seq  uint64 // of the next message to it
	q    sendQueue
	next *peer // in waiting
	in   bool  // in waiting

	reached bool // there is a way to it

	penalty, poor int    // after a refusal this many short messages are announced as long ones
	refused       int    // recoveries in a row in which it refused something
	round         uint64 // the last of them
	delayed       bool   // its queue waits for the timer

	unmarked, marked uint64 // quick sends, and those known to have come
	mark             marker // on its way, if it names the peer

	account
}

// channel is a message space of a communicator.
type channel struct {
	ch      *core.Channel
	open    int // sends that have not come
	unarmed int // receives posted that may have to get a message under its bits: see triggered.go
}

// Open implements mtl.Component.
func (component) Open(env *btl.Env) (mtl.Module, int, error) {
	var opt Options
	if err := env.Params.Decode("mtl", "portals4", &opt); err != nil {
		return nil, 0, err
	}
	m, err := newModule(env, opt)
	if err != nil {
		return nil, 0, err
	}
	fence := env.Fenced
	if m.iface, err = ptl.Of(env); err != nil {
		return nil, 0, fmt.Errorf("mtl portals4: %w", err)
	}
	m.engine.Lock()
	err = m.setUp()
	m.engine.Unlock()
	if err == nil && fence { // nobody sends before all have their entries
		err = env.Job.Fence()
	}
	if err != nil {
		return nil, 0, fmt.Errorf("mtl portals4: %w", err)
	}
	return m, opt.Priority, nil
}

// newModule checks what needs no interface.
func newModule(env *btl.Env, opt Options) (*module, error) {
	b, err := parseSplit(opt.MatchBits)
	if err != nil {
		return nil, err
	}
	m := &module{opt: opt, split: b, env: env, engine: env.Engine, me: env.Job.Rank(), long: protoLong}
	switch n := len(env.Procs); {
	case env.Mixed:
		return nil, fmt.Errorf("mtl portals4: %w: ranks of different architectures; use pml ob1", btl.ErrUnavailable)
	case n > b.maxRank()+1:
		return nil, fmt.Errorf("mtl portals4: the job has %d ranks, the match bits %s have room for %d (mtl_portals4_match_bits)", n, b.terms(), b.maxRank()+1)
	}
	if opt.LongProtocol != "eager" {
		m.long = protoRndv
		m.trig = opt.LongProtocol == "triggered"
	}
	if m.trig { // a short message sets off no get
		m.opt.ShortLimit = min(m.opt.ShortLimit, m.opt.EagerLimit-1)
	}
	m.most = int(max(m.opt.ShortLimit, m.opt.EagerLimit))
	m.chans = make([]*channel, 1<<ctxBits)
	return m, nil
}

// setUp makes everything of the interface. The token is held.
func (m *module) setUp() error {
	flavour := ptl.Matching | ptl.PhysicalAddresses
	if m.opt.UseLogical {
		flavour = ptl.Matching | ptl.Logical
	}
	var err error
	limits := m.desired()
	if m.ni, err = m.iface.NI(flavour, ptl.AnyPID, &limits); err != nil {
		return err
	}
	if m.opt.UseLogical {
		if err = m.ni.SetJobMap(); err != nil {
			return err
		}
	}
	m.limits = m.ni.Limits()
	m.opt.MaxMsgSize = int64(min(uint64(m.opt.MaxMsgSize), m.limits.MaxMsgSize))
	for _, p := range m.env.Procs {
		m.peers = append(m.peers, &peer{proc: p, id: m.ni.ProcessOf(p.Rank)})
	}
	m.credit.init(m)
	if want := m.credit.headers(&m.opt, len(m.peers)); m.credit.on && want > m.limits.MaxUnexpectedHeaders {
		return fmt.Errorf("flow control by credit needs %d unexpected headers, the interface has %d (mtl_portals4_flow_control)", want, m.limits.MaxUnexpectedHeaders)
	}
	if m.trig {
		m.trigs.init(m)
	}
	m.slots = m.opt.SendSlots
	eqs := []struct {
		q **ptl.EQ
		n int
	}{
		{&m.sendEQ, m.opt.SendSlots + m.trigs.most + 8}, {&m.readEQ, m.opt.SendSlots + 8},
		{&m.recvEQ, m.opt.RecvSlots + 2*m.opt.SendSlots}, {&m.flowEQ, 64 + 8*len(m.peers) + m.opt.SendSlots},
	}
	for _, e := range eqs {
		if *e.q, err = m.ni.EQAlloc(e.n); err != nil {
			return err
		}
		if err = (*e.q).OnEvents(m); err != nil {
			return err
		}
	}
	pts := []struct {
		pt     **ptl.PT
		o      ptl.PTOptions
		q      *ptl.EQ
		index  int
		serves string
	}{
		{&m.recvPT, ptl.PTFlowCtrl, m.recvEQ, m.opt.RecvPT, "recv"}, {&m.readPT, ptl.PTFlowCtrl, m.readEQ, m.opt.ReadPT, "read"},
		{&m.flowPT, 0, m.flowEQ, m.opt.FlowPT, "flow"},
	}
	for _, p := range pts {
		pt, err := m.ni.PTAlloc(p.o, p.q, uint32(p.index))
		if err != nil {
			return fmt.Errorf("mtl_portals4_%s_pt: %w", p.serves, err)
		}
		*p.pt = pt
	}
	if m.md, err = m.ni.MDBind(&ptl.MD{Anywhere: true, EQ: m.sendEQ, Options: ptl.MDEventSendDisable}); err != nil {
		return err
	}
	if m.mute, err = m.ni.MDBind(&ptl.MD{Anywhere: true}); err != nil {
		return err
	}
	if m.swift, err = m.ni.MDBind(&ptl.MD{Anywhere: true, Options: ptl.MDVolatile}); err != nil {
		return err
	}
	if err = m.blocks.init(m); err != nil {
		return err
	}
	if err = m.openRead(); err != nil {
		return err
	}
	if err = m.rec.init(m); err != nil {
		return err
	}
	m.iface.OnFailure(m.lost)
	m.engine.AddPoller(m)
	return nil
}

// desired are the largest limits there are, but for the headers of unexpected messages.
func (m *module) desired() ptl.Limits {
	const n, big = math.MaxInt, math.MaxUint64
	heads := m.opt.MaxHeaders
	if m.opt.FlowControl == "credit" {
		heads = m.credit.headers(&m.opt, len(m.env.Procs))
	}
	return ptl.Limits{MaxEntries: n, MaxUnexpectedHeaders: heads, MaxMDs: n, MaxCTs: n, MaxEQs: n, MaxPTIndex: 63, MaxIovecs: n, MaxListSize: n, MaxTriggeredOps: n,
		MaxMsgSize: big, MaxAtomicSize: big, MaxFetchAtomicSize: big, MaxWAWOrderedSize: big, MaxWAROrderedSize: big, MaxVolatileSize: big}
}

// lost is told that a process cannot be reached any more.
func (m *module) lost(p *core.Proc, cause error) {
	if !m.closed && p.Failed() == nil {
		m.env.Upcalls.EndpointFailed(nil, p, true, cause)
	}
}

// Name and the limits implement mtl.Module.
func (m *module) Name() string       { return "portals4" }
func (m *module) MaxTag() int        { return m.split.maxTag() }
func (m *module) MaxContext() uint32 { return 1<<ctxBits - 1 }
func (m *module) MaxRank() int       { return m.split.maxRank() }

// Terms implements mtl.Termed.
func (m *module) Terms() string {
	addresses := "physical"
	if m.opt.UseLogical {
		addresses = "logical"
	}
	gets, credit := "", ""
	if m.trig {
		gets = ", triggered gets"
	}
	if m.credit.on { // a sender knows its window at each receiver from its own parameters
		credit = fmt.Sprintf(" for %d messages and %d bytes", m.credit.heads, m.credit.bytes)
	}
	return fmt.Sprintf("match bits %s, %s addresses, flow control by %s%s, short messages to %d bytes, portal table entries %d, %d, %d%s",
		m.split.terms(), addresses, m.opt.FlowControl, credit, m.opt.ShortLimit, m.opt.RecvPT, m.opt.ReadPT, m.opt.FlowPT, gets)
}

// AddComm implements mtl.Module.
func (m *module) AddComm(c *core.Comm) error {
	if c.Inner.ID > m.MaxContext() {
		return core.NewError(core.ErrComm, "mtl portals4: channel number %d does not fit into %d bits of the match bits", c.Inner.ID, ctxBits)
	}
	if n := max(c.Peers(), c.Size()); n > m.MaxRank()+1 {
		return core.NewError(core.ErrComm, "mtl portals4: a communicator of %d ranks; the match bits %s have room for %d (mtl_portals4_match_bits)", n, m.split.terms(), m.MaxRank()+1)
	}
	for _, ch := range []*core.Channel{&c.P2P, &c.Inner} {
		m.chans[ch.ID] = &channel{ch: ch}
	}
	return nil
}

// DelComm implements mtl.Module.
func (m *module) DelComm(c *core.Comm) {
	for _, ch := range []*core.Channel{&c.P2P, &c.Inner} {
		if x := m.chans[ch.ID]; x != nil && x.ch == ch {
			m.purge(x)
			m.chans[ch.ID] = nil
		}
	}
}

// peerOf is the process that a rank names on a channel.
func (m *module) peerOf(ch *core.Channel, rank int) *peer { return m.peers[ch.Comm.Procs[rank].Rank] }

// Quiet implements mtl.Module.
func (m *module) Quiet() bool {
	return len(m.sends) == 0 && m.flying == 0 && m.gets.head == nil && m.notes.head == nil && m.rec.state == recIdle && m.slots == m.opt.SendSlots
}

// Close implements mtl.Module. The interface, which ends all that is its own, is closed by the instance.
func (m *module) Close() error {
	if m.closed {
		return nil
	}
	m.closed = true
	m.engine.RemovePoller(m)
	m.rec.stop(m)
	return nil
}
