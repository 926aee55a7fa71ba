// Package mpool is the memory pool framework: it hands out memory in which messages travel better than in what make gives, and takes
// it back. ompi.AllocMem is its user, and whoever needs memory that the ranks of a host can map.
//
// Pools hand out regions, which count their users (core.Region). Memory that does not come from Go's heap is nobody else's once it is
// freed: its addresses stay reserved until the pool is closed, so that a late use does not hit other data (Graveyard).
package mpool

import (
	"errors"
	"fmt"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/shm"
)

func init() {
	mca.RegisterFramework(mca.Framework{Name: "mpool", Help: "memory pools: where memory for messages comes from; of those named the first that works, else the one of highest priority"})
}

// ErrUnavailable is what Open returns, wrapped with the reason, when the component cannot work here.
var ErrUnavailable = errors.New("mpool: not available")

// Component is what registers with mca under framework "mpool".
type Component interface {
	mca.Component
	// Open makes the component's pool for one instance, and says how eagerly it is to be used. The token is not held.
	Open(env *Env) (p Pool, priority int, err error)
}

// Env is what an instance gives its pools.
type Env struct {
	Params *mca.Params
	Shm    *shm.Domain // memory shared with the ranks of this host; nil when there is none
	// Say tells of a fallback: counted by key, told once a job. Pools call it without the token.
	Say func(key, message string)
}

// Pool hands out memory. Its methods may be called by any goroutine, with or without the token, and do not wait for other ranks; Alloc is
// called without, since it may tell of a fallback (Env.Say).
type Pool interface {
	Name() string
	// Alloc gives n zeroed bytes, n at least 0, that begin at a multiple of align, a power of two. The caller has the first reference;
	// the last Unref frees it. The error wraps core.ErrNoMem's class when there is no room.
	Alloc(n, align int64) (*core.Region, error)
	// Close gives back everything that nobody uses. What somebody does use goes with its last user.
	Close() error
}

// HandleSize is a Handle on the wire.
const HandleSize = 16

// Handle names memory to peers.
type Handle struct{ A, B uint64 }

// Sharer is a pool whose regions the ranks of this host can map.
type Sharer interface {
	Pool
	// Export names a region of this pool, for as long as the region lives.
	Export(r *core.Region) (Handle, error)
	// Map gives a view of what rank peer exports under h, checked: handles come from peers. The view stays what it is until its last
	// Unref, also when the owner has freed the region; then it sees the old bytes. The token is held.
	Map(peer int, h Handle) (*core.Region, error)
}

// Open opens the pool that the parameter "mpool" selects.
func Open(env *Env) (Pool, error) {
	var why []string
	try := func(c mca.Component) (Pool, int, error) {
		p, priority, err := c.(Component).Open(env)
		if errors.Is(err, ErrUnavailable) {
			why = append(why, c.Name()+": "+err.Error())
			return nil, 0, nil
		}
		if err != nil {
			return nil, 0, fmt.Errorf("mpool %s: %w", c.Name(), err)
		}
		return p, priority, nil
	}
	allowed := env.Params.Components("mpool")
	for _, name := range env.Params.Selection("mpool").Names() {
		for _, c := range allowed {
			if c.Name() != name {
				continue
			}
			if p, _, err := try(c); p != nil || err != nil {
				return p, err
			}
		}
	}
	if len(why) > 0 {
		return nil, fmt.Errorf("mpool: none of the pools that the parameter mpool names can be used: %q", why)
	}
	var best Pool
	most := 0
	for _, c := range allowed {
		p, priority, err := try(c)
		if err != nil {
			return nil, err
		}
		if p == nil || best != nil && priority <= most {
			continue // nothing was taken by opening it
		}
		best, most = p, priority
	}
	if best == nil {
		return nil, fmt.Errorf("mpool: no pool can be used; check the parameter mpool %q", why)
	}
	return best, nil
}

// CheckAlloc reports what is wrong with Alloc's arguments.
func CheckAlloc(n, align int64) error {
	switch {
	case n < 0:
		return core.NewError(core.ErrArg, "memory of %d bytes", n)
	case align <= 0 || align&(align-1) != 0:
		return core.NewError(core.ErrArg, "memory aligned to %d bytes; it must be a power of two", align)
	}
	return nil
}

// NoMem is the error of Alloc for want of memory.
func NoMem(n int64, cause error) error {
	return &core.Error{Class: core.ErrNoMem, Peer: core.Undefined, Index: -1, Err: fmt.Errorf("memory of %d bytes: %w", n, cause)}
}
