package differ

import (
	"slices"

	"github.com/ompi-go/ompi-go/ompi"
)

func (x *player) sayList(v []int) {
	x.say(" [")
	for _, n := range v {
		x.say(" %d", n)
	}
	x.say(" ]")
}

func (x *player) flags(n int) []bool {
	v := make([]bool, n)
	for i := range v {
		v[i] = x.flag()
	}
	return v
}

// sayCart tells everything that a grid tells.
func (x *player) sayCart(c *ompi.Comm) error {
	dims, periods, coords, err := c.CartGet()
	if err != nil {
		return err
	}
	round := make([]int, len(periods))
	for d, p := range periods {
		if p {
			round[d] = 1
		}
	}
	x.sayList(dims)
	x.sayList(round)
	x.sayList(coords)
	for r := range c.Size() {
		if coords, err = c.CartCoords(r); err != nil {
			return err
		}
		x.sayList(coords)
		for d, p := range periods {
			if p {
				coords[d] += (r%3 - 1) * dims[d] // the way round
			}
		}
		back, err := c.CartRank(coords)
		if err != nil {
			return err
		}
		x.say(" %d", back)
	}
	for d := range dims {
		for by := -2; by <= 3; by++ {
			source, dest, err := c.CartShift(d, by)
			if err != nil {
				return err
			}
			x.sayList([]int{source, dest})
		}
	}
	return nil
}

// edge is how many units go from one rank to another in the v forms.
func (x *player) edge(from, to int) int {
	if from < 0 || to < 0 {
		return 1
	}
	return (from*3 + to*5 + int(x.step)) % 4
}

var neighbourhoods = []string{"nallgather", "nallgatherv", "nalltoall", "nalltoallv", "nalltoallw"}

func (x *player) neighbourhood(c *ompi.Comm, j *job, mode int, name string) error {
	in, to, err := c.Neighbors()
	if err != nil {
		return err
	}
	a, fa := x.typ(), x.number()
	b, fb := x.typ(), x.number()
	n, rank := x.number(), c.Rank()
	sc, rc := make([]int, len(to)), make([]int, len(in))
	for i, from := range in {
		switch {
		case name == "nallgatherv" || from < 0:
			rc[i] = fb * x.edge(from, from)
		default:
			rc[i] = fb * x.edge(from, rank)
		}
	}
	for i, t := range to {
		sc[i] = fa * x.edge(rank, t)
	}
	sd, rd := lay(sc, 1, false), lay(rc, 2, true)
	switch name {
	case "nallgather":
		r := x.side(j, false, b, n*fb*len(in), 2)
		s := x.side(j, false, a, n*fa, 1)
		return j.call(mode, func() error { return c.NeighborAllgather(s, r) },
			func() ompi.Request { return c.IneighborAllgather(s, r) }, func() ompi.Request { return c.NeighborAllgatherInit(s, r) })
	case "nalltoall":
		r := x.side(j, false, b, n*fb*len(in), 2)
		s := x.side(j, false, a, n*fa*len(to), 1)
		return j.call(mode, func() error { return c.NeighborAlltoall(s, r) },
			func() ompi.Request { return c.IneighborAlltoall(s, r) }, func() ompi.Request { return c.NeighborAlltoallInit(s, r) })
	case "nallgatherv":
		r := x.side(j, false, b, reach(rc, rd), 2)
		s := x.side(j, false, a, x.edge(rank, rank)*fa, 1)
		return j.call(mode, func() error { return c.NeighborAllgatherv(s, r, rc, rd) },
			func() ompi.Request { return c.IneighborAllgatherv(s, r, rc, rd) }, func() ompi.Request { return c.NeighborAllgathervInit(s, r, rc, rd) })
	}
	r := x.side(j, false, b, reach(rc, rd), 2)
	s := x.side(j, false, a, reach(sc, sd), 1)
	if name == "nalltoallv" {
		return j.call(mode, func() error { return c.NeighborAlltoallv(s, sc, sd, r, rc, rd) },
			func() ompi.Request { return c.IneighborAlltoallv(s, sc, sd, r, rc, rd) },
			func() ompi.Request { return c.NeighborAlltoallvInit(s, sc, sd, r, rc, rd) })
	}
	var ss, rs []ompi.Buffer
	_, extent := a.Extent()
	for i := range to {
		m := j.areas[1]
		ss = append(ss, m.block(sd[i]*int(extent), a, sc[i]))
	}
	_, extent = b.Extent()
	for i := range in {
		m := j.areas[0]
		rs = append(rs, m.block(rd[i]*int(extent), b, rc[i]))
	}
	return j.call(mode, func() error { return c.NeighborAlltoallw(ss, rs) },
		func() ompi.Request { return c.IneighborAlltoallw(ss, rs) }, func() ompi.Request { return c.NeighborAlltoallwInit(ss, rs) })
}

// dims tells how a number of nodes is arranged.
func (x *player) dims() error {
	nodes := x.number()
	dims := x.numbers(x.number())
	err := ompi.DimsCreate(nodes, dims)
	x.sayList(dims)
	return err
}

