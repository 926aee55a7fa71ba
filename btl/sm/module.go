package sm

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/shm"
)

// module is the component in one instance.
type module struct {
	opt      Options
	env      *btl.Env
	shm      *shm.Domain
	engine   *progress.Engine
	dispatch *btl.Dispatch
	geo      geometry
	fence    bool // senders bring their own barrier

	seen  uint32      // offers looked at, as shm.Calls counts
	rings []*consumer // rings of peers that send to us
	eps   []*endpoint
	pids  []watch
	gone  []*endpoint // of processes that had ended before they were first used: the next Poll says so

	mapped, mappedBytes uint64 // transfers without a system call
}

// watch is a peer process whose death the kernel will report.
type watch struct {
	fd   int
	reg  progress.FD
	proc *core.Proc
}

func (m *module) Name() string { return "sm" }

func (m *module) Limits() btl.Limits {
	o := &m.opt
	return btl.Limits{Eager: o.EagerLimit, RndvEager: o.RndvEager, MaxSend: o.MaxSend, MinGet: o.GetLimit,
		Latency: o.Latency, Bandwidth: o.Bandwidth, Exclusivity: o.Exclusivity}
}

// AddProcs attaches the segments of the peers on this host, and makes the rings to them.
func (m *module) AddProcs(procs []*core.Proc) ([]btl.Endpoint, []error) {
	eps, errs := make([]btl.Endpoint, len(procs)), make([]error, len(procs))
	for i, p := range procs {
		if p.Locality == core.LocalSelf || !m.shm.Shares(p.Rank) {
			errs[i] = errors.New("not another rank of this host")
			continue
		}
		peer, err := m.shm.Attach(p.Rank)
		ep := &endpoint{m: m, peer: peer, proc: p, inline: m.opt.MaxInlineLen}
		if err == nil {
			err = m.watch(p, peer)
		}
		if err == nil {
			m.chooseCopy(ep)
			// The ring is made now, not with the first message: when there is no room for it, others can still do its work.
			if err = ep.connect(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				m.env.Upcalls.Say("sm-ring", fmt.Sprintf("shared memory is not used with all ranks of this host: %v", err))
			}
		}
		if errors.Is(err, os.ErrProcessDone) {
			// Other transports would not find it either: whoever sends to it learns that it has died, once everything that it
			// had sent is delivered. That cannot be done from here.
			ep.noCopy = fmt.Errorf("the process of rank %d has ended", p.Rank)
			eps[i] = ep
			m.eps = append(m.eps, ep)
			m.gone = append(m.gone, ep)
			m.seen = m.shm.Calls() - 1
			continue
		}
		if err != nil {
			errs[i] = err
			continue
		}
		m.eps = append(m.eps, ep)
		eps[i] = ep
	}
	return eps, errs
}

// watch has the kernel report the death of a peer process.
func (m *module) watch(p *core.Proc, peer *shm.Peer) error {
	if m.shm.InProcess() || slices.ContainsFunc(m.pids, func(w watch) bool { return w.proc == p }) {
		return nil
	}
	fd, err := unix.PidfdOpen(peer.PID(), unix.PIDFD_NONBLOCK)
	if err != nil {
		if errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("%w: process %d of rank %d", os.ErrProcessDone, peer.PID(), p.Rank)
		}
		m.env.Upcalls.Say("sm-pidfd", fmt.Sprintf("the death of a peer on this host will be noticed only through the launcher: pidfd_open: %v", err))
		return nil
	}
	w := watch{fd: fd, proc: p}
	if w.reg, err = m.engine.AddFD(fd, unix.EPOLLIN, &death{m: m, proc: p, pid: peer.PID()}); err != nil {
		unix.Close(fd)
		return err
	}
	m.pids = append(m.pids, w)
	return nil
}

type death struct {
	m    *module
	proc *core.Proc
	pid  int
}

// Ready is called when the peer's process has ended. What it had sent before is still in its ring and is delivered first.
func (d *death) Ready(uint32) {
	m := d.m
	for i, w := range m.pids {
		if w.proc == d.proc {
			m.engine.RemoveFD(w.reg)
			unix.Close(w.fd)
			m.pids = append(m.pids[:i], m.pids[i+1:]...)
			break
		}
	}
	m.shm.TakeOffers(m.accept)
	m.ended(d.proc, fmt.Errorf("process %d of rank %d has ended", d.pid, d.proc.Rank))
}

// ended gives up a peer whose process has ended, after what it had sent.
func (m *module) ended(p *core.Proc, cause error) {
	for _, c := range m.rings {
		if c.peer != p.Rank {
			continue
		}
		for slot, w, full := c.peek(); full && m.drain(c, slot, w) > 0; slot, w, full = c.peek() {
		}
		c.abort(cause)
	}
	for _, ep := range m.eps {
		if ep.proc == p {
			ep.dead = cause
		}
	}
	m.env.Upcalls.EndpointFailed(m, p, true, cause)
}

// pollBurst bounds how many messages of one peer are handled before the others get a look.
const pollBurst = 64

// Poll handles what has arrived (progress.Poller).
func (m *module) Poll() int {
	n := 0
	if c := m.shm.Calls(); c != m.seen {
		m.seen = c
		m.shm.TakeOffers(m.accept)
		n++
		gone := m.gone
		m.gone = nil
		for _, ep := range gone {
			m.ended(ep.proc, ep.noCopy)
		}
	}
	for _, c := range m.rings {
		slot, w, full := c.peek()
		if !full {
			continue
		}
		n += m.drain(c, slot, w)
	}
	return n
}

