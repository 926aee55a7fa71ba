package udp

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/inet"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
)

// module is the component in one instance. All its state is guarded by the engine's token, but watch.beat.
type module struct {
	env    *btl.Env
	engine *progress.Engine
	job    rte.Job
	opts   options
	secret [32]byte // the job's
	cookie [32]byte // of this module: see answer

	locals  []inet.Local
	loop    string // see inet.LoopDomain
	sockets []*socket
	eps     []*endpoint // by job rank; nil until wanted
	slots   int         // packets that are held before their turn, of a connection
	window  uint32      // what a peer may have under way to us
	conns   int         // made so far

	base   time.Time // of clock
	now    int64     // the clock when it was last looked at
	looked int64     // see watch.away
	source *progress.Source
	urgent bool        // the next pass is to look at what is due
	inPass bool        // what is sent now goes at the end of the pass
	turns  uint        // passes
	busy   []*endpoint // those with something due
	uneasy []*endpoint // whose failure is to be told, from Poll
	batch  batch
	rx     *receiver // nil until something came
	pool   inet.Pool
	bits   []byte            // of an acknowledgement
	greet  [hsSize + 64]byte // a message of the handshake
	inject *injector         // nil: nothing is to go wrong
	watch  watch
	alarm  *progress.Timer // ends the engine's sleep when something is due
	alarmT int64

	leaving bool // Flush was called: no new connections
	closed  bool
	stats   Stats
}

// named reports whether the component is to be opened: an instance must ask for it by name. Who opens it apart from an instance's own BTLs, as
// portals4/nal does, has chosen it already; there are no services there.
func named(env *btl.Env) bool {
	return env.Services == nil || slices.Contains(env.Params.Selection("btl").Names(), "udp")
}

func (component) Open(env *btl.Env) ([]btl.Module, error) {
	if !named(env) {
		return nil, nil
	}
	m := &module{env: env, engine: env.Engine, job: env.Job, secret: env.Job.Secret(), eps: make([]*endpoint, env.Job.Size()), base: time.Now()}
	m.batch.m = m
	rand.Read(m.cookie[:]) // never fails
	if err := env.Params.Decode("btl", "udp", &m.opts); err != nil {
		return nil, err
	}
	m.opts.frame = m.opts.maxFrame()
	if err := env.Params.Watch("btl", "udp", func(into any) (func(), error) {
		n := into.(*options).EagerLimit
		if most := m.opts.frame; n > most {
			return nil, fmt.Errorf("peers have been promised messages of at most %d bytes, the largest of btl_udp_eager_limit and btl_udp_max_send_size at start", most)
		}
		return func() { m.opts.EagerLimit = n }, nil
	}); err != nil {
		return nil, err
	}
	if env.Job.Size() == 1 {
		return nil, fmt.Errorf("%w: the job has one rank, there is nobody to connect to", btl.ErrUnavailable)
	}
	ifaces, err := inet.Ifaces()
	if err != nil {
		return nil, fmt.Errorf("listing network interfaces: %w", err)
	}
	if m.locals, err = inet.Choose(ifaces, m.opts.choice()); err != nil {
		return nil, err
	}
	if m.oneHost() && slices.ContainsFunc(m.locals, func(l inet.Local) bool { return l.Loopback }) {
		// Nobody from outside has any business here.
		m.locals = slices.DeleteFunc(m.locals, func(l inet.Local) bool { return !l.Loopback })
	}
	if len(m.locals) == 0 {
		return nil, fmt.Errorf("%w: %s", btl.ErrUnavailable, inet.NoAddress(ifaces, m.opts.choice()))
	}
	if faults, err := parseFaults(m.opts.Inject); err != nil {
		return nil, err
	} else if faults.any() {
		m.inject = newInjector(m, faults, uint64(m.opts.InjectSeed), uint64(m.job.Rank()))
	}
	m.engine.Lock()
	defer m.engine.Unlock()
	if err := m.open(); err != nil {
		m.closeSockets()
		return nil, err
	}
	return []btl.Module{m}, nil
}

