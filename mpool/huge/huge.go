// Package huge is the memory pool of huge pages: anonymous mappings of 2 MiB pages, which need fewer translations. Where the system
// has none set aside (vm.nr_hugepages) it takes ordinary pages and asks the kernel to make huge ones of them.
package huge

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/mpool"
	"github.com/ompi-go/ompi-go/shm"
)

func init() { mca.Register(component{}) }

type component struct{}

// Options are the component's parameters.
type Options struct {
	Priority int `mca:"priority" default:"0" level:"6" help:"priority of this pool"`
}

func (component) Framework() string { return "mpool" }
func (component) Name() string      { return "huge" }
func (component) Options() any      { return &Options{} }

// Open implements mpool.Component.
func (component) Open(env *mpool.Env) (mpool.Pool, int, error) {
	var o Options
	if err := env.Params.Decode("mpool", "huge", &o); err != nil {
		return nil, 0, err
	}
	return &pool{Meter: mpool.Meter{Pool: "huge"}, say: env.Say, mmap: shm.MapAligned}, o.Priority, nil
}

type pool struct {
	mpool.Meter
	graves mpool.Graveyard
	say    func(key, message string)
	mmap   func(n, align int64, prot, flags int) (unsafe.Pointer, error)
}

const (
	pageSize = 2 << 20
	most     = 1 << 46
	huge2M   = 21 << unix.MAP_HUGE_SHIFT
)

// Alloc implements mpool.Pool. Memory comes in pages of 2 MiB.
func (p *pool) Alloc(n, align int64) (*core.Region, error) {
	if err := mpool.CheckAlloc(n, align); err != nil {
		return nil, err
	}
	if n > most || align > most {
		p.Failed()
		return nil, mpool.NoMem(n, unix.ENOMEM)
	}
	size := (max(n, 1) + pageSize - 1) &^ (pageSize - 1)
	base, err := p.mapPages(size, max(align, pageSize))
	if err != nil {
		p.Failed()
		return nil, mpool.NoMem(n, err)
	}
	p.Allocated(n)
	return core.NewRegion(core.RegionMapped, base, n, func(b unsafe.Pointer, _ int64) error {
		p.Freed(n)
		return p.graves.Bury(b, size)
	}), nil
}

// mapPages maps huge pages, or what there is.
func (p *pool) mapPages(size, align int64) (unsafe.Pointer, error) {
	const prot = unix.PROT_READ | unix.PROT_WRITE
	own := align
	if align <= pageSize {
		own = 1 // the kernel's own choice is right, and takes no page more
	}
	base, hugeErr := p.mmap(size, own, prot, unix.MAP_HUGETLB|huge2M)
	if hugeErr == nil {
		return base, nil
	}
	base, err := p.mmap(size, align, prot, 0)
	if err != nil {
		return nil, err
	}
	p.say("mpool-huge", fmt.Sprintf("no pages of 2 MiB, using ordinary ones that the kernel may join: %v (MAP_HUGETLB); set vm.nr_hugepages", hugeErr))
	_ = unix.Madvise(unsafe.Slice((*byte)(base), size), unix.MADV_HUGEPAGE) // EINVAL: a kernel that joins none
	return base, nil
}

// Close implements mpool.Pool.
func (p *pool) Close() error { return p.graves.Close() }
