package core

import (
	"sync/atomic"

	"github.com/ompi-go/ompi-go/progress"
)

// Locality says how near a peer is.
type Locality uint8

// Localities, nearest first.
const (
	LocalSelf    Locality = iota // this rank
	LocalProcess                 // another goroutine rank of this process
	LocalHost                    // another process of this host
	LocalRemote                  // another host
)

// String is the peer class used in metrics.
func (l Locality) String() string {
	return [...]string{"self", "process", "host", "remote"}[l]
}

// Proc is a process of the job as one instance sees it. There is one Proc a peer and instance, made at init.
type Proc struct {
	Rank     int // in the job
	Locality Locality
	failed   atomic.Pointer[Error]
}

// Failed is the error of a dead process, nil while it lives.
func (p *Proc) Failed() *Error { return p.failed.Load() }

// Fail marks p dead; the first cause stays. It reports whether this was news.
func (p *Proc) Fail(cause error) bool {
	return p.failed.CompareAndSwap(nil, &Error{Class: ErrProcFailed, Peer: Undefined, Index: -1, Err: cause})
}

// Channel is one message space of a communicator: its users' messages (context 2k) or its collectives' (2k+1).
type Channel struct {
	ID   uint32
	Comm *Comm
}

// Comm is a communicator (MPI-3.1 §6.4) without its public face: a group, two contexts, and a fault state.
type Comm struct {
	Engine *progress.Engine
	P2P    Channel // context 2k
	Inner  Channel // context 2k+1: collectives and other internal traffic
	Procs  []*Proc // by rank
	MyRank int
	group  *Group
	name   atomic.Pointer[string]
	fault  atomic.Pointer[Fault]
}

// Fault is why a communicator does not work as it did. It only ever gets worse: a member failed, then revoked or cancelled.
type Fault struct {
	Err   *Error // what operations that cannot succeed report
	Fatal bool   // no operation can succeed any more: revoked, or the whole instance is cancelled
}

// NewComm makes the communicator of context number k over group g.
func NewComm(e *progress.Engine, k uint32, g *Group, procs []*Proc, name string) *Comm {
	c := &Comm{Engine: e, Procs: make([]*Proc, g.Size()), MyRank: g.Rank(), group: g}
	for i, r := range g.JobRanks() {
		c.Procs[i] = procs[r]
	}
	c.P2P = Channel{ID: 2 * k, Comm: c}
	c.Inner = Channel{ID: 2*k + 1, Comm: c}
	c.SetName(name)
	for _, p := range c.Procs {
		if err := p.Failed(); err != nil {
			c.SetFault(&Fault{Err: err})
		}
	}
	return c
}

// Context is the number k that the communicator's members agreed on.
func (c *Comm) Context() uint32 { return c.P2P.ID / 2 }

// Size is the number of members.
func (c *Comm) Size() int { return len(c.Procs) }

// Group is the communicator's group.
func (c *Comm) Group() *Group { return c.group }

// Name is for people and error messages.
func (c *Comm) Name() string { return *c.name.Load() }

// SetName names the communicator.
func (c *Comm) SetName(name string) { c.name.Store(&name) }

// Fault is nil while all is well.
func (c *Comm) Fault() *Fault { return c.fault.Load() }

// SetFault records f unless something as bad is recorded already.
func (c *Comm) SetFault(f *Fault) {
	for {
		old := c.fault.Load()
		if old != nil && (old.Fatal || !f.Fatal) {
			return
		}
		if c.fault.CompareAndSwap(old, f) {
			return
		}
	}
}

// RankOf is the rank of a job rank in the communicator, -1 when it is no member.
func (c *Comm) RankOf(jobRank int) int {
	for i, p := range c.Procs {
		if p.Rank == jobRank {
			return i
		}
	}
	return -1
}
