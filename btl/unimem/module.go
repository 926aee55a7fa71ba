package unimem

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/shm"
	"github.com/ompi-go/ompi-go/unimem"
)

// module is the component in one instance.
type module struct {
	opt      Options
	pinned   bool
	env      *btl.Env
	shm      *shm.Domain
	engine   *progress.Engine
	dispatch *btl.Dispatch
	cfg      unimem.Config
	dev      *unimem.Device
	eagerAt  int64   // buffers that peers write eagerly
	links    []*link // by position among the ranks of this host; nil until used
	used     []*link // those that are there
	am       []byte  // the buffer of the active message, where a copy goes there
	hdr      [btl.InlineHeader]byte
	data     [inlineMost + 2]byte // of an inline message
	ops      []*op                // transfers for the floor above that are under way, or were
	idle     *op                  // those that were
	fence    bool                 // senders bring their own barrier
	heart    *progress.Timer
	watches  []watch
	closed   bool
}

// watch is a peer process whose death the kernel will report.
type watch struct {
	fd  int
	reg progress.FD
	l   *link
}

func (m *module) Name() string { return "unimem" }

func (m *module) Limits() btl.Limits {
	o := &m.opt
	return btl.Limits{Eager: o.EagerLimit, RndvEager: o.RndvEager, MaxSend: o.MaxSend, MinGet: o.GetLimit, MinPut: o.PutLimit,
		MinPipeline: o.MinPipeline, PipeSend: o.PipeSend, PipeFrag: o.PipeFrag, Pinned: m.pinned,
		Latency: o.Latency, Bandwidth: o.Bandwidth, Exclusivity: o.Exclusivity}
}

// AddProcs connects to the peers on this host.
func (m *module) AddProcs(procs []*core.Proc) ([]btl.Endpoint, []error) {
	eps, errs := make([]btl.Endpoint, len(procs)), make([]error, len(procs))
	for i, p := range procs {
		if p.Locality == core.LocalSelf || !m.shm.Shares(p.Rank) {
			errs[i] = errors.New("not another rank of this host")
			continue
		}
		l, err := m.link(p)
		if err != nil {
			errs[i] = err
			continue
		}
		eps[i] = l.endpoint()
	}
	return eps, errs
}

// link gives the connection to a rank of this host, making it when there is none.
func (m *module) link(p *core.Proc) (*link, error) {
	at := m.shm.Position(p.Rank)
	if l := m.links[at]; l != nil {
		return l, nil
	}
	l := &link{m: m, proc: p, at: at}
	err := l.connect()
	if errors.Is(err, os.ErrProcessDone) {
		// Whoever sends to it learns that it has died, but not from here.
		l.dead = fmt.Errorf("the process of rank %d has ended", p.Rank)
		l.report = m.engine.AddTimer(0, l)
	} else if err != nil {
		return nil, err
	}
	m.links[at] = l
	m.used = append(m.used[:len(m.used):len(m.used)], l) // a new slice: Poll may be walking the old one
	return l, nil
}

// watch has the kernel report the death of a peer's process.
func (m *module) watch(l *link, pid int) error {
	if m.shm.InProcess() {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("%w: process %d of rank %d", os.ErrProcessDone, pid, l.proc.Rank)
	}
	if err != nil {
		m.env.Upcalls.Say("unimem-pidfd", fmt.Sprintf("the death of a peer on this host will be noticed only through the launcher: pidfd_open: %v", err))
		return nil
	}
	w := watch{fd: fd, l: l}
	if w.reg, err = m.engine.AddFD(fd, unix.EPOLLIN, l); err != nil {
		unix.Close(fd)
		return err
	}
	m.watches = append(m.watches, w)
	return nil
}

// Ready is called when the peer's process has ended: what it had sent before is delivered first.
func (l *link) Ready(uint32) {
	m := l.m
	for i, w := range m.watches {
		if w.l == l {
			m.engine.RemoveFD(w.reg)
			unix.Close(w.fd)
			m.watches = append(m.watches[:i], m.watches[i+1:]...)
			break
		}
	}
	for l.dead == nil && m.drain(l) > 0 {
	}
	l.fail(fmt.Errorf("the process of rank %d has ended", l.proc.Rank))
}

// Poll handles what has arrived and goes on with what is under way (progress.Poller).
func (m *module) Poll() int {
	n := 0
	if m.dev.Calls() {
		m.answer()
		n++
	}
	for _, l := range m.used {
		if l.dead != nil {
			continue
		}
		n += m.drain(l)
		if len(l.outbox) > 0 {
			l.post()
			n++ // nobody rings when the peer has made room
		}
	}
	if m.dev.Run() {
		n++
	}
	return n
}

// answer connects to peers that send for the first time.
func (m *module) answer() {
	for at, rank := range m.shm.Local() {
		if m.links[at] != nil || rank == m.env.Job.Rank() || !m.dev.Waiting(at) {
			continue
		}
		if _, err := m.link(m.env.Procs[rank]); err != nil {
			m.env.Upcalls.EndpointFailed(m, m.env.Procs[rank], true, fmt.Errorf("btl unimem: answering rank %d: %w", rank, err))
		}
	}
}

// Flush reports whether everything that was taken has been sent.
func (m *module) Flush() bool {
	for _, l := range m.used {
		if l.dead == nil && (l.busy > 0 || len(l.outbox) > 0 || l.report != nil) {
			return false
		}
	}
	if !m.dev.Idle() {
		return false
	}
	m.dev.Leave()
	return true
}

// Close gives back what was not sent, and stops. Peers keep the memory mapped as long as they like.
func (m *module) Close() error {
	m.engine.RemovePoller(m)
	m.engine.StopTimer(m.heart)
	m.dev.Leave()
	m.closed = true
	for _, w := range m.watches {
		m.engine.RemoveFD(w.reg)
		unix.Close(w.fd)
	}
	for _, l := range m.used {
		m.engine.StopTimer(l.report)
		if l.dead == nil {
			l.dead = errClosed
			l.giveBack(errClosed)
		}
	}
	m.watches, m.used = nil, nil
	return nil
}

// Alloc implements btl.Allocator.
func (m *module) Alloc(n int64) (*core.Region, error) {
	off, err := m.dev.Alloc(n)
	if err != nil {
		return nil, err
	}
	base := m.dev.At(off)
	clear(unsafe.Slice((*byte)(base), n))
	return core.NewRegion(core.RegionMapped, base, n, m.release(off)), nil
}
