// Package shm is the memory pool whose memory the ranks of the host can map: between processes a memfd for each region, which peers
// open when a message first names it (package shm), between goroutine ranks the Go heap. Messages in such memory are copied once, by
// one ordinary copy.
package shm

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/mpool"
	"github.com/ompi-go/ompi-go/shm"
)

func init() { mca.Register(component{}) }

type component struct{}

// Options are the component's parameters.
type Options struct {
	Priority int `mca:"priority" default:"30" level:"6" help:"priority of this pool"`
}

func (component) Framework() string { return "mpool" }
func (component) Name() string      { return "shm" }
func (component) Options() any      { return &Options{} }

// Open implements mpool.Component.
func (component) Open(env *mpool.Env) (mpool.Pool, int, error) {
	var o Options
	if err := env.Params.Decode("mpool", "shm", &o); err != nil {
		return nil, 0, err
	}
	if env.Shm == nil {
		return nil, 0, fmt.Errorf("%w: this rank shares no memory with others", mpool.ErrUnavailable)
	}
	return &pool{Meter: mpool.Meter{Pool: "shm"}, d: env.Shm, live: make(map[*core.Region]*shm.Memory)}, o.Priority, nil
}

type pool struct {
	mpool.Meter
	d      *shm.Domain
	graves mpool.Graveyard

	mu   sync.Mutex // a leaf
	live map[*core.Region]*shm.Memory
}

// Alloc implements mpool.Pool.
func (p *pool) Alloc(n, align int64) (*core.Region, error) {
	if err := mpool.CheckAlloc(n, align); err != nil {
		return nil, err
	}
	var m *shm.Memory
	if err := p.graves.Retry(func() (err error) {
		m, err = p.d.NewMemory(max(n, 1), align)
		return err
	}); err != nil {
		p.Failed()
		return nil, mpool.NoMem(n, err)
	}
	kind := core.RegionMapped
	if p.d.InProcess() {
		kind = core.RegionHeap
	}
	var r *core.Region
	r = core.NewRegion(kind, m.Base(), n, func(unsafe.Pointer, int64) error { return p.free(r, m, n) })
	p.mu.Lock()
	p.live[r] = m
	p.mu.Unlock()
	p.Allocated(n)
	return r, nil
}

func (p *pool) free(r *core.Region, m *shm.Memory, n int64) error {
	p.mu.Lock()
	delete(p.live, r)
	p.mu.Unlock()
	p.Freed(n)
	if err := m.Free(); err != nil {
		return err
	}
	return p.graves.Bury(m.Range())
}

// A handle between processes is that of btl/sm: the address, and the length with the number above it. Between goroutine ranks it is
// slot and generation.
const numberShift = 48

// Export implements mpool.Sharer.
func (p *pool) Export(r *core.Region) (mpool.Handle, error) {
	p.mu.Lock()
	m := p.live[r]
	p.mu.Unlock()
	if m == nil {
		return mpool.Handle{}, core.NewError(core.ErrBase, "memory that is not of pool %s, or freed", p.Name())
	}
	a, b := m.Name()
	if p.d.InProcess() {
		return mpool.Handle{A: uint64(a), B: uint64(b)}, nil
	}
	return mpool.Handle{A: uint64(uintptr(m.Base())), B: uint64(r.Size()) | uint64(a)<<numberShift}, nil
}

// Map implements mpool.Sharer.
func (p *pool) Map(peer int, h mpool.Handle) (*core.Region, error) {
	q, err := p.d.Attach(peer)
	if err != nil {
		return nil, err
	}
	if p.d.InProcess() {
		if h.A>>32 != 0 || h.B>>32 != 0 {
			return nil, fmt.Errorf("mpool shm: rank %d has no memory %x", peer, h)
		}
		return q.MapMemory(p.d, uint32(h.A), uint32(h.B))
	}
	return q.MapPart(p.d, uint32(h.B>>numberShift), h.A, int64(h.B&(1<<numberShift-1)))
}

// Close implements mpool.Pool.
func (p *pool) Close() error { return p.graves.Close() }
