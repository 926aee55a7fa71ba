package btl

import "github.com/ompi-go/ompi-go/core"

// Allocator is a module that can move bytes without copies only between memory of its own, which programs get by AllocMem. Alloc gives n zeroed
// bytes that begin with a cache line; the last user of the region gives them back. Both may be done with or without the token.
type Allocator interface {
	Alloc(n int64) (*core.Region, error)
}
