package main

import "github.com/ompi-go/ompi-go/ompi"

// comm is who runs the test's collective: the world or, for neighbours, a ring on which every rank has the one before and the one after
// it.
func (b *bench) comm() (*ompi.Comm, error) {
	if !b.test.Collective.Neighbours {
		return b.world, nil
	}
	if b.ring == nil {
		var err error
		if b.ring, err = b.world.CartCreate([]int{b.ranks}, []bool{true}, false); err != nil {
			return nil, err
		}
	}
	return b.ring, nil
}