// open makes the sockets and tells peers where they are.
func (m *module) open() error {
	m.loop = inet.LoopDomain()
	least := maxDatagram
	for _, l := range m.locals {
		s, err := m.bindSocket(l, l.MTU)
		if err != nil {
			return err
		}
		m.sockets = append(m.sockets, s)
		least = min(least, s.datagram)
	}
	if m.slots = m.slotsFor(least); m.slots < m.slotsNeeded(least) {
		return fmt.Errorf("messages of %d bytes (btl_udp_max_send_size, btl_udp_eager_limit) are too many datagrams of %d", m.opts.maxFrame(), least)
	}
	m.resize()
	b, err := m.card()
	if err != nil {
		return err
	}
	if err := m.env.Job.Put(cardKey, b); err != nil {
		return fmt.Errorf("publishing the business card: %w", err)
	}
	m.source = m.engine.AddPoller(m)
	m.source.Off()
	m.engine.AddSleeper(m)
	m.watch.start(m)
	return nil
}

// slotsFor is how many packets of a connection are kept: two of the largest messages where that is possible, and enough small ones.
func (m *module) slotsFor(datagram int) int {
	n := 256
	for n < 2*m.slotsNeeded(datagram) && n < maxSlots {
		n *= 2
	}
	return n
}

// slotsNeeded is how many packets the largest message is at most.
func (m *module) slotsNeeded(datagram int) int {
	return int(m.opts.maxFrame())/(datagram-headSize-splitLoss) + 3
}

// overcommit is by how much the windows of all peers together may exceed the kernel's room: seldom do all send at once.
const overcommit = 4

// resize settles the window that peers are told.
func (m *module) resize() {
	room := 1 << 30
	for _, s := range m.sockets {
		room = min(room, s.room*3/4)
	}
	w := min(m.opts.Window, room)
	if m.conns > 1 {
		w = min(w, overcommit*room/m.conns)
	}
	m.window = uint32(max(w, 2*packetCost, minDatagram))
}

// oneHost reports whether the launcher says that all ranks are on this host.
func (m *module) oneHost() bool {
	for r := range m.job.Size() {
		if m.job.Locality(r) == rte.Remote {
			return false
		}
	}
	return true
}

// card is what peers read: the addresses of the sockets, or those that the user says.
func (m *module) card() ([]byte, error) {
	c := inet.Card{Loop: m.loop}
	c.Host, _ = os.Hostname() // for messages only
	as, err := m.opts.advertised()
	if err != nil {
		return nil, err
	}
	for _, a := range as {
		c.Addrs = append(c.Addrs, inet.CardAddr{AddrPort: a, Bits: a.Addr().BitLen()})
	}
	if len(as) == 0 {
		for _, s := range m.sockets {
			c.Addrs = append(c.Addrs, inet.CardAddr{AddrPort: s.addr, Bits: s.local.Prefix.Bits()})
		}
	}
	return c.Append(nil), nil
}

func (m *module) closeSockets() {
	for _, s := range m.sockets {
		s.close()
	}
	m.sockets = nil
}

func (m *module) Name() string { return "udp" }

// defaultBandwidth is assumed of interfaces that do not say, in Mbit/s.
const (
	defaultBandwidth  = 1_000
	loopbackBandwidth = 15_000
)

func (m *module) Limits() btl.Limits {
	bandwidth := m.opts.Bandwidth
	if bandwidth == 0 {
		for _, l := range m.locals {
			speed := l.Speed
			switch {
			case l.Loopback && len(m.locals) > 1: // counts only where there is nothing else
				continue
			case l.Loopback:
				speed = loopbackBandwidth
			case speed == 0:
				speed = defaultBandwidth
			}
			bandwidth = max(bandwidth, speed)
		}
	}
	return btl.Limits{
		Eager: m.opts.EagerLimit, RndvEager: m.opts.RndvEagerLimit, MaxSend: m.opts.MaxSendSize,
		Latency: m.opts.Latency, Bandwidth: bandwidth, Exclusivity: m.opts.Exclusivity,
	}
}

// AddProcs makes endpoints. Cards of peers on this host are read when they are first used; those of others now, since they
// tell who can be reached.
func (m *module) AddProcs(procs []*core.Proc) ([]btl.Endpoint, []error) {
	eps, errs := make([]btl.Endpoint, len(procs)), make([]error, len(procs))
	for i, p := range procs {
		if p.Rank == m.job.Rank() {
			errs[i] = errors.New("btl udp: a rank does not connect to itself")
			continue
		}
		ep := m.endpoint(p.Rank)
		if m.job.Locality(p.Rank) == rte.Remote {
			if errs[i] = ep.readCard(); errs[i] != nil {
				continue
			}
			if len(inet.Candidates(m.locals, m.loop, ep.card, 0)) == 0 {
				errs[i] = m.unreachable(ep)
				continue
			}
		}
		eps[i] = ep
	}
	return eps, errs
}

