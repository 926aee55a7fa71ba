// Package ob1 is the PML that matches messages in software over BTLs.
//
// The way of a message: Send numbers it, chooses a protocol (choose.go) and hands a first fragment to the peer's first path
// (send.go), or queues it when the path has no room (out.go). The receiver's BTL calls the handler of the frame's type (recv.go),
// which puts the message in sequence and matches it (queue.go): an eager one is copied out; for a long one the receiver reads the
// sender's memory, or asks for fragments (long.go), or its memory is written (transfer.go and put.go).
//
// Everything happens with the engine's token held. Nothing here does I/O or knows a BTL by name: tests drive the module with
// scripted BTLs and compare whole transcripts of frames.
package ob1

import (
	"errors"
	"fmt"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/internal/invariants"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/progress"
)

func init() { mca.Register(component{}) }

type component struct{}

// Options are the component's parameters.
type Options struct {
	Priority int `mca:"priority" default:"20" min:"0" max:"100" level:"9" help:"priority among the PMLs"`
	Depth    int `mca:"send_pipeline_depth" default:"4" min:"1" max:"1024" level:"5" settable:"true" help:"fragments of one message that may be under way at once"`

	EarlyMessages int    `mca:"early_messages" default:"262144" min:"0" level:"6" help:"messages of one peer that are kept because their communicator is not made here yet or earlier ones have not come; a peer that exceeds it counts as failed; 0: no limit"`
	EarlyBytes    int64  `mca:"early_bytes" default:"256m" min:"0" level:"6" unit:"bytes" help:"what they may hold together"`
	Unexpected    int64  `mca:"unexpected_bytes" default:"64m" min:"0" level:"4" unit:"bytes" help:"what messages that have not matched may hold of this rank's memory, all peers together; senders wait beyond it, unless a receive waits for what they keep back; at least 2k for each rank of the job; 0: no limit"`
	RecvDepth     int    `mca:"recv_pipeline_depth" default:"4" min:"1" max:"1024" level:"5" settable:"true" help:"pieces of a receive buffer that may be registered for its sender to write at once"`
	Protocol      string `mca:"protocol" default:"auto" enum:"auto|inline|eager|rndv|rget|put|pipeline|coop" level:"5" settable:"true" help:"how messages go: auto chooses, any other is taken where it is possible at all, else the nearest to it; ranks may differ, the sender's value holds"`
	Checksum      bool   `mca:"checksum" default:"false" level:"4" help:"send a CRC32C with all data and check it where it arrives; must be the same in all ranks"`
	TraceInternal bool   `mca:"trace_internal" default:"false" level:"6" help:"record the library's own messages, such as those of collectives, in mpi_trace_file too, under the category pml.internal"`
}

func (component) Framework() string { return "pml" }
func (component) Name() string      { return "ob1" }
func (component) Options() any      { return &Options{} }

// Managers is how ob1 gets its bml: the instance opens one and passes it.
type Managers interface{ BML() bml.Manager }

// Priority implements pml.Component.
func (component) Priority(params *mca.Params) (int, error) {
	var opt Options
	err := params.Decode("pml", "ob1", &opt)
	return opt.Priority, err
}

// Open makes the module; the instance's BML comes through env.Upcalls.
func (component) Open(env *btl.Env) (pml.Module, error) {
	var opt Options
	if err := env.Params.Decode("pml", "ob1", &opt); err != nil {
		return nil, err
	}
	b, ok := env.Upcalls.(Managers)
	if !ok || b.BML() == nil {
		return nil, fmt.Errorf("pml ob1: %w: no bml", btl.ErrUnavailable)
	}
	o := newModule(env, b.BML(), opt)
	return o, env.Params.Watch("pml", "ob1", func(into any) (func(), error) {
		return func() {
			x := into.(*Options)
			o.opt.Depth, o.opt.RecvDepth, o.opt.Protocol = x.Depth, x.RecvDepth, x.Protocol
			o.LimitsChanged()
		}, nil
	})
}

// LimitsChanged implements pml.LimitsUser.
func (o *module) LimitsChanged() {
	for _, p := range o.peers {
		if p == nil {
			continue
		}
		for _, paths := range [][]*bml.Path{p.ep.Eager, p.ep.Bulk} {
			for _, path := range paths {
				path.Limits = path.Module.Limits()
			}
		}
		o.resolve(p)
	}
}

// Stats are the module's counters, written with the token held. Those of messages include the internal traffic of collectives.
type Stats struct {
	// By protocol, messages and their bytes. The sender counts a message when it begins to send it, as what it offers. The receiver
	// counts it when it has matched, and its bytes when they are in the buffer, by how they come: inline messages look like
	// eager ones to it, and what is offered as rget is rndv when the sender's memory cannot be read.
	Sent, Received           [protoCount]uint64
	SentBytes, ReceivedBytes [protoCount]uint64

	Matches       uint64
	Unexpected    uint64 // messages that came before their receive
	OutOfSequence uint64 // messages held until earlier ones came
	Stray         uint64 // messages of communicators not made yet
	Refused       uint64 // frames that made no sense
	Retries       uint64 // times that a send or a control frame had to wait for room
	Again         uint64 // first fragments and further ones sent again because their path broke
	CopyFallback  uint64 // ranges whose memory could not be registered, read or written, and were replaced by fragments
	Overruled     uint64 // messages sent otherwise than pml_ob1_protocol wishes

	ChecksumErrors uint64 // payloads that were not what their sender summed

	Credit CreditStats
}

