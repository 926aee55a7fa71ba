package ompi

import (
	"slices"

	"github.com/ompi-go/ompi-go/core"
)

// DimsCreate fills the zeros in dims so that the product of all is nodes, as balanced as possible: the largest and the smallest number
// filled in differ as little as can be, and they do not increase (MPI-3.1 §7.5.2). ErrDims: a number is negative, or there is no
// such choice.
func DimsCreate(nodes int, dims []int) error {
	bad := func(format string, args ...any) error {
		err := core.NewError(ErrDims, format, args...)
		err.Op = "Dims_create"
		return err
	}
	if nodes <= 0 {
		return bad("%d nodes cannot be arranged", nodes)
	}
	left, free := nodes, 0
	for d, n := range dims {
		switch {
		case n < 0:
			return bad("dimension %d is %d", d, n)
		case n == 0:
			free++
		case left%n != 0:
			return bad("%d nodes do not divide by the given dimensions", nodes)
		default:
			left /= n
		}
	}
	if free == 0 {
		if left != 1 {
			return bad("the given dimensions leave a factor of %d of %d nodes", left, nodes)
		}
		return nil
	}
	found := balanced(left, free)
	for d := range dims {
		if dims[d] == 0 {
			dims[d], found = found[0], found[1:]
		}
	}
	return nil
}

// balanced gives k factors of n, not increasing, with the least difference between the first and the last, and among those the
// least first, then the least second and so on.
func balanced(n, k int) []int {
	var divisors []int // ascending
	for d := 1; d*d <= n; d++ {
		if n%d == 0 {
			divisors = append(divisors, d)
			if d*d != n {
				divisors = append(divisors, n/d)
			}
		}
	}
	slices.Sort(divisors)
	s := search{divisors: divisors, picked: make([]int, k), spread: n}
	for at, largest := range divisors {
		if pow := atLeast(largest, k, n); !pow {
			continue // even k times the largest is too little
		}
		if largest-1 <= s.spread || s.best == nil {
			s.picked[0] = largest
			s.pick(1, n/largest, at)
		}
	}
	return s.best
}

// atLeast reports whether d to the power k is n or more.
func atLeast(d, k, n int) bool {
	p := 1
	for ; k > 0; k-- {
		if p > n/d {
			return true // p*d exceeds n
		}
		p *= d
	}
	return p >= n
}

type search struct {
	divisors []int
	picked   []int
	best     []int
	spread   int
}

// pick chooses the factors from place on, of what is left, among the divisors up to divisors[at].
func (s *search) pick(place, left, at int) {
	rest := len(s.picked) - place
	if rest == 0 {
		if left != 1 {
			return
		}
		spread := s.picked[0] - s.picked[place-1]
		if s.best == nil || spread < s.spread || spread == s.spread && slices.Compare(s.picked, s.best) < 0 {
			s.best, s.spread = slices.Clone(s.picked), spread
		}
		return
	}
	for ; at >= 0; at-- {
		d := s.divisors[at]
		if s.best != nil && s.picked[0]-d > s.spread || !atLeast(d, rest, left) {
			return // smaller ones will not do either
		}
		if left%d == 0 {
			s.picked[place] = d
			s.pick(place+1, left/d, at)
		}
	}
}

// cart is the cartesian topology of a communicator.
func (c *Comm) cart(op string) (*core.Topology, error) {
	if err := c.usable(op); err != nil {
		return nil, err
	}
	if t := c.c.Topology(); t != nil && t.Kind == core.TopologyCart {
		return t, nil
	}
	return nil, c.badArg(op, ErrTopology, "it has no cartesian topology")
}

// CartCreate makes a communicator whose ranks form a grid of dims, row-major; periods says which dimensions wrap (MPI-3.1 §7.5.1). Ranks
// that the grid does not need get nil, nil. A grid without dimensions has one rank. Ranks keep their order: reorder allows another
// one, but none is known to be better. It is collective.
func (c *Comm) CartCreate(dims []int, periods []bool, reorder bool) (*Comm, error) {
	const op = "Cart_create"
	if err := c.topoParent(op); err != nil {
		return nil, err
	}
	if len(periods) != len(dims) {
		return nil, c.badArg(op, ErrArg, "%d periods for %d dimensions", len(periods), len(dims))
	}
	n := 1
	for d, x := range dims {
		if x <= 0 {
			return nil, c.badArg(op, ErrDims, "dimension %d is %d", d, x)
		}
		if n > c.size/x {
			return nil, c.badArg(op, ErrDims, "a grid of %v has more than the %d ranks of the communicator", dims, c.size)
		}
		n *= x
	}
	return c.withTopology(op, n, func(rank int) *core.Topology { return core.NewCart(dims, periods, rank) })
}

