package colltest

import (
	"sync"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/progress"
)

// Fabric joins ranks of one process by a point-to-point layer as simple as can be: one lock, linear lists. It is for testing
// collectives alone, without transports. Matching follows MPI (MPI-3.1 §3.5); messages above the eager limit wait for their
// receiver, so that a collective which relies on buffering hangs.
type Fabric struct {
	eager    int64
	runnable progress.Runnable
	ranks    []*FakePML

	mu         sync.Mutex
	unexpected []*message
	posted     []*message
	dead       []bool
	revoked    map[*core.Comm]*core.Error // by each member's own communicator
}

// FakePML is the pml.Module of one rank of a Fabric. It has what blocking collectives need: Send, Isend, Recv, Irecv, cancelling
// of receives, failure. Any other method of pml.Module panics.
type FakePML struct {
	pml.Module
	f      *Fabric
	rank   int // in the job
	engine *progress.Engine
	procs  []*core.Proc
}

// message is a send or a receive that waits for its counterpart. It owns its request.
type message struct {
	req    core.Request
	rank   *FakePML
	ctx    uint32
	src    int // rank in the communicator, or AnySource
	tag    int // or AnyTag
	peer   *core.Proc
	from   int // job rank of the sender; -1 for AnySource
	to     int // job rank of the receiver
	recv   bool
	buf    core.Buffer
	packed []byte // of an eager send, whose request is complete
	eager  bool
	err    error // for its completion
}

// NewFabric makes n ranks. Messages of more than eager bytes are not sent before they are matched.
func NewFabric(n int, eager int64) *Fabric {
	f := &Fabric{eager: eager, dead: make([]bool, n), revoked: make(map[*core.Comm]*core.Error)}
	for i := range n {
		e := progress.New(progress.Config{Cores: n, LocalRanks: n, Job: &f.runnable})
		r := &FakePML{f: f, rank: i, engine: e}
		for p := range n {
			proc := &core.Proc{Rank: p, Locality: core.LocalProcess}
			if p == i {
				proc.Locality = core.LocalSelf
			}
			r.procs = append(r.procs, proc)
		}
		f.ranks = append(f.ranks, r)
	}
	return f
}

// Rank is the PML of job rank i.
func (f *Fabric) Rank(i int) *FakePML { return f.ranks[i] }

// Comm is the communicator of context number k over the given job ranks, as job rank self sees it.
func (f *Fabric) Comm(k uint32, jobRanks []int, self int) *core.Comm {
	r := f.ranks[self]
	return core.NewComm(r.engine, k, core.NewGroup(jobRanks, self), r.procs, "test")
}

// Run calls body for each rank on a goroutine of its own and returns when all have ended.
func (f *Fabric) Run(body func(jobRank int)) {
	var wg sync.WaitGroup
	for i := range f.ranks {
		f.runnable.Enter()
		wg.Go(func() {
			defer f.runnable.Leave()
			body(i)
		})
	}
	wg.Wait()
}

// Kill marks a rank as dead: whatever is pending with it, and whatever is tried later, fails with ErrProcFailed.
func (f *Fabric) Kill(jobRank int) {
	f.end(func(m *message) error {
		if m.from == jobRank || m.to == jobRank {
			return f.procFailed(m.peer)
		}
		return nil
	}, func() { f.dead[jobRank] = true })
}

// Revoke ends everything pending on c, one member's view of a communicator, and all that is tried on it later, with ErrRevoked.
func (f *Fabric) Revoke(c *core.Comm) {
	err := core.NewError(core.ErrRevoked, "revoked by the test")
	f.end(func(m *message) error {
		if m.req.Comm == c {
			return err
		}
		return nil
	}, func() { f.revoked[c] = err })
}

// Pending counts what has been started and not completed: sends without a receive, and receives without a send.
func (f *Fabric) Pending() (sends, recvs int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.unexpected), len(f.posted)
}

func (f *Fabric) procFailed(p *core.Proc) error {
	return core.NewError(core.ErrProcFailed, "job rank %d was killed by the test", p.Rank)
}

// end completes all messages for which cause gives an error.
func (f *Fabric) end(cause func(*message) error, first func()) {
	var ended []*message
	sweep := func(list []*message) []*message {
		kept := list[:0]
		for _, m := range list {
			switch err := cause(m); {
			case err == nil:
				kept = append(kept, m)
			case !m.eager: // an eager send is complete; it merely gets lost
				m.err = err
				ended = append(ended, m)
			}
		}
		return kept
	}
	f.mu.Lock()
	first()
	f.unexpected, f.posted = sweep(f.unexpected), sweep(f.posted)
	f.mu.Unlock()
	for _, m := range ended {
		m.finish()
	}
}

