package tcp

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/inet"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
)

// module is the component in one instance. All its state is guarded by the engine's token.
type module struct {
	env    *btl.Env
	engine *progress.Engine
	job    rte.Job
	opts   options
	secret [32]byte

	locals    []inet.Local // the addresses of listeners
	loop      string       // see inet.LoopDomain
	listeners []*listener
	eps       []*endpoint // by job rank; nil until wanted

	// The links that talked last, which Poll reads directly. Invariant: nhot <= len(hot), turn < max(1, nhot).
	hot    [4]*link
	nhot   int
	source *progress.Source // on while there is a hot link or something uneasy
	turn   int

	uneasy    []uneasy // what Poll must look after, outside of any upcall
	conns     map[*conn]struct{}
	strangers int // conns that were accepted and are not authenticated
	pool      inet.Pool
	patrol    patrol
	leaving   bool // Flush was called: no new connections
	closed    bool
	stats     Stats
}

// uneasy is a thing that needs attention from Poll: a link that failed inside Send, an endpoint whose failure must be told.
type uneasy interface{ attend() }

// Stats are the module's counters, read with the engine's token held.
type Stats struct {
	Frames, Bytes   uint64 // messages received, their headers and payloads
	Sent, SentBytes uint64
	Partial         uint64 // sends that the socket did not take at once
	Placed          uint64 // payloads read straight to their place
	Connected       uint64 // handshakes completed
	Refused         uint64 // callers refused
	Retired         uint64 // links that broke
	Resent          uint64 // messages sent again over another link
	Resumed         uint64 // large messages received in two parts, over two links
}

