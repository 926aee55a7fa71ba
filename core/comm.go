package core

import (
	"fmt"
	"slices"
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
//
// Of an intercommunicator (MPI-3.1 §6.6), Procs are the remote group, since ranks in messages name its members, and MyRank,
// Size and Group are those of the local group. Collectives of an intercommunicator use Local, an intracommunicator of
// the local group with contexts of its own, beside messages to remote ranks.
type Comm struct {
	Engine *progress.Engine
	P2P    Channel // context 2k
	Inner  Channel // context 2k+1: collectives and other internal traffic
	Procs  []*Proc // the peers, by the rank that messages name
	MyRank int     // in Group
	Local  *Comm   // of an intercommunicator: the local group's own; else nil
	group  *Group
	remote *Group  // nil for an intracommunicator
	others []*Proc // of an intercommunicator and its Local: members that messages cannot name, but whose death concerns all
	topo   *Topology
	name   atomic.Pointer[string]
	fault  atomic.Pointer[Fault]
	holds  atomic.Int32
	// Somebody waits for holds to become 0.
	leaving atomic.Bool
}

// Fault is why a communicator does not work as it did. It only ever gets worse: a member failed, then revoked or cancelled.
type Fault struct {
	Err   *Error // what operations that cannot succeed report
	Fatal bool   // no operation can succeed any more: revoked, or the whole instance is cancelled
}

// NewComm makes the communicator of context number k over group g.
func NewComm(e *progress.Engine, k uint32, g *Group, procs []*Proc, name string) *Comm {
	c := &Comm{Engine: e, MyRank: g.Rank(), group: g, Procs: members(g, procs)}
	c.SetContext(k)
	c.SetName(name)
	for _, p := range c.Procs {
		if err := p.Failed(); err != nil {
			c.SetFault(&Fault{Err: err})
		}
	}
	return c
}

// NewInter makes the intercommunicator of context number k between local's group and a remote one. The groups are disjoint.
func NewInter(k uint32, local *Comm, remote *Group, procs []*Proc, name string) *Comm {
	c := &Comm{Engine: local.Engine, MyRank: local.MyRank, group: local.group, remote: remote, Local: local, Procs: members(remote, procs)}
	c.others, local.others = local.Procs, c.Procs
	c.SetContext(k)
	c.SetName(name)
	for _, p := range slices.Concat(c.Procs, c.others) {
		if err := p.Failed(); err != nil {
			c.SetFault(&Fault{Err: err})
		}
	}
	return c
}

func members(g *Group, procs []*Proc) []*Proc {
	out := make([]*Proc, g.Size())
	for i, r := range g.JobRanks() {
		out[i] = procs[r]
	}
	return out
}

// SetContext sets the number k that the members agreed on, before any message of theirs.
func (c *Comm) SetContext(k uint32) {
	c.P2P = Channel{ID: 2 * k, Comm: c}
	c.Inner = Channel{ID: 2*k + 1, Comm: c}
}

// Context is the number k that the communicator's members agreed on.
func (c *Comm) Context() uint32 { return c.P2P.ID / 2 }

// Size is the number of members of the local group.
func (c *Comm) Size() int { return c.group.Size() }

// Peers is the number of ranks that messages can name: Size, or the size of the remote group.
func (c *Comm) Peers() int { return len(c.Procs) }

// Group is the communicator's group; the local one of an intercommunicator.
func (c *Comm) Group() *Group { return c.group }

// Remote is the remote group of an intercommunicator, nil for an intracommunicator.
func (c *Comm) Remote() *Group { return c.remote }

// Topology is the communicator's virtual topology, nil when it has none.
func (c *Comm) Topology() *Topology { return c.topo }

// SetTopology gives the communicator a topology, before its collectives are chosen.
func (c *Comm) SetTopology(t *Topology) { c.topo = t }

// Hold counts an operation that needs the communicator until Release: it is not let go before.
func (c *Comm) Hold() { c.holds.Add(1) }

// Release ends a Hold.
func (c *Comm) Release() {
	if c.holds.Add(-1) == 0 && c.leaving.Load() {
		c.Engine.Kick()
	}
}

// Idle is the condition that nothing holds the communicator any more, for who is about to let it go.
func (c *Comm) Idle() progress.Cond {
	c.leaving.Store(true)
	return (*idle)(c)
}

type idle Comm

// Done implements progress.Cond.
func (c *idle) Done() bool { return c.holds.Load() == 0 }

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

// RankOf is the rank by which messages name a job rank, -1 when it is no peer.
func (c *Comm) RankOf(jobRank int) int { return rankIn(c.Procs, jobRank) }

// Has reports whether the death of a job rank concerns the communicator: it is a member, of an intercommunicator in either group.
func (c *Comm) Has(jobRank int) bool { return c.RankOf(jobRank) >= 0 || rankIn(c.others, jobRank) >= 0 }

// DeathOf is the error that tells of the death of p on this communicator. The peer is Undefined for one whom messages cannot name: a
// member of the local group of an intercommunicator.
func (c *Comm) DeathOf(p *Proc) *Error {
	err := *p.Failed()
	if err.Peer = c.RankOf(p.Rank); err.Peer < 0 {
		err.Peer = Undefined
		err.Err = fmt.Errorf("rank %d of the job: %w", p.Rank, err.Err)
	}
	return &err
}

func rankIn(procs []*Proc, jobRank int) int {
	for i, p := range procs {
		if p.Rank == jobRank {
			return i
		}
	}
	return -1
}
