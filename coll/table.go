package coll

import "github.com/ompi-go/ompi-go/core"

// TableOf is what c calls, once it has been chosen; nil before. It is for components that build the collectives of one communicator on
// those of another.
func TableOf(c *core.Comm) *Table {
	t, _ := c.Table.(*Table)
	return t
}
