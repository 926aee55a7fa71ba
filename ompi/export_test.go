package ompi

import "github.com/ompi-go/ompi-go/coll"

// Collectives is what c calls, for tests below the checks of arguments.
func (c *Comm) Collectives() *coll.Table { return c.coll }
