package ompi

import (
	"slices"
	"unsafe"

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
// caller takes part but gets nil, nil. It is collective.
func (c *Comm) Split(color, key int) (*Comm, error) {
	if err := c.usable("Comm_split"); err != nil {
		return nil, err
	}
	if color < 0 && color != Undefined {
		return nil, c.badArg("Comm_split", ErrArg, "color %d is negative", color)
	}
	return c.split("Comm_split", color, key)
}

// SplitType makes one communicator for each set of ranks that have kind in common; see Split for key.
func (c *Comm) SplitType(kind SplitKind, key int) (*Comm, error) {
	if err := c.usable("Comm_split_type"); err != nil {
		return nil, err
	}
	if kind == Undefined {
		return c.split("Comm_split_type", Undefined, key)
	}
	if kind != SplitShared && kind != SplitHost {
		return nil, c.badArg("Comm_split_type", ErrArg, "kind %d is unknown", kind)
	}
	return c.split("Comm_split_type", c.inst.job.Node(c.inst.job.Rank()), key)
}

func (c *Comm) split(op string, color, key int) (*Comm, error) {
	var out *Comm
	err := c.call(op, Undefined, 0, func() error {
		mine := []int64{int64(color), int64(key)}
		all := make([]int64, 2*c.size)
		if err := c.coll.Allgather.Allgather(int64s(mine), int64s(all)); err != nil {
			return c.fail(op, err)
		}
		k, err := c.agreeContext()
		if err != nil {
			return c.fail(op, err)
		}
		if color == Undefined {
			c.inst.giveContext(k)
			return nil
		}
		var members []int
		for r := range c.size {
			if all[2*r] == int64(color) {
				members = append(members, r)
			}
		}
		slices.SortStableFunc(members, func(a, b int) int { return compareInt64(all[2*a+1], all[2*b+1]) })
		g, err := c.c.Group().Incl(members)
		if err != nil {
			c.inst.giveContext(k)
			return c.fail(op, err)
		}
		if out, err = c.inst.newComm(k, g, ""); err != nil {
			c.inst.giveContext(k)
			return c.fail(op, err)
		}
		out.errh.Store(c.errh.Load())
		return nil
	})
	return out, err
}

// Create makes a communicator of the group's members, which must be among c's. It is collective over c; who is no member gets
// nil, nil.
func (c *Comm) Create(g *Group) (*Comm, error) {
	if err := c.usable("Comm_create"); err != nil {
		return nil, err
	}
	if g == nil {
		return nil, c.badArg("Comm_create", ErrGroup, "the group is nil")
	}
	for r := range g.Size() {
		if c.c.RankOf(g.JobRank(r)) < 0 {
			return nil, c.badArg("Comm_create", ErrGroup, "member %d of the group is not in the communicator", r)
		}
	}
	var out *Comm
	err := c.call("Comm_create", Undefined, 0, func() error {
		k, err := c.agreeContext()
		if err != nil {
			return c.fail("Comm_create", err)
		}
		if g.Rank() == Undefined {
			c.inst.giveContext(k)
			return nil
		}
		if out, err = c.inst.newComm(k, g, ""); err != nil {
			c.inst.giveContext(k)
			return c.fail("Comm_create", err)
		}
		out.errh.Store(c.errh.Load())
		return nil
	})
	return out, err
}

func compareInt64(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func int32s(s []int32) core.Buffer {
	return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(s)), int64(len(s)), datatype.Int32)
}

func int64s(s []int64) core.Buffer {
	return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(s)), int64(len(s)), datatype.Int64)
}
