package btl

import "github.com/ompi-go/ompi-go/core"

// Allocator is a module that can move bytes without copies only between memory of its own, which programs get by AllocMem. The last user of
// the region gives the memory back, with the token held; what the module has not got back when it is closed is lost with it.
type Allocator interface {
	Alloc(n int64) (*core.Region, error)
}
