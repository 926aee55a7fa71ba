package main

import (
	"fmt"

	"github.com/ompi-go/ompi-go/ompi"
)

// cartesian is what makes the ring of the neighbour collectives.
type cartesian interface {
	CartCreate(dims []int, periods []bool, reorder bool) (*ompi.Comm, error)
}

// comm is who runs the test's collective: the world or, for neighbours, a ring on which every rank has the one before and the one after
// it.
func (b *bench) comm() (*ompi.Comm, error) {
	if !b.test.Collective.Neighbours {
		return b.world, nil
	}
	if b.ring == nil {
		world, ok := any(b.world).(cartesian)
		if !ok {
			return nil, fmt.Errorf("test %s: the library has no topologies", b.test.Name)
		}
		var err error
		if b.ring, err = world.CartCreate([]int{b.ranks}, []bool{true}, false); err != nil {
			return nil, err
		}
	}
	return b.ring, nil
}