type module struct {
	env      *btl.Env
	engine   *progress.Engine
	bml      bml.Manager
	opt      Options
	procs    []*core.Proc
	peers    []*peer    // by job rank; nil until first used
	chans    []*channel // by channel id
	ids      idTable
	stray    map[uint32][]*message
	early    []early // by job rank
	late     map[place]*recvReq
	credit   credits
	starveds int // messages of this rank that are kept back for want of credit
	out      outQueue
	stats    Stats
	tr       *tracer // nil: nobody wants a trace

	arch    datatype.Arch // in which this rank sends, resolved
	extends bool          // its frames are extended ones
	scratch []byte        // for checksums of data with gaps

	sends    *sendReq
	recvs    *recvReq
	sendsOut sendList // held by users
	recvsOut recvList
	msgs     *message
	ctls     *ctl
	frags    *dataFrag
	writings *writing
	pieces   *piece
	given    []core.Buffer // memory that a peer may still write to, after a cancellation
	payloads payloadPool
	nFree    balance
	closed   bool
	matchH   matchHandler
	rndvH    rndvHandler
	rgetH    rgetHandler
	ackH     ackHandler
	fragH    fragHandler
	finH     finHandler
	putH     putHandler
	doneH    doneHandler
}

// place is where a BTL is writing a payload for a communicator that has been freed meanwhile, after a member's death.
type place struct {
	peer int // rank in the job
	ctx  uint32
}

// balance counts what is out of each pool; Quiet and Close look at it.
type balance struct{ msgs, ctls, frags, moves int }

// peer is a process as ob1 sends to it.
type peer struct {
	proc   *core.Proc
	ep     *bml.Endpoint
	path   *bml.Path
	limits limits
	queue  outList // what waits for room
	parked ctlList // control frames that a broken path did not take; they wait for another, or the peer's end

	differs bool // in architecture; known to ranks that are not little-endian

	left     int64 // credit at the peer: granted, less the cost of all first frames
	granted  int64
	starving []*starving
}

// channel is a message space: one context of a communicator.
type channel struct {
	id     uint32
	comm   *core.Comm
	ranks  []rankState
	posted posted
	unexp  unexpected
	probes []*probe
	taken  []*message  // by matched probes; announced messages only
	fault  *core.Error // nothing works any more

	settling bool // all that was sent to it is wanted
}

// rankState is one member of a channel's communicator.
type rankState struct {
	peer       *peer    // nil until this rank sends to it
	job        int      // rank in the job
	placing    *recvReq // its payload is being written into the user's buffer by a BTL
	spare      *message // the same message as came over another path meanwhile
	cut        []cut    // receives whose messages broke off and will come again
	sendSeq    uint16
	placingSeq uint16
	expected   uint16
	held       *message // out of sequence, ascending from expected
}

func newModule(env *btl.Env, b bml.Manager, opt Options) *module {
	o := &module{env: env, engine: env.Engine, bml: b, opt: opt, procs: env.Procs, peers: make([]*peer, len(env.Procs)), stray: make(map[uint32][]*message), early: make([]early, len(env.Procs))}
	o.putH.o, o.doneH.o = o, o
	o.matchH.o, o.rndvH.o, o.rgetH.o, o.ackH.o, o.fragH.o, o.finH.o = o, o, o, o, o, o
	for t, h := range map[int]btl.Handler{typeMatch: &o.matchH, typeRndv: &o.rndvH, typeRget: &o.rgetH, typeAck: &o.ackH, typeFrag: &o.fragH, typeFin: &o.finH, typePut: &o.putH, typeDone: &o.doneH} {
		env.Dispatch.Handlers[tagOf(t)] = h
	}
	o.tr = newTracer(o, env)
	o.extend()
	o.credit.init(o)
	o.engine.Lock()
	o.out.source = o.engine.AddPoller(&o.out)
	o.out.source.Off()
	o.engine.Unlock()
	o.out.o = o
	return o
}

func (o *module) Name() string       { return "ob1" }
func (o *module) MaxTag() int        { return pml.PairTags - 1 }
func (o *module) MaxContext() uint32 { return 1<<16 - 1 }

// Stats gives a copy of the counters. The token is held.
func (o *module) Stats() Stats {
	s := o.stats
	s.Credit = o.credit.stats
	return s
}

