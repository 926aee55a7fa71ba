package differ

import (
	"fmt"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

func (x *player) group(here *ompi.Comm) (*ompi.Group, error) {
	switch w := x.word(); w {
	case "here":
		return here.Group(), nil
	case "union", "inter", "diff":
		a, err := x.group(here)
		if err != nil {
			return nil, err
		}
		b, err := x.group(here)
		if err != nil {
			return nil, err
		}
		switch w {
		case "union":
			return a.Union(b)
		case "inter":
			return a.Intersection(b)
		}
		return a.Difference(b)
	case "incl", "excl":
		ranks := x.numbers(x.number())
		g, err := x.group(here)
		if err != nil {
			return nil, err
		}
		if w == "incl" {
			return g.Incl(ranks)
		}
		return g.Excl(ranks)
	default:
		ranges := make([][3]int, x.number())
		for i := range ranges {
			ranges[i] = [3]int(x.numbers(3))
		}
		g, err := x.group(here)
		if err != nil {
			return nil, err
		}
		if w == "rincl" {
			return g.RangeIncl(ranges)
		}
		return g.RangeExcl(ranges)
	}
}

// sayGroup tells size, own rank, and the members as ranks of the world.
func (x *player) sayGroup(g *ompi.Group) error {
	rank := g.Rank()
	if rank == ompi.Undefined {
		rank = -1
	}
	ranks := make([]int, g.Size())
	for i := range ranks {
		ranks[i] = i
	}
	members, err := g.TranslateRanks(ranks, x.world.Group())
	x.say(" %d %d [", g.Size(), rank)
	for _, r := range members {
		x.say(" %d", r)
	}
	x.say(" ]")
	return err
}

func (x *player) communicators(c *ompi.Comm, slot int, name string) error {
	switch name {
	case "free":
		x.say(" free")
		x.comms[slot] = nil
		return c.Free()
	case "compare":
		other := x.comms[x.number()]
		if other == nil {
			x.say(" none")
			return nil
		}
		x.say(" %d", c.Compare(other))
		return nil
	case "groups":
		a, err := x.group(c)
		if err != nil {
			return err
		}
		b, err := x.group(c)
		if err != nil {
			return err
		}
		if err := x.sayGroup(a); err != nil {
			return err
		}
		err = x.sayGroup(b)
		x.say(" %d", a.Compare(b))
		return err
	}
	to := x.number()
	d, err := x.newComm(c, name)
	if err != nil {
		return err
	}
	if d == nil {
		x.say(" none")
		return nil
	}
	x.comms[to] = d
	return x.sayGroup(d.Group())
}

func (x *player) newComm(c *ompi.Comm, name string) (*ompi.Comm, error) {
	switch name {
	case "dup":
		return c.Dup()
	case "idup":
		d, req, err := c.Idup()
		if err == nil {
			_, err = req.WaitContext(x.ctx)
		}
		return d, err
	case "cgroup":
		tag := x.number()
		g, err := x.group(c)
		if err != nil {
			return nil, err
		}
		return c.CreateGroup(g, tag)
	case "split":
		n := x.number()
		colors, keys := x.numbers(n), x.numbers(n)
		color := colors[c.Rank()]
		if color < 0 {
			color = ompi.Undefined
		}
		return c.Split(color, keys[c.Rank()])
	case "create":
		g, err := x.group(c)
		if err != nil {
			return nil, err
		}
		return c.Create(g)
	}
	return nil, fmt.Errorf("no such step: %q", name)
}

func (x *player) sayType(t *datatype.Type) {
	lb, extent := t.Extent()
	first, span := t.TrueExtent()
	x.say(" %d %d %d %d %d", t.Size(), lb, extent, first, span)
}

// local does what one rank does alone.
func (x *player) local(name string) error {
	if name != "type" {
		return x.pack(name == "external")
	}
	a := x.typ()
	x.sayType(a)
	return nil
}
