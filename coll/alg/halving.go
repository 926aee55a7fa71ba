package alg

import "github.com/ompi-go/ompi-go/core"

// Reduction by vector halving and distance doubling, on which Rabenseifner's algorithms are built.
//
// In round k the members of a team that differ in bit k exchange: of what both have the sums of, the lower one keeps the first half
// and hands over the second. Groups of neighbours merge in each round, so that operands stay in order. After the last round a member
// has all of one part of 2^k; which, its number with the bits reversed says. Each element is finished by one member only, so
// everybody gets the same bits in the end.

// halves are the parts into which the data is divided.
type halves struct {
	work core.Buffer
	own  core.Buffer // the operand, while fresh
	// fresh: nothing has been combined yet, and work is to be written first.
	fresh bool
	offs  []int // where each part begins, and the end; nil: the parts are nearly equal
	team  team
	me    int
}

func (h *halves) at(i int) int64 {
	if h.offs != nil {
		return int64(h.offs[i])
	}
	return share(h.work.Count(), i, h.team.size)
}

func (h *halves) parts(i, j int) core.Buffer { return between(h.work, h.at(i), h.at(j)) }

// merge combines what another, of a lower or higher rank, sent into acc.
func (c *Call) merge(op *core.Op, in, acc core.Buffer, lower bool) {
	switch {
	case acc.Bytes() == 0:
	case lower || op.Commutative():
		c.apply(op, in, acc)
	default:
		c.apply(op, acc, in)
		c.copy(acc, in)
	}
}

// gain receives parts i up to, not including, j from another, of a lower or higher rank, sends it something at the same time, and
// combines. The first time, messages come straight to their place where the operand need not be there: this spares a copy.
func (c *Call) gain(h *halves, op *core.Op, out core.Buffer, i, j, peer int, lower bool) {
	acc := h.parts(i, j)
	direct := h.fresh && (!lower || op.Commutative())
	in := acc
	if !direct {
		in = c.typed(0, acc.Type(), acc.Count())
	}
	c.ringStep(out, peer, in, peer)
	switch {
	case acc.Bytes() == 0:
	case direct:
		c.apply(op, between(h.own, h.at(i), h.at(j)), acc)
	case h.fresh:
		c.copy(acc, between(h.own, h.at(i), h.at(j)))
		fallthrough
	default:
		c.merge(op, in, acc, lower)
	}
	h.fresh = false
}

// reduceHalves gives the part that is complete here afterwards. Scratch buffer 0 is used.
func (c *Call) reduceHalves(h *halves, op *core.Op) int {
	lo, width := 0, h.team.size
	for mask := 1; mask < h.team.size; mask <<= 1 {
		width /= 2
		keep, give := lo, lo+width
		if h.me&mask != 0 {
			keep, give = give, keep
		}
		out := h.parts(give, give+width)
		if h.fresh {
			out = between(h.own, h.at(give), h.at(give+width))
		}
		c.gain(h, op, out, keep, keep+width, h.team.rank(h.me^mask), h.me&mask != 0)
		lo = keep
	}
	if h.fresh {
		c.copy(h.work, h.own)
	}
	return lo
}

// gatherHalves undoes the halving: in the end everybody has all parts.
func (c *Call) gatherHalves(h *halves, lo int) {
	width := 1
	for mask := h.team.size / 2; mask > 0; mask /= 2 {
		other := lo + width
		if h.me&mask != 0 {
			other = lo - width
		}
		peer := h.team.rank(h.me ^ mask)
		c.ringStep(h.parts(lo, lo+width), peer, h.parts(other, other+width), peer)
		lo = min(lo, other)
		width *= 2
	}
}

// collectHalves is the same for member top alone: of two that differ in bit k the one that is less like top hands over.
func (c *Call) collectHalves(h *halves, lo, top int) {
	width := 1
	for mask := h.team.size / 2; mask > 0; mask /= 2 {
		peer := h.team.rank(h.me ^ mask)
		if (h.me^top)&mask != 0 {
			if out := h.parts(lo, lo+width); out.Bytes() > 0 {
				c.send(out, peer)
			}
			return
		}
		other := lo + width
		if h.me&mask != 0 {
			other = lo - width
		}
		if in := h.parts(other, other+width); in.Bytes() > 0 {
			c.recv(in, peer)
		}
		lo = min(lo, other)
		width *= 2
	}
}

// takePartner receives the operand of the rank for which this one acts, too, and combines it with what is in h.work.
func (c *Call) takePartner(h *halves, op *core.Op) {
	if h.team.paired(h.me) {
		c.gain(h, op, nothing(), 0, h.team.size, c.rank^1, c.rank&1 == 1)
	}
}

// allreduceRabenseifner: reduce-scatter by halving, then an allgather the same way back.
func allreduceRabenseifner(c *Call, a *Args) {
	own, recv := a.own(), a.sum()
	if own.Bytes() == 0 {
		return
	}
	h := halves{work: recv, own: own, fresh: !a.Send.IsInPlace(), team: newTeam(c.size, none)}
	var acts bool
	if h.me, acts = h.team.member(c.rank); !acts {
		c.send(own, c.rank^1)
		c.recv(recv, c.rank^1)
		return
	}
	c.takePartner(&h, a.Op)
	c.gatherHalves(&h, c.reduceHalves(&h, a.Op))
	if h.team.paired(h.me) {
		c.send(recv, c.rank^1)
	}
}

// reduceRabenseifner: reduce-scatter by halving, then a gather to the root.
func reduceRabenseifner(c *Call, a *Args) {
	own := a.own()
	if own.Bytes() == 0 {
		return
	}
	h := halves{own: own, fresh: !a.Send.IsInPlace(), team: newTeam(c.size, a.Root)}
	var acts bool
	if h.me, acts = h.team.member(c.rank); !acts {
		c.send(own, c.rank^1)
		return
	}
	if c.rank == a.Root {
		h.work = a.sum()
	} else {
		h.work = c.typed(1, own.Type(), own.Count())
	}
	c.takePartner(&h, a.Op)
	top, _ := h.team.member(a.Root)
	c.collectHalves(&h, c.reduceHalves(&h, a.Op), top)
}