// Name implements pml.Module.
func (r *FakePML) Name() string { return "fake" }

// Isend implements pml.Module.
func (r *FakePML) Isend(ch *core.Channel, buf core.Buffer, dest, tag int, mode pml.Mode) *core.Request {
	to := ch.Comm.Procs[dest]
	m := &message{rank: r, ctx: ch.ID, src: ch.Comm.MyRank, tag: tag, peer: to, from: r.rank, to: to.Rank, buf: buf}
	m.renew(ch, "Send", dest)
	if buf.Bytes() <= r.f.eager && mode != pml.Synchronous {
		m.eager, m.packed = true, pack(buf)
	}
	r.f.start(m)
	return &m.req
}

// Irecv implements pml.Module.
func (r *FakePML) Irecv(ch *core.Channel, buf core.Buffer, source, tag int) *core.Request {
	m := &message{rank: r, ctx: ch.ID, src: source, tag: tag, from: -1, to: r.rank, recv: true, buf: buf}
	if source != core.AnySource {
		m.peer = ch.Comm.Procs[source]
		m.from = m.peer.Rank
	}
	m.renew(ch, "Recv", source)
	r.f.start(m)
	return &m.req
}

// Send implements pml.Module.
func (r *FakePML) Send(ch *core.Channel, buf core.Buffer, dest, tag int, mode pml.Mode) error {
	return r.wait(r.Isend(ch, buf, dest, tag, mode)).Err
}

// Recv implements pml.Module.
func (r *FakePML) Recv(ch *core.Channel, buf core.Buffer, source, tag int) (core.Status, error) {
	st := r.wait(r.Irecv(ch, buf, source, tag))
	return st, st.Err
}

func (r *FakePML) wait(req *core.Request) core.Status {
	h := req.Handle()
	r.engine.Wait(req)
	st, _ := h.Take()
	return st
}

func (m *message) renew(ch *core.Channel, op string, peer int) {
	m.req.Renew(ch.Comm, op, peer, m.buf)
	m.req.Engine, m.req.Owner = m.rank.engine, m
}

// start matches m or files it.
func (f *Fabric) start(m *message) {
	f.mu.Lock()
	switch {
	case f.revoked[m.req.Comm] != nil:
		m.err = f.revoked[m.req.Comm]
	case m.peer != nil && (f.dead[m.peer.Rank] || f.dead[m.rank.rank]):
		m.err = f.procFailed(m.peer)
	}
	if m.err != nil {
		f.mu.Unlock()
		m.finish()
		return
	}
	other := &f.posted
	own := &f.unexpected
	if m.recv {
		other, own = own, other
	}
	for i, o := range *other {
		if !match(m, o) {
			continue
		}
		*other = append((*other)[:i], (*other)[i+1:]...)
		f.mu.Unlock()
		if m.recv {
			deliver(o, m, !o.eager) // an eager send that waited is complete
		} else {
			deliver(m, o, true)
		}
		return
	}
	*own = append(*own, m)
	f.mu.Unlock()
	if m.eager {
		m.finish()
	}
}

func match(a, b *message) bool {
	send, recv := a, b
	if a.recv {
		send, recv = b, a
	}
	return send.ctx == recv.ctx && send.to == recv.to && (recv.from < 0 || recv.from == send.from) &&
		(recv.tag == core.AnyTag || recv.tag == send.tag)
}

// deliver moves the data of a matched pair and completes the receive, and the send if that is still to do.
func deliver(send, recv *message, both bool) {
	data := send.packed
	if !send.eager {
		data = pack(send.buf)
	}
	if room := recv.buf.Bytes(); int64(len(data)) > room {
		recv.err = core.NewError(core.ErrTruncate, "message of %d bytes for a buffer of %d bytes", len(data), room)
		data = data[:room]
	}
	unpack(recv.buf, data)
	recv.req.Status = core.MakeStatus(send.src, send.tag, int64(len(data)))
	if both {
		send.finish()
	}
	recv.finish()
}

func (m *message) finish() {
	m.rank.engine.Lock()
	m.req.FinishErr(m.err)
	m.rank.engine.Unlock()
}

// Start implements core.Operation for persistent requests, which there are none of.
func (m *message) Start(*core.Request) error {
	return core.NewError(core.ErrRequest, "the request is not persistent")
}

// Cancel implements core.Operation: a receive that nothing has matched ends at once.
func (m *message) Cancel(*core.Request) error {
	f := m.rank.f
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, p := range f.posted {
		if p == m {
			f.posted = append(f.posted[:i], f.posted[i+1:]...)
			m.req.Status.Cancelled = true
			m.req.Finish()
			break
		}
	}
	return nil
}
