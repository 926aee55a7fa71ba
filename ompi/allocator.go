package ompi

import (
	"fmt"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
)

// newRegion gives memory for AllocMem: that of a BTL which moves its own memory best, else the pool's. A pool that the user names comes
// first.
func (i *Instance) newRegion(n int64) (*core.Region, error) {
	if i.params.Selection("mpool").Names() == nil {
		for _, mod := range i.modules {
			a, ok := mod.(btl.Allocator)
			if !ok {
				continue
			}
			r, err := a.Alloc(n)
			if err == nil {
				return r, nil
			}
			i.engine.Lock()
			(*upcalls)(i).Say(mod.Name()+"-memory", fmt.Sprintf("AllocMem takes other memory than that of btl %s, between which messages are copied: %v", mod.Name(), err))
			i.engine.Unlock()
		}
	}
	return i.mem.pool.Alloc(n, memoryAlign)
}
