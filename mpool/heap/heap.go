// Package heap is the memory pool on Go's heap: ordinary memory, which the collector takes when nobody uses it. It is what there is
// for a rank that shares its host with nobody.
package heap

import (
	"errors"
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
	Priority int `mca:"priority" default:"10" level:"6" help:"priority of this pool"`
}

func (component) Framework() string { return "mpool" }
func (component) Name() string      { return "heap" }
func (component) Options() any      { return &Options{} }

// Open implements mpool.Component.
func (component) Open(env *mpool.Env) (mpool.Pool, int, error) {
	var o Options
	if err := env.Params.Decode("mpool", "heap", &o); err != nil {
		return nil, 0, err
	}
	return &pool{Meter: mpool.Meter{Pool: "heap"}}, o.Priority, nil
}

type pool struct{ mpool.Meter }

// mostHeap is above what any machine has: make panics for more than the address space.
const mostHeap = 1 << 46

// Alloc implements mpool.Pool.
func (p *pool) Alloc(n, align int64) (*core.Region, error) {
	if err := mpool.CheckAlloc(n, align); err != nil {
		return nil, err
	}
	if n > mostHeap || align > mostHeap {
		p.Failed()
		return nil, mpool.NoMem(n, errors.New("there is no machine with so much"))
	}
	if err := shm.CheckRoom(n + align); err != nil { // make does not fail, it ends the program
		p.Failed()
		return nil, mpool.NoMem(n, err)
	}
	mem := make([]byte, max(n, 1)+align-1)
	base := unsafe.Pointer(unsafe.SliceData(mem))
	base = unsafe.Add(base, -uintptr(base)&uintptr(align-1))
	p.Allocated(n)
	return core.NewRegion(core.RegionHeap, base, n, func(unsafe.Pointer, int64) error {
		p.Freed(n)
		return nil
	}), nil
}

// Close implements mpool.Pool: the collector does the rest.
func (p *pool) Close() error { return nil }
