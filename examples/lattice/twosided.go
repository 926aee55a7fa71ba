package main

import "github.com/ompi-go/ompi-go/ompi"

// twoSided exchanges rows by non-blocking sends and receives.
type twoSided struct {
	halo
	// Made once: a step allocates nothing.
	outUp, outDown, inUp, inDown ompi.Buffer
	requests                     []ompi.Request
}

const (
	upwards = iota + 1 // tags: the way a row travels
	downwards
)

func newTwoSided(world *ompi.Comm, words int) *twoSided {
	x := &twoSided{halo: newHalo(world, words)}
	x.fromUp, x.fromDown = make([]uint64, words), make([]uint64, words)
	x.outUp, x.outDown = ompi.Slice(x.toUp), ompi.Slice(x.toDown)
	x.inUp, x.inDown = ompi.Slice(x.fromUp), ompi.Slice(x.fromDown)
	x.requests = make([]ompi.Request, 0, 4)
	return x
}

// begin starts the exchange: receives first, so that rows find them posted.
func (x *twoSided) begin() error {
	up, down := x.world.Rank()-1, x.world.Rank()+1
	r := x.requests[:0]
	if x.hasUp {
		r = append(r, x.world.Irecv(x.inUp, up, downwards))
	}
	if x.hasDown {
		r = append(r, x.world.Irecv(x.inDown, down, upwards))
	}
	if x.hasUp {
		r = append(r, x.world.Isend(x.outUp, up, upwards))
	}
	if x.hasDown {
		r = append(r, x.world.Isend(x.outDown, down, downwards))
	}
	x.requests = r
	return nil
}

// end waits until both rows are here and both are away.
func (x *twoSided) end() error { return ompi.WaitAll(x.requests...) }

func (x *twoSided) close() error { return nil }