func (component) Open(env *btl.Env) ([]btl.Module, error) {
	m := &module{
		env: env, engine: env.Engine, job: env.Job, secret: env.Job.Secret(),
		eps: make([]*endpoint, env.Job.Size()), conns: make(map[*conn]struct{}),
	}
	if err := env.Params.Decode("btl", "tcp", &m.opts); err != nil {
		return nil, err
	}
	m.opts.frame = m.opts.maxFrame()
	if err := env.Params.Watch("btl", "tcp", func(into any) (func(), error) {
		n := into.(*options).EagerLimit
		if most := m.opts.frame; n > most {
			return nil, fmt.Errorf("peers have been promised messages of at most %d bytes, the largest of btl_tcp_eager_limit and btl_tcp_max_send_size at start", most)
		}
		return func() { m.opts.EagerLimit = n }, nil
	}); err != nil {
		return nil, err
	}
	if env.Job.Size() == 1 {
		return nil, fmt.Errorf("%w: the job has one rank, there is nobody to connect to", btl.ErrUnavailable)
	}
	if env.Shm != nil && env.Shm.InProcess() && env.Params.Selection("btl").Allows("sm") {
		return nil, fmt.Errorf("%w: all ranks are goroutines of this process and share its memory", btl.ErrUnavailable)
	}
	ifaces, err := inet.Ifaces()
	if err != nil {
		return nil, fmt.Errorf("listing network interfaces: %w", err)
	}
	locals, err := inet.Choose(ifaces, m.opts.choice())
	if err != nil {
		return nil, err
	}
	if m.oneHost() && slices.ContainsFunc(locals, func(l inet.Local) bool { return l.Loopback }) {
		// Nobody from outside has any business here.
		locals = slices.DeleteFunc(locals, func(l inet.Local) bool { return !l.Loopback })
	}
	if len(locals) == 0 {
		return nil, fmt.Errorf("%w: %s", btl.ErrUnavailable, inet.NoAddress(ifaces, m.opts.choice()))
	}
	m.engine.Lock()
	defer m.engine.Unlock()
	if err := m.openListeners(locals); err != nil {
		m.closeListeners(nil)
		return nil, err
	}
	if err := env.Job.Put(cardKey, m.card()); err != nil {
		m.closeListeners(nil)
		return nil, fmt.Errorf("publishing the business card: %w", err)
	}
	m.source = m.engine.AddPoller(m)
	m.source.Off()
	m.patrol.m = m
	m.patrol.start()
	return []btl.Module{m}, nil
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

func (m *module) openListeners(locals []inet.Local) error {
	m.loop = inet.LoopDomain()
	for _, l := range locals {
		ln, err := m.listen(l)
		if err != nil {
			return err
		}
		m.listeners = append(m.listeners, ln)
		m.locals = append(m.locals, l)
	}
	return nil
}

func (m *module) card() []byte {
	c := inet.Card{Loop: m.loop}
	c.Host, _ = os.Hostname() // for messages only
	for _, ln := range m.listeners {
		c.Addrs = append(c.Addrs, inet.CardAddr{AddrPort: ln.addr, Bits: ln.local.Prefix.Bits()})
	}
	return c.Append(nil)
}

// closeListeners closes those that which picks, all when it is nil.
func (m *module) closeListeners(which func(*listener) bool) {
	m.listeners = slices.DeleteFunc(m.listeners, func(ln *listener) bool {
		if which != nil && !which(ln) {
			return false
		}
		ln.close()
		return true
	})
}

func (m *module) Name() string { return "tcp" }

// defaultBandwidth is assumed of interfaces that do not say, in Mbit/s.
const (
	defaultBandwidth  = 1_000
	loopbackBandwidth = 20_000
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
// tell who can be reached, and whether anybody is really elsewhere.
func (m *module) AddProcs(procs []*core.Proc) ([]btl.Endpoint, []error) {
	eps, errs := make([]btl.Endpoint, len(procs)), make([]error, len(procs))
	for i, p := range procs {
		if p.Rank == m.job.Rank() {
			errs[i] = errors.New("btl tcp: a rank does not connect to itself")
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
	if m.allHere() {
		m.closeListeners(func(ln *listener) bool { return !ln.local.Loopback })
		m.locals = slices.DeleteFunc(m.locals, func(l inet.Local) bool { return !l.Loopback })
	}
	return eps, errs
}

// allHere reports whether every peer is known to be reached over the loopback interface.
func (m *module) allHere() bool {
	for r, ep := range m.eps {
		if r != m.job.Rank() && m.job.Locality(r) == rte.Remote && (ep == nil || ep.card == nil || ep.card.Loop != m.loop) {
			return false
		}
	}
	return slices.ContainsFunc(m.locals, func(l inet.Local) bool { return l.Loopback })
}

func (m *module) unreachable(ep *endpoint) error {
	var theirs, ours []string
	for _, a := range ep.card.Addrs {
		theirs = append(theirs, fmt.Sprintf("%s/%d", a.Addr(), a.Bits))
	}
	for _, l := range m.locals {
		ours = append(ours, l.Prefix.String())
	}
	return fmt.Errorf("btl tcp: no address of rank %d on %s (%s) can be reached from ours (%s); see btl_tcp_if_include and btl_tcp_disable_family",
		ep.proc.Rank, ep.card.Host, strings.Join(theirs, " "), strings.Join(ours, " "))
}

// endpoint is the one for a rank; it is made here when the rank called before AddProcs.
func (m *module) endpoint(rank int) *endpoint {
	if m.eps[rank] == nil {
		m.eps[rank] = newEndpoint(m, m.env.Procs[rank])
	}
	return m.eps[rank]
}

// coldAfter is how many reads in a row may find nothing before a socket is left to the epoll set; some hundred microseconds.
const coldAfter = 1024

// Poll reads the socket that talked last and goes on to the next one when it was silent: one system call a pass, none when
// nobody has talked for a while.
func (m *module) Poll() int {
	n := 0
	if m.nhot != 0 {
		l := m.hot[m.turn]
		if n = l.receive(); n != 0 {
			l.misses = 0
		} else {
			if l.misses++; l.misses > coldAfter {
				m.cool(l)
			}
			if m.turn++; m.turn >= m.nhot {
				m.turn = 0
			}
		}
	}
	if len(m.uneasy) != 0 {
		n += m.soothe()
	}
	if m.nhot == 0 && len(m.uneasy) == 0 {
		m.source.Off()
	}
	return n
}

// soothe attends to what was uneasy when it began.
func (m *module) soothe() int {
	work := m.uneasy
	m.uneasy = nil
	for _, u := range work {
		u.attend()
	}
	return len(work)
}

func (m *module) attend(u uneasy) {
	m.uneasy = append(m.uneasy, u)
	m.source.On()
	m.engine.Wake() // it may be a caller from beside a sleeping driver
}

// warm puts l among the hot links, in the place of the most silent one if need be.
func (m *module) warm(l *link) {
	if l.hot {
		return
	}
	l.misses, l.hot = 0, true
	if m.nhot < len(m.hot) {
		m.hot[m.nhot] = l
		m.nhot++
		m.source.On()
		return
	}
	worst := 0
	for i := 1; i < m.nhot; i++ {
		if m.hot[i].misses > m.hot[worst].misses {
			worst = i
		}
	}
	m.hot[worst].hot = false
	m.hot[worst] = l
}

func (m *module) cool(l *link) {
	if !l.hot {
		return
	}
	l.hot = false
	for i := range m.nhot {
		if m.hot[i] == l {
			m.nhot--
			m.hot[i], m.hot[m.nhot] = m.hot[m.nhot], nil
			break
		}
	}
	if m.turn >= m.nhot {
		m.turn = 0
	}
}

// Flush finishes what the links have begun, says BYE on each and reports whether the peers' kernels have everything: closing a
// socket earlier could make a reset overtake the data.
func (m *module) Flush() bool {
	m.leaving = true
	out := true
	for _, ep := range m.eps {
		if ep != nil && !ep.flush() {
			out = false
		}
	}
	return out
}

// Divert implements btl.Diverter.
func (m *module) Divert(err error) {
	for _, ep := range m.eps {
		if ep == nil {
			continue
		}
		for _, l := range ep.links {
			l.bulk.divert(ep, err)
			l.cut.divert(ep, err)
		}
	}
}

// Close says BYE where Flush has not, as far as sockets take it, and closes everything. Fragments still owned are given back.
func (m *module) Close() error {
	if m.closed {
		return nil
	}
	m.Flush()
	m.closed = true
	m.engine.RemovePoller(m)
	m.patrol.stop()
	m.closeListeners(nil)
	for c := range m.conns {
		c.drop()
	}
	for _, ep := range m.eps {
		if ep != nil {
			ep.close()
		}
	}
	m.uneasy = nil
	return nil
}

// Stats gives a copy of the counters.
func (m *module) Stats() Stats { return m.stats }
