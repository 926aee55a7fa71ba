package ompi

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/ompi-go/ompi-go/core"
)

// CreateGroup makes a communicator of the group's members, which must be among those of the intracommunicator c. It is collective
// over the group alone; who is no member gets nil, nil at once. Creations at the same time, from several goroutines of a rank,
// must differ in tag, group or communicator (MPI-3.1 §6.4.2).
func (c *Comm) CreateGroup(g *Group, tag int) (*Comm, error) {
	const op = "Comm_create_group"
	if err := c.usable(op); err != nil {
		return nil, err
	}
	if err := c.intra(op); err != nil {
		return nil, err
	}
	if err := c.checkPart(op, g); err != nil {
		return nil, err
	}
	if err := c.checkTag(tag, false); err != nil {
		return nil, c.refuse(op, err)
	}
	if g.Rank() == Undefined {
		return nil, nil
	}
	var out *Comm
	err := c.call(op, Undefined, 0, func() error {
		about := matter{scope: scopeGroup, a: uint64(c.c.Context()), b: uint64(tag), c: groupHash(g.JobRanks())}
		ks, err := c.inst.agree(about, g.JobRanks(), 1, false)
		if err != nil {
			return c.fail(op, c.peerIn(err))
		}
		made := c.child(g)
		if err := c.inst.enable(made, ks); err != nil {
			return c.fail(op, err)
		}
		out = made
		return nil
	})
	return out, err
}

// intra refuses intercommunicators where the standard does.
func (c *Comm) intra(op string) error {
	if c.IsInter() {
		return c.badArg(op, ErrComm, "it is an intercommunicator; this call wants an intracommunicator")
	}
	return nil
}

// CommFromGroup makes a communicator of the group's members without another one (MPI-4.0 §7.4.2). It is collective over the group.
// Creations at the same time must differ in tag or group. An empty group gives nil, nil; a caller that is no member of another is
// ErrGroup. It starts with the instance's error handler.
func (i *Instance) CommFromGroup(g *Group, tag string) (*Comm, error) {
	const op = "Comm_create_from_group"
	bad := func(class ErrorClass, why string) (*Comm, error) {
		err := core.NewError(class, "%s", why)
		err.Op = op
		return nil, i.fail(err)
	}
	switch {
	case i.finalized.Load():
		return bad(ErrOther, "called after Finalize")
	case g == nil:
		return bad(ErrGroup, "the group is nil")
	case g.Size() == 0:
		return nil, nil
	case g.Rank() == Undefined:
		return bad(ErrGroup, "the caller is no member of the group")
	}
	var out *Comm
	run := func() error {
		sum := sha256.Sum256([]byte(tag))
		about := matter{scope: scopePset, a: binary.LittleEndian.Uint64(sum[:]), b: binary.LittleEndian.Uint64(sum[8:]), c: groupHash(g.JobRanks())}
		ks, err := i.agree(about, g.JobRanks(), 1, false)
		if err == nil {
			made := i.prepare(g, "")
			if err = i.enable(made, ks); err == nil {
				out = made
				return nil
			}
		}
		if core.ClassOf(err) == ErrProcFailed {
			i.news.await(i.world, err)
		}
		return i.fail(i.world.explain(op, err))
	}
	if i.intercept == nil {
		return out, run()
	}
	err := i.intercept(Call{Name: op, Comm: i.world, Peer: Undefined}, run)
	return out, err
}