func (m *module) unreachable(ep *endpoint) error {
	var theirs, ours []string
	for _, a := range ep.card.Addrs {
		theirs = append(theirs, netip.PrefixFrom(a.Addr(), a.Bits).String())
	}
	for _, l := range m.locals {
		ours = append(ours, l.Prefix.String())
	}
	return fmt.Errorf("btl udp: no address of rank %d on %s (%s) can be reached from ours (%s); see btl_udp_if_include and btl_udp_disable_family",
		ep.proc.Rank, ep.card.Host, strings.Join(theirs, " "), strings.Join(ours, " "))
}

// endpoint is the one for a rank; it is made here when the rank called before AddProcs.
func (m *module) endpoint(rank int) *endpoint {
	if m.eps[rank] == nil {
		m.eps[rank] = &endpoint{m: m, proc: m.env.Procs[rank]}
	}
	return m.eps[rank]
}

// work has an endpoint looked at in passes until there is nothing due.
func (m *module) work(ep *endpoint) {
	if !ep.busy {
		ep.busy = true
		m.busy = append(m.busy, ep)
		m.source.On()
	}
}

// dueEvery is how many passes that find nothing lie between looks at the clock.
const dueEvery = 16

// Poll reads the sockets that talked last, and does what is due.
func (m *module) Poll() int {
	if m.inPass {
		return 0
	}
	m.inPass = true
	n := 0
	for _, s := range m.sockets {
		if !s.hot {
			continue
		}
		if k := s.receive(); k > 0 {
			n += k
			s.misses = 0
		} else if s.misses++; s.misses > coldAfter {
			s.hot = false
		}
	}
	return m.finish(n)
}

// finish ends a pass, in which n datagrams came.
func (m *module) finish(n int) int {
	m.turns++
	if m.closed {
		m.inPass = false
		return n
	}
	if n > 0 || m.urgent || m.turns%dueEvery == 0 {
		m.urgent = false
		if n == 0 {
			m.now = m.clock()
		}
		m.steps()
	}
	m.batch.flush()
	m.inPass = false
	if len(m.uneasy) != 0 {
		n += m.soothe()
	}
	if len(m.busy) == 0 && len(m.uneasy) == 0 && (m.inject == nil || m.inject.idle()) && !slices.ContainsFunc(m.sockets, isHot) {
		m.source.Off()
	}
	return n
}

func isHot(s *socket) bool { return s.hot }

// steps does what is due of all that are busy.
func (m *module) steps() {
	m.watch.away()
	for _, s := range m.sockets {
		s.full = false
	}
	if m.inject != nil {
		m.inject.step(m.now)
	}
	for i := 0; i < len(m.busy); {
		ep := m.busy[i]
		if ep.step(m.now) {
			i++
			continue
		}
		ep.busy = false
		last := len(m.busy) - 1
		m.busy[i], m.busy[last] = m.busy[last], nil
		m.busy = m.busy[:last]
	}
}

// soothe tells of the failures that there were when it began.
func (m *module) soothe() int {
	work := m.uneasy
	m.uneasy = nil
	for _, ep := range work {
		ep.attend()
	}
	return len(work)
}

func (m *module) attend(ep *endpoint) {
	m.uneasy = append(m.uneasy, ep)
	m.source.On()
	m.engine.Wake() // it may be a caller from beside a sleeping driver
}

// Flush says BYE on each connection and reports whether everything has come, with the BYEs.
func (m *module) Flush() bool {
	m.leaving = true
	out := true
	for _, ep := range m.eps {
		if ep != nil && !ep.flush() {
			out = false
		}
	}
	if !m.inPass {
		m.now = m.clock()
		m.steps()
		m.batch.flush()
	}
	return out && (m.inject == nil || m.inject.idle())
}

// Divert implements btl.Diverter.
func (m *module) Divert(err error) {
	for _, ep := range m.eps {
		if ep != nil && ep.conn != nil {
			ep.conn.divert(err)
		}
	}
}

// Close says BYE where Flush has not, as far as windows let, and closes everything. Fragments still owned are given back.
func (m *module) Close() error {
	if m.closed {
		return nil
	}
	m.Flush()
	m.closed = true
	m.engine.RemovePoller(m)
	m.watch.end(m)
	m.engine.StopTimer(m.alarm)
	for _, ep := range m.eps {
		if ep != nil {
			ep.close()
		}
	}
	if m.inject != nil {
		m.inject.end()
	}
	m.closeSockets()
	m.uneasy, m.busy = nil, nil
	return nil
}

// Stats gives a copy of the counters.
func (m *module) Stats() Stats { return m.stats }