// topoParent is the check of a communicator that is to be given a topology.
func (c *Comm) topoParent(op string) error {
	if err := c.usable(op); err != nil {
		return err
	}
	return c.intra(op)
}

// withTopology makes a communicator of the first n ranks; make gives a rank's view of its topology.
func (c *Comm) withTopology(op string, n int, make func(rank int) *core.Topology) (*Comm, error) {
	var out *Comm
	err := c.call(op, Undefined, 0, func() error {
		g, err := c.c.Group().RangeIncl([][3]int{{0, n - 1, 1}})
		if n == 0 {
			g, err = c.c.Group().Incl(nil)
		}
		if err != nil {
			return c.fail(op, err)
		}
		out, err = c.derive(op, g, nil, g.Rank() != Undefined, func(made *Comm) error {
			made.c.SetTopology(make(made.Rank()))
			return nil
		})
		return err
	})
	return out, err
}

// CartCoords gives the coordinates of a rank.
func (c *Comm) CartCoords(rank int) ([]int, error) {
	const op = "Cart_coords"
	t, err := c.cart(op)
	if err != nil {
		return nil, err
	}
	if uint(rank) >= uint(c.size) {
		return nil, c.refuse(op, c.noRank(rank))
	}
	return t.Coords(rank), nil
}

// CartRank gives the rank at coordinates. Those of periodic dimensions wrap; outside of others, the error is ErrArg.
func (c *Comm) CartRank(coords []int) (int, error) {
	const op = "Cart_rank"
	t, err := c.cart(op)
	if err != nil {
		return Undefined, err
	}
	if len(coords) != len(t.Dims) {
		return Undefined, c.badArg(op, ErrArg, "%d coordinates for %d dimensions", len(coords), len(t.Dims))
	}
	rank, outside := t.RankAt(coords)
	if outside >= 0 {
		return Undefined, c.badArg(op, ErrArg, "coordinate %d of dimension %d, which has %d and is not periodic", coords[outside], outside, t.Dims[outside])
	}
	return rank, nil
}

// CartShift gives the ranks to receive from and to send to when all data move by disp along a dimension; ProcNull beyond the border of
// one that is not periodic (MPI-3.1 §7.5.6).
func (c *Comm) CartShift(dim, disp int) (source, dest int, err error) {
	const op = "Cart_shift"
	t, err := c.cart(op)
	if err != nil {
		return Undefined, Undefined, err
	}
	if uint(dim) >= uint(len(t.Dims)) {
		return Undefined, Undefined, c.badArg(op, ErrArg, "dimension %d of %d", dim, len(t.Dims))
	}
	source, dest = t.Shift(c.Rank(), dim, disp)
	return source, dest, nil
}

// CartSub divides the grid into sub-grids of the dimensions that remain, each with a communicator of its own (MPI-3.1 §7.5.7). It is
// collective.
func (c *Comm) CartSub(remain []bool) (*Comm, error) {
	const op = "Cart_sub"
	t, err := c.cart(op)
	if err != nil {
		return nil, err
	}
	if len(remain) != len(t.Dims) {
		return nil, c.badArg(op, ErrArg, "%d flags for %d dimensions", len(remain), len(t.Dims))
	}
	color, key := 0, 0
	var dims []int
	var periods []bool
	for d, x := range t.Coords(c.Rank()) {
		if remain[d] {
			key = key*t.Dims[d] + x
			dims, periods = append(dims, t.Dims[d]), append(periods, t.Periods[d])
		} else {
			color = color*t.Dims[d] + x
		}
	}
	return c.split(op, color, key, func(made *Comm) error {
		made.c.SetTopology(core.NewCart(dims, periods, made.Rank()))
		return nil
	})
}

// CartGet gives the dimensions, which of them are periodic, and the caller's coordinates. The slices are the caller's.
func (c *Comm) CartGet() (dims []int, periods []bool, coords []int, err error) {
	t, err := c.cart("Cart_get")
	if err != nil {
		return nil, nil, nil, err
	}
	return slices.Clone(t.Dims), slices.Clone(t.Periods), t.Coords(c.Rank()), nil
}

// Neighbors gives the ranks from which neighbourhood collectives receive and to which they send, in the order of their buffers: on a grid,
// for each dimension the neighbour in negative and then in positive direction, ProcNull where there is none; on a graph the list
// of the rank's neighbours, twice; on a distributed graph what was given. The slices are the caller's.
func (c *Comm) Neighbors() (sources, destinations []int, err error) {
	const op = "Dist_graph_neighbors"
	if err := c.usable(op); err != nil {
		return nil, nil, err
	}
	t := c.c.Topology()
	if t == nil {
		return nil, nil, c.badArg(op, ErrTopology, "it has no topology")
	}
	return slices.Clone(t.Sources), slices.Clone(t.Destinations), nil
}