// drain delivers up to pollBurst messages of a ring that has one.
func (m *module) drain(c *consumer, slot unsafe.Pointer, w uint64) int {
	n := 0
	for full := true; full && n < pollBurst; slot, w, full = c.peek() {
		if n > 0 {
			c.fetchAhead() // a burst: the sender is ahead, so the next lines are worth having
		}
		hdrLen, length := uintptr(w>>40&0xff), uintptr(w>>48&0xff)
		var payload []byte
		hdr := unsafe.Add(slot, 8)
		switch {
		case w>>56 == kindSmall && hdrLen+length <= slotRoom:
			payload = unsafe.Slice((*byte)(unsafe.Add(slot, 8+hdrLen)), length)
		case w>>56 == kindData && hdrLen <= dataHdrMax, w>>56 == kindLong:
			pos, size := *(*uint64)(unsafe.Add(slot, posAt)), *(*uint64)(unsafe.Add(slot, lenAt))
			if pos >= uint64(c.size) || size > uint64(c.size)-pos {
				m.broken(c)
				return n
			}
			payload = unsafe.Slice((*byte)(unsafe.Add(c.data, pos)), size)
			c.owed += uint32(size)
			if w>>56 == kindLong {
				if size < uint64(hdrLen) {
					m.broken(c)
					return n
				}
				hdr, payload = unsafe.Add(c.data, pos), payload[hdrLen:]
			}
		case w>>56 == kindStream || w>>56 == kindMore:
			ok := false
			if w>>56 == kindStream {
				ok = m.begin(c, slot, uint8(w>>32), hdrLen)
			} else {
				ok = m.more(c, *(*uint64)(unsafe.Add(slot, lenAt)))
			}
			if !ok {
				m.broken(c)
				return n
			}
			n += m.consumed(c)
			continue
		default:
			m.broken(c)
			return n
		}
		h := m.dispatch.Handlers[uint8(w>>32)]
		if h == nil {
			m.broken(c)
			return n
		}
		h.Receive(c.peer, unsafe.Slice((*byte)(hdr), hdrLen), payload)
		n += m.consumed(c)
	}
	return n
}

// consumed goes on to the next slot, and now and then tells the sender.
func (m *module) consumed(c *consumer) int {
	c.pos++
	if c.pos-c.told > c.mask>>2 || c.owed > c.size>>2 {
		c.tell()
	}
	return 1
}

// broken stops listening to a peer that writes what no peer of ours would. It counts as dead: there is no telling what it had sent
// besides.
func (m *module) broken(c *consumer) {
	cause := m.garbage(c.peer)
	c.abort(cause)
	for i, r := range m.rings {
		if r == c {
			m.rings = append(m.rings[:i:i], m.rings[i+1:]...)
		}
	}
	m.env.Upcalls.EndpointFailed(m, m.env.Procs[c.peer], true, cause)
}

func (m *module) garbage(rank int) error {
	return fmt.Errorf("btl sm: rank %d wrote garbage into shared memory", rank)
}

// accept takes a ring that a peer offers.
func (m *module) accept(rank int, p shm.Piece) {
	fail := func(err error) {
		m.env.Upcalls.EndpointFailed(m, m.env.Procs[rank], true, fmt.Errorf("shared memory with rank %d: %w", rank, err))
	}
	for _, c := range m.rings {
		if c.peer == rank {
			fail(errors.New("it offers a second ring"))
			return
		}
	}
	box, err := m.shm.Own(p, line)
	if err != nil {
		fail(err)
		return
	}
	g := geometry{slots: *(*uint32)(box), data: *(*uint32)(unsafe.Add(box, 4))}
	if err := g.valid(); err != nil {
		fail(err)
		return
	}
	if box, err = m.shm.Own(p, g.boxSize()); err != nil {
		fail(err)
		return
	}
	c := new(consumer)
	c.init(box, g, rank)
	// A new slice: Poll may be walking the old one.
	m.rings = append(m.rings[:len(m.rings):len(m.rings)], c)
}

// Flush: everything sent is in the receivers' reach already.
func (m *module) Flush() bool { return true }

// Close stops polling. Peers map the segment as long as they like.
func (m *module) Close() error {
	m.engine.RemovePoller(m)
	for _, w := range m.pids {
		m.engine.RemoveFD(w.reg)
		unix.Close(w.fd)
	}
	for _, ep := range m.eps {
		m.engine.StopTimer(ep.report)
	}
	m.pids, m.rings, m.eps, m.gone = nil, nil, nil, nil
	return nil
}

// chooseCopy finds out whether this rank may read the peer's memory.
func (m *module) chooseCopy(ep *endpoint) {
	switch {
	case m.opt.SingleCopy == "none":
		ep.noCopy = errors.New("btl_sm_single_copy_mechanism is none")
		ep.unmapped = mapTrials
	case m.opt.SingleCopy == "map" && !m.shm.InProcess():
		ep.noCopy = errors.New("btl_sm_single_copy_mechanism is map")
	case m.shm.InProcess():
	default:
		if m.opt.SingleCopy == "cma" {
			ep.unmapped = mapTrials
		}
		if err := ep.peer.TryCMA(readPeer); err != nil {
			ep.noCopy = err
			if !errors.Is(err, unix.ESRCH) { // else it has just ended, which its pidfd tells
				m.env.Upcalls.Say("sm-cma", fmt.Sprintf("large messages between processes of this host are copied twice: process_vm_readv: %v", err))
			}
		}
	}
}
