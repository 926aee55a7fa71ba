package ompi

import (
	"slices"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/progress"
)

// IsInter reports whether this is an intercommunicator (MPI-3.1 §6.6).
func (c *Comm) IsInter() bool { return c.c.Remote() != nil }

// RemoteSize is the size of the remote group of an intercommunicator, 0 of an intracommunicator.
func (c *Comm) RemoteSize() int {
	if !c.IsInter() {
		return 0
	}
	return c.c.Remote().Size()
}

// RemoteGroup is the remote group of an intercommunicator, nil of an intracommunicator.
func (c *Comm) RemoteGroup() *Group { return c.c.Remote() }

// childInter prepares an intercommunicator made out of c.
func (c *Comm) childInter(local, remote *core.Group) *Comm {
	i := c.inst
	private := i.prepare(local, "")
	out := i.dress(core.NewInter(0, private.c, remote, i.procs, ""))
	out.local = private
	out.union = bothGroups(local.JobRanks(), remote.JobRanks())
	out.errh.Store(c.errh.Load())
	return out
}

// bothGroups are the ranks of two groups, first the one that begins with the lower rank: so both name them in the same order.
func bothGroups(a, b []int) []int {
	if len(b) > 0 && (len(a) == 0 || b[0] < a[0]) {
		a, b = b, a
	}
	return slices.Concat(a, b)
}

// CreateIntercomm makes an intercommunicator of two groups: that of the intracommunicator c, and the one of the communicator on
// which the other leader calls it (MPI-3.1 §6.6.2). leader is a rank of c; bridge, remoteLeader and tag matter to it alone:
// remoteLeader is the other leader's rank in bridge, tag tells creations over one bridge at the same time apart. It is
// collective over both groups, which must be disjoint (else ErrGroup).
func (c *Comm) CreateIntercomm(leader int, bridge *Comm, remoteLeader, tag int) (*Comm, error) {
	const op = "Intercomm_create"
	if err := c.usable(op); err != nil {
		return nil, err
	}
	if err := c.intra(op); err != nil {
		return nil, err
	}
	if uint(leader) >= uint(c.size) {
		return nil, c.refuse(op, c.noRank(leader))
	}
	var out *Comm
	err := c.call(op, remoteLeader, 0, func() error {
		var meeting meeting
		var failed error
		if c.Rank() == leader {
			if failed = c.checkBridge(op, bridge, remoteLeader, tag); failed == nil {
				meeting, failed = c.meet(bridge, remoteLeader, tag)
			}
		}
		remote, about, err := c.tellMeeting(leader, meeting, failed)
		if failed != nil {
			if core.ClassOf(failed) == ErrProcFailed {
				return bridge.fail(op, failed) // the peer is one of its ranks
			}
			return c.fail(op, failed)
		}
		if err != nil {
			return c.fail(op, err)
		}
		both := bothGroups(c.c.Group().JobRanks(), remote)
		if common(both) {
			return c.badArg(op, ErrGroup, "the two groups have members in common")
		}
		about.c = groupHash(both)
		ks, err := c.inst.agree(about, both, 2, false)
		if err != nil {
			return c.fail(op, c.peerIn(err))
		}
		made := c.childInter(c.c.Group(), core.NewGroup(remote, c.inst.job.Rank()))
		if err := c.inst.enable(made, ks); err != nil {
			return c.fail(op, err)
		}
		out = made
		return nil
	})
	return out, err
}

func (c *Comm) checkBridge(op string, bridge *Comm, remoteLeader, tag int) error {
	switch {
	case bridge == nil:
		return core.NewError(ErrComm, "the bridge is nil at the leader")
	case bridge.inst != c.inst:
		return core.NewError(ErrComm, "the bridge is of another instance")
	case bridge.freed.Load():
		return core.NewError(ErrComm, "the bridge has been freed")
	case uint(remoteLeader) >= uint(bridge.size):
		err := core.NewError(ErrRank, "ranks of the bridge are 0 to %d", bridge.size-1)
		err.Peer = remoteLeader
		return err
	case uint(tag) > uint(bridge.tagUB):
		return core.NewError(ErrTag, "tag %d; tags are 0 to %d", tag, bridge.tagUB)
	}
	return nil
}

func common(ranks []int) bool {
	sorted := slices.Sorted(slices.Values(ranks))
	return len(slices.Compact(sorted)) != len(ranks)
}

// meeting is what a leader learns from the other.
type meeting struct {
	about  matter // less the groups
	remote []int  // job ranks of the other group
}

// hello is a leader's side of the first words: how large its group is, and with which tag it will send the list.
type hello struct {
	progress.Completion
	c      *council
	about  matter
	rank   int // the other leader in the job
	mine   councilMsg
	to     *speaker
	said   bool
	theirs councilMsg
	err    *core.Error
}

// members implements talk.
func (h *hello) members() []int { return []int{h.rank} }

// advance implements talk.
func (h *hello) advance() bool {
	if !h.said {
		if h.said = h.to.say(&h.mine); !h.said {
			return false
		}
	}
	m, ok := h.c.next(h.about, h.rank)
	if !ok {
		return false
	}
	h.theirs = m
	h.end()
	return true
}

