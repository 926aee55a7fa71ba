// Package rcache is the registration cache framework: it remembers which memory a transport has registered, so that a buffer that is
// used again costs a look-up and not a registration. Its user is whoever moves bytes by registered memory: a BTL, a window. A
// component (rcache/rb) is a data structure that finds a registration covering a range.
//
// A registration that is kept for later holds a pointer into its memory. Go's collector can therefore not give the address to anybody
// else while the cache would still answer for it, and a hit is never stale. That is why a cache has limits: what it keeps, it keeps
// alive.
package rcache

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ompi-go/ompi-go/mca"
)

func init() {
	mca.RegisterFramework(mca.Framework{Name: "rcache", Help: "registration cache: remembers what memory a transport has registered"})
}

// ErrFull is what Backend.Register returns, wrapped, when it has no room for one registration more: some that nobody uses are given up
// and it is asked again.
var ErrFull = errors.New("rcache: no room for another registration")

// Component is what registers with mca under framework "rcache".
type Component interface {
	mca.Component
	// Open makes a cache of registrations made by b.
	Open(params *mca.Params, cfg Config, b Backend) (Cache, error)
}

// Backend makes and unmakes registrations: the transport. It must not call its cache.
type Backend interface {
	Register(addr uintptr, n int64) (handle [2]uint64, err error)
	Deregister(handle [2]uint64)
}

// Config is what the owner of a cache wants. Parameters of the component may limit it further.
type Config struct {
	Bytes   int64 // registered memory that is kept at most, 0: no limit
	Entries int   // registrations that are kept at most, 0: no limit
	Pinned  bool  // leave-pinned: unused ones are kept (LRU) until a limit is met; else they go with their last user
	Page    int64 // registrations are widened to multiples of it; 0: not
}

// Validate reports what is wrong with a Config.
func (c *Config) Validate() error {
	switch {
	case c.Bytes < 0 || c.Entries < 0:
		return fmt.Errorf("rcache: limits of %d bytes and %d entries; they must not be negative", c.Bytes, c.Entries)
	case c.Page < 0 || c.Page&(c.Page-1) != 0:
		return fmt.Errorf("rcache: a page of %d bytes; it must be a power of two", c.Page)
	}
	return nil
}

// Cache is guarded by its owner (the engine's token); it has no lock. It is for the addresses of one process.
type Cache interface {
	// Acquire finds a registration that covers [addr, addr+n), or makes one; n is above 0. keep is a pointer into the memory; the
	// registration holds it until evicted, so that Go's collector cannot hand out the address again and a hit is never stale. nil for
	// addresses that are not ours (a peer's): who knows when those change their meaning calls Forget. Each Acquire is ended by a
	// Release. An error is the backend's; a range of no bytes or beyond the end of memory is one, too.
	Acquire(addr uintptr, n int64, keep unsafe.Pointer) (*Registration, error)
	// Release ends a use. One without an Acquire panics.
	Release(r *Registration)
	// Forget drops what overlaps the range (FreeMem): unused ones at once, used ones with their last user. Neither is found again.
	Forget(addr uintptr, n int64)
	Stats() Stats
	// Close deregisters all, also what somebody still uses; those may be released afterwards. Acquire fails from then on.
	Close()
}

// Registration is memory that the backend has registered. Its fields do not change.
type Registration struct {
	Handle [2]uint64
	Addr   uintptr // what is registered; covers what was asked
	Len    int64
	Entry  any // the component's own
}

// Stats are the counts of a cache.
type Stats struct {
	Hits, Misses uint64
	Evictions    uint64 // given up for a limit or for room
	Failures     uint64 // Acquires that ended with an error
	Merges       uint64 // unused registrations replaced by a wider one
	Overlaps     uint64 // misses that met a part of the range registered already
	Made         uint64 // registrations, and their bytes
	MadeBytes    uint64
	Entries      int // registrations now, used or not, and their bytes
	Bytes        int64
}

// Open makes a cache by the component that the parameter "rcache" selects: of several the first by name.
func Open(params *mca.Params, cfg Config, b Backend) (Cache, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	for _, c := range params.Components("rcache") {
		return c.(Component).Open(params, cfg, b)
	}
	return nil, errors.New("rcache: no component can be used: none is built in, or the parameter rcache allows none")
}
