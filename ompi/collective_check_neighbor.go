package ompi

import "github.com/ompi-go/ompi-go/coll/alg"

// checkNeighbor checks a neighbourhood operation and puts the neighbours into a.
func (c *Comm) checkNeighbor(op string, a *alg.Args) error {
	return c.badArg(op, ErrTopology, "the communicator has no topology")
}