// fail implements talk.
func (h *hello) fail(err *core.Error) {
	h.err = err
	h.end()
}

func (h *hello) end() {
	h.to.close()
	h.c.i.engine.Complete(&h.Completion)
}

// meet exchanges the groups with the other leader.
func (c *Comm) meet(bridge *Comm, remoteLeader, tag int) (meeting, error) {
	i := c.inst
	m := meeting{about: matter{scope: scopeBridge, a: uint64(bridge.c.Context()), b: uint64(tag)}}
	rank := bridge.c.Procs[remoteLeader].Rank
	if rank == i.job.Rank() {
		return m, core.NewError(ErrRank, "the remote leader is the caller itself")
	}
	own := c.c.Group().JobRanks()
	i.engine.Lock()
	dataTag := i.council.freshTag()
	i.engine.Unlock()
	h := &hello{c: i.council, about: m.about, rank: rank, to: i.council.speaker(rank),
		mine: councilMsg{saying: sayHello, about: m.about, number: uint32(len(own)), want: uint64(dataTag)}}
	i.council.listen([]int{rank})
	i.council.begin(h)
	i.engine.Wait(h)
	if h.err != nil {
		return m, bridge.peerIn(h.err)
	}
	if n := int(h.theirs.number); n == 0 || n > len(i.procs) || h.theirs.want > uint64(i.pml.MaxTag()) {
		return m, core.NewError(ErrIntern, "rank %d of the job speaks of a group of %d", rank, n)
	}
	theirs := make([]int64, h.theirs.number)
	in := i.pml.Irecv(&i.council.comm.P2P, int64s(theirs), rank, int(h.theirs.want))
	out := i.pml.Isend(&i.council.comm.P2P, int64s(asInt64(own)), rank, dataTag, pml.Standard)
	i.engine.Wait(&in.Completion)
	i.engine.Wait(&out.Completion)
	st, _ := in.Handle().Take()
	out.Handle().Drop()
	if st.Err != nil {
		return m, bridge.peerIn(st.Err)
	}
	m.remote = make([]int, len(theirs))
	for n, r := range theirs {
		if r < 0 || r >= int64(len(i.procs)) {
			return m, core.NewError(ErrIntern, "rank %d of the job speaks of rank %d", rank, r)
		}
		m.remote[n] = int(r)
	}
	return m, nil
}

func asInt64(s []int) []int64 {
	out := make([]int64, len(s))
	for n, v := range s {
		out[n] = int64(v)
	}
	return out
}

// tellMeeting spreads in the local group what its leader has learnt, or that it has failed.
func (c *Comm) tellMeeting(leader int, m meeting, failed error) (remote []int, about matter, err error) {
	head := []int64{int64(len(m.remote)), int64(m.about.a), int64(m.about.b)}
	if failed != nil {
		head[0] = 0
	}
	if err := c.coll.Bcast.Bcast(int64s(head), leader); err != nil {
		return nil, about, err
	}
	if head[0] == 0 {
		return nil, about, errRefused()
	}
	list := make([]int64, head[0])
	if c.Rank() == leader {
		list = asInt64(m.remote)
	}
	if err := c.coll.Bcast.Bcast(int64s(list), leader); err != nil {
		return nil, about, err
	}
	remote = make([]int, len(list))
	for n, r := range list {
		remote[n] = int(r)
	}
	return remote, matter{scope: scopeInter, a: uint64(head[1]), b: uint64(head[2])}, nil
}

// Merge makes an intracommunicator of both groups of an intercommunicator: first the one whose ranks give high false. When both give
// the same, the group that begins with the lower rank of the job comes first (MPI-3.1 §6.6.2). It is collective.
func (c *Comm) Merge(high bool) (*Comm, error) {
	const op = "Intercomm_merge"
	if err := c.usable(op); err != nil {
		return nil, err
	}
	if !c.IsInter() {
		return nil, c.badArg(op, ErrComm, "it is no intercommunicator")
	}
	var out *Comm
	err := c.call(op, Undefined, 0, func() error {
		mine, theirs := []int32{0}, []int32{0}
		if high {
			mine[0] = 1
		}
		if err := c.coll.Allreduce.Allreduce(int32s(mine), int32s(theirs), Max); err != nil {
			return c.fail(op, err)
		}
		if err := c.local.coll.Allreduce.Allreduce(core.InPlaceBuffer(), int32s(mine), Max); err != nil {
			return c.fail(op, err)
		}
		ranks := c.union
		switch local, remote := c.c.Group().JobRanks(), c.c.Remote().JobRanks(); {
		case mine[0] < theirs[0]:
			ranks = slices.Concat(local, remote)
		case mine[0] > theirs[0]:
			ranks = slices.Concat(remote, local)
		}
		ks, err := c.inst.agree(c.nextMatter(), c.union, 1, false)
		if err != nil {
			return c.fail(op, c.peerIn(err))
		}
		made := c.child(core.NewGroup(slices.Clone(ranks), c.inst.job.Rank()))
		if err := c.inst.enable(made, ks); err != nil {
			return c.fail(op, err)
		}
		out = made
		return nil
	})
	return out, err
}