// AddComm implements pml.Module.
func (o *module) AddComm(c *core.Comm) error {
	o.engine.Lock()
	defer o.engine.Unlock()
	for _, ch := range []*core.Channel{&c.P2P, &c.Inner} {
		if ch.ID > o.MaxContext() {
			return core.NewError(core.ErrOther, "pml ob1 has no context %d: its limit is %d", ch.ID, o.MaxContext())
		}
		for int(ch.ID) >= len(o.chans) {
			o.chans = append(o.chans, nil)
		}
		m := &channel{id: ch.ID, comm: c, ranks: make([]rankState, c.Peers())}
		for r := range m.ranks {
			m.ranks[r].job = c.Procs[r].Rank
		}
		m.posted.t.init()
		m.unexp.t.init()
		o.chans[ch.ID] = m
		for _, s := range o.stray[ch.ID] {
			o.replay(m, s)
		}
		delete(o.stray, ch.ID)
	}
	return nil
}

// DelComm implements pml.Module.
func (o *module) DelComm(c *core.Comm) {
	o.engine.Lock()
	defer o.engine.Unlock()
	for _, ch := range []*core.Channel{&c.P2P, &c.Inner} {
		m := o.chans[ch.ID]
		for _, q := range []*queue{&m.unexp.all, &m.unexp.pairs} {
			for q.head != nil {
				s := q.head.msg
				m.unexp.remove(s)
				o.freeMsg(s)
			}
		}
		for i := range m.ranks {
			if r := m.ranks[i].placing; r != nil {
				if o.late == nil {
					o.late = make(map[place]*recvReq)
				}
				o.late[place{m.ranks[i].job, ch.ID}] = r
			}
			if s := m.ranks[i].spare; s != nil {
				m.ranks[i].spare = nil
				o.freeMsg(s)
			}
			for s := m.ranks[i].held; s != nil; {
				next := s.next
				o.due(s)
				o.freeMsg(s)
				s = next
			}
		}
		o.chans[ch.ID] = nil
	}
}

// connect gives the peer of a rank, resolving its endpoint at first use; the error is for the operation that wanted it.
func (o *module) connect(m *channel, rank int) (*peer, *core.Error) {
	p, err := o.reach(m.comm.Procs[rank], rank)
	if err == nil {
		m.ranks[rank].peer = p
	}
	return p, err
}

// reach is connect for a process; errors name it as rank.
func (o *module) reach(proc *core.Proc, rank int) (*peer, *core.Error) {
	if err := proc.Failed(); err != nil {
		return nil, peerError(err, rank)
	}
	p := o.peers[proc.Rank]
	if p == nil {
		ep, err := o.bml.Endpoint(proc)
		if err != nil {
			var e *core.Error
			if errors.As(err, &e) {
				return nil, peerError(e, rank)
			}
			return nil, &core.Error{Class: core.ErrOther, Peer: rank, Index: -1, Err: err}
		}
		if err := proc.Failed(); err != nil { // found while connecting
			return nil, peerError(err, rank)
		}
		grant := o.credit.grantTo(proc.Rank)
		p = &peer{proc: proc, ep: ep, left: grant, granted: grant}
		if err := o.meet(p); err != nil {
			return nil, &core.Error{Class: core.ErrOther, Peer: rank, Index: -1, Err: err}
		}
		o.resolve(p)
		o.peers[proc.Rank] = p
	}
	return p, nil
}

// resolve reads off the endpoint what every send needs.
func (o *module) resolve(p *peer) {
	p.path = p.ep.First()
	p.limits = o.limitsOf(p.ep, p.path)
}

func peerError(e *core.Error, rank int) *core.Error {
	return &core.Error{Class: e.Class, Peer: rank, Index: -1, Err: e.Err}
}

// Quiet implements pml.Module.
func (o *module) Quiet() bool {
	b, ok := o.bml.(bml.Quieter)
	return o.out.n == 0 && o.starveds == 0 && o.ids.live == 0 && o.nFree.frags == 0 && o.nFree.moves == 0 && (!ok || b.Quiet())
}

// Close implements pml.Module.
func (o *module) Close() error {
	o.closed = true
	o.engine.RemovePoller(&o.out)
	o.credit.rest()
	for _, p := range o.peers {
		if p != nil {
			o.dropParked(p)
		}
	}
	return o.balanced()
}

// balanced checks, under the tag invariants, that everything went back to its pool in an instance where nothing failed.
func (o *module) balanced() error {
	if !invariants.On {
		return nil
	}
	for _, p := range o.procs {
		if p.Failed() != nil {
			return nil
		}
	}
	for _, m := range o.chans {
		if m != nil && (m.fault != nil || m.posted.n != 0 || m.unexp.n != 0) {
			return nil // cancelled, or a program that leaves messages behind
		}
	}
	if b := o.nFree; b.ctls != 0 || b.frags != 0 || b.msgs != 0 || b.moves != 0 || o.ids.live != 0 || o.out.n != 0 {
		return fmt.Errorf("pml ob1: not everything came back: %+v, %d long messages, %d waiting", b, o.ids.live, o.out.n)
	}
	return nil
}
