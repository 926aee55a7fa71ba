package ompi

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// SplitKind says what the ranks of each part of SplitType have in common.
type SplitKind int

// Kinds of split.
const (
	SplitShared SplitKind = iota // ranks that can share memory
	SplitHost                    // ranks on one host
)

// Split makes one communicator for each color, its ranks ordered by key and, among equal keys, by rank. With color Undefined the
// caller takes part but gets nil, nil. Out of an intercommunicator it makes intercommunicators between the ranks of one color in
// either group, and nil, nil where there are none in one of them (MPI-3.1 §6.6.2). It is collective. Another negative color is
// ErrArg, on all ranks.
func (c *Comm) Split(color, key int) (*Comm, error) {
	if err := c.usable("Comm_split"); err != nil {
		return nil, err
	}
	return c.split("Comm_split", color, key, nil)
}

// SplitType makes one communicator for each set of ranks that have kind in common; see Split for key. With kind Undefined the
// caller gets nil, nil.
func (c *Comm) SplitType(kind SplitKind, key int) (*Comm, error) {
	const op = "Comm_split_type"
	if err := c.usable(op); err != nil {
		return nil, err
	}
	color := badColor
	switch kind {
	case Undefined:
		color = Undefined
	case SplitShared, SplitHost:
		color = c.inst.job.Node(c.inst.job.Rank())
	}
	return c.split(op, color, key, nil)
}

// badColor stands for a kind of SplitType that there is not.
const badColor = -1

// choice is what one rank gives to split.
type choice struct{ color, key int64 }

// split makes a communicator of the ranks that have the same color as the caller. finish, which may be nil, prepares it further.
func (c *Comm) split(op string, color, key int, finish func(*Comm) error) (*Comm, error) {
	var out *Comm
	err := c.call(op, Undefined, 0, func() error {
		mine, theirs, err := c.choices(choice{int64(color), int64(key)})
		if err != nil {
			return c.fail(op, err)
		}
		for r, x := range slices.Concat(mine, theirs) {
			if x.color < 0 && x.color != Undefined {
				return c.badChoice(op, r, x.color)
			}
		}
		g, err := c.chosen(c.c.Group(), mine, color)
		if err != nil {
			return c.fail(op, err)
		}
		var remote *core.Group
		if c.IsInter() {
			if remote, err = c.chosen(c.c.Remote(), theirs, color); err != nil {
				return c.fail(op, err)
			}
		}
		out, err = c.derive(op, g, remote, color != Undefined, finish)
		return err
	})
	return out, err
}

func (c *Comm) badChoice(op string, rank int, color int64) error {
	whose := fmt.Sprintf("rank %d", rank)
	if c.IsInter() {
		whose = "a rank" // of either group
	}
	if op == "Comm_split_type" {
		return c.badArg(op, ErrArg, "%s gave a kind that there is not", whose)
	}
	return c.badArg(op, ErrArg, "%s gave the negative color %d", whose, color)
}

// choices are those of the local group and, on an intercommunicator, of the remote one, by rank.
func (c *Comm) choices(own choice) (mine, theirs []choice, err error) {
	send := []int64{own.color, own.key}
	if c.IsInter() {
		if theirs, err = gatherChoices(c.coll.Allgather, send, c.size); err != nil {
			return nil, nil, err
		}
		mine, err = gatherChoices(c.local.coll.Allgather, send, c.local.size)
		return mine, theirs, err
	}
	mine, err = gatherChoices(c.coll.Allgather, send, c.size)
	return mine, nil, err
}

func gatherChoices(by coll.Allgatherer, own []int64, n int) ([]choice, error) {
	all := make([]int64, 2*n)
	if err := by.Allgather(int64s(own), int64s(all)); err != nil {
		return nil, err
	}
	out := make([]choice, n)
	for r := range out {
		out[r] = choice{all[2*r], all[2*r+1]}
	}
	return out, nil
}

// chosen is the part of g with a color, ordered by key.
func (c *Comm) chosen(g *core.Group, choices []choice, color int) (*core.Group, error) {
	var members []int
	for r, x := range choices {
		if color != Undefined && x.color == int64(color) {
			members = append(members, r)
		}
	}
	slices.SortStableFunc(members, func(a, b int) int { return cmp.Compare(choices[a].key, choices[b].key) })
	return g.Incl(members)
}

// derive makes a communicator of group g and, out of an intercommunicator, the remote group, if this rank is to be in it. All members
// of c take part in finding its contexts. finish, which may be nil, prepares it further before it works.
func (c *Comm) derive(op string, g, remote *core.Group, in bool, finish func(*Comm) error) (*Comm, error) {
	ks, err := c.agreeContexts(false)
	if err != nil {
		return nil, c.fail(op, err)
	}
	if !in || c.IsInter() && remote.Size() == 0 {
		c.inst.giveContexts(ks...)
		return nil, nil
	}
	var out *Comm
	if c.IsInter() {
		out = c.childInter(g, remote)
	} else {
		out = c.child(g)
	}
	if finish != nil {
		if err := finish(out); err != nil {
			c.inst.giveContexts(ks...)
			return nil, c.fail(op, err)
		}
	}
	if err := c.inst.enable(out, ks); err != nil {
		return nil, c.fail(op, err)
	}
	return out, nil
}

// Create makes a communicator of the group's members, which must be among c's. It is collective over c; who is no member gets
// nil, nil. Of an intercommunicator, each local group gives a part of itself, and the result is an intercommunicator between them, or
// nil, nil where one is empty (MPI-3.1 §6.6.2).
func (c *Comm) Create(g *Group) (*Comm, error) {
	const op = "Comm_create"
	if err := c.usable(op); err != nil {
		return nil, err
	}
	if err := c.checkPart(op, g); err != nil {
		return nil, err
	}
	var out *Comm
	err := c.call(op, Undefined, 0, func() error {
		var remote *core.Group
		if c.IsInter() {
			var err error
			if remote, err = c.remotePart(g); err != nil {
				return c.fail(op, err)
			}
		}
		var err error
		out, err = c.derive(op, g, remote, g.Rank() != Undefined, nil)
		return err
	})
	return out, err
}

// checkPart checks that g is a part of c's group.
func (c *Comm) checkPart(op string, g *Group) error {
	if g == nil {
		return c.badArg(op, ErrGroup, "the group is nil")
	}
	extra, err := g.Difference(c.c.Group())
	if err != nil {
		return c.fail(op, err)
	}
	if extra.Size() != 0 {
		r, err := extra.TranslateRanks([]int{0}, g)
		if err != nil {
			return c.fail(op, err)
		}
		return c.badArg(op, ErrGroup, "member %d of the group is not in the communicator", r[0])
	}
	return nil
}

// remotePart is the group that the ranks of the remote group give to Create: each tells its place in it.
func (c *Comm) remotePart(g *core.Group) (*core.Group, error) {
	places, err := gatherChoices(c.coll.Allgather, []int64{0, int64(g.Rank())}, c.size)
	if err != nil {
		return nil, err
	}
	for r := range places {
		if places[r].key == Undefined {
			places[r].color = Undefined
		}
	}
	return c.chosen(c.c.Remote(), places, 0)
}

func int32s(s []int32) core.Buffer {
	return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(s)), int64(len(s)), datatype.Int32)
}

func int64s(s []int64) core.Buffer {
	return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(s)), int64(len(s)), datatype.Int64)
}