func (x *player) topology(c *ompi.Comm, name string) error {
	to, n := x.number(), x.number()
	d, err := x.newTopology(c, name, n)
	x.comms[to] = d
	switch {
	case err != nil:
		return err
	case d == nil:
		x.say(" none")
		return nil
	}
	if err := x.sayGroup(d.Group()); err != nil {
		return err
	}
	if name == "cart" || name == "cartsub" {
		if err := x.sayCart(d); err != nil {
			return err
		}
	}
	in, out, err := d.Neighbors()
	x.sayList(in)
	x.sayList(out)
	return err
}

func (x *player) newTopology(c *ompi.Comm, name string, n int) (*ompi.Comm, error) {
	switch name {
	case "cart":
		dims := x.numbers(n)
		return c.CartCreate(dims, x.flags(n), false)
	case "cartsub":
		return c.CartSub(x.flags(n))
	case "graph":
		index := x.numbers(n)
		return c.GraphCreate(index, x.numbers(index[n-1]), false)
	}
	var sources, dests []int
	for r := range n {
		in := x.numbers(x.number())
		out := x.numbers(x.number())
		if r == c.Rank() {
			sources, dests = in, out
		}
	}
	return c.DistGraphCreateAdjacent(sources, nil, dests, nil, nil, false)
}

// ---- the author's part ----

// topology draws a communicator with a topology over p, which has one part.
func (g *author) topology(p party) {
	members := p.parts[0]
	n := len(members)
	q := party{parts: p.parts, neighbours: true}
	switch g.IntN(4) {
	case 0:
		q.parts = [][]int{members[:1+g.IntN(n)]}
		n = len(q.parts[0])
		var index, edges []int
		for range n {
			edges = append(edges, g.some(n)...)
			index = append(index, len(edges))
		}
		g.made(p, symmetric(q, index, edges), "graph", g.next, n, index, edges)
	case 1:
		in, out := make([][]int, n), make([][]int, n)
		for r := range n {
			out[r] = g.some(n)
			for _, d := range out[r] {
				in[d] = append(in[d], r)
			}
		}
		parts := []any{g.next, n}
		for r := range n {
			g.Shuffle(len(in[r]), func(i, k int) { in[r][i], in[r][k] = in[r][k], in[r][i] })
			parts = append(parts, len(in[r]), in[r], len(out[r]), out[r])
		}
		g.made(p, q, "dgraph", parts...)
	default:
		g.grid(p, q)
	}
}

// symmetric: collectives of neighbours need each edge of a graph in both directions.
func symmetric(q party, index, edges []int) party {
	of := func(r int) []int {
		from := 0
		if r > 0 {
			from = index[r-1]
		}
		return edges[from:index[r]]
	}
	for r := range index {
		for _, d := range of(r) {
			if !slices.Contains(of(d), r) {
				q.neighbours = false
			}
		}
	}
	return q
}

// some draws different ranks.
func (g *author) some(n int) []int { return g.Perm(n)[:g.between(0, min(n, 3))] }

func (g *author) grid(p, q party) {
	n := len(p.parts[0])
	var dims []int
	size := 1
	for range g.between(1, 3) {
		d := g.between(1, n/size)
		dims = append(dims, d)
		size *= d
	}
	periods := g.list(len(dims), func() int { return g.IntN(2) })
	for i, d := range dims {
		// With two ways to one neighbour it is not said which block goes which.
		q.neighbours = q.neighbours && (periods[i] == 0 || d > 2)
	}
	q.parts = [][]int{p.parts[0][:size]}
	q.dims = dims
	g.made(p, q, "cart", g.next, len(dims), dims, periods)
}

// subgrid divides a grid.
func (g *author) subgrid(p party) {
	remain := g.list(len(p.dims), func() int { return g.IntN(2) })
	groups := map[int][]int{}
	var order []int
	for r, member := range p.parts[0] {
		color, rest := 0, r
		for d := len(p.dims) - 1; d >= 0; d-- {
			if remain[d] == 0 {
				color = color*8 + rest%p.dims[d] + 1
			}
			rest /= p.dims[d]
		}
		if groups[color] == nil {
			order = append(order, color)
		}
		groups[color] = append(groups[color], member)
	}
	var q party
	for _, color := range order {
		q.parts = append(q.parts, groups[color])
	}
	q.neighbours = p.neighbours && slices.Contains(remain, 1)
	g.made(p, q, "cartsub", g.next, len(remain), remain)
}

// neighbourhood draws a collective of neighbours.
func (g *author) neighbourhood(p party) {
	pr := g.pair(false)
	g.emit(p.slot, 0, nil, neighbourhoods[g.IntN(len(neighbourhoods))], g.mode(), pr, g.count(pr.unit()))
}

func (g *author) dims() {
	dims := g.list(g.between(1, 4), func() int { return 0 })
	nodes := g.between(1, 48)
	g.emit(0, 0, nil, "dims", nodes, len(dims), dims)
}
