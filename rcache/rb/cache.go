package rb

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ompi-go/ompi-go/rcache"
)

// cache implements rcache.Cache.
type cache struct {
	cfg     rcache.Config
	backend rcache.Backend
	tree    *tree
	index   index // those in the tree, by what is registered
	last    *node // found last; in the tree, or nil
	unused  list
	lost    []*node // in use, and not to be found any more; Close deregisters them, too
	scratch []*node
	stats   rcache.Stats
	closed  bool
}

// span is an interval: [lo, hi).
type span struct{ lo, hi uintptr }

var errClosed = errors.New("rcache: the cache is closed")

func newCache(cfg rcache.Config, b rcache.Backend) *cache {
	return &cache{cfg: cfg, backend: b, tree: newTree()}
}

// Acquire implements rcache.Cache.
func (c *cache) Acquire(addr uintptr, n int64, keep unsafe.Pointer) (*rcache.Registration, error) {
	hi := addr + uintptr(n)
	if l := c.last; l != nil && n > 0 && l.lo <= addr && addr < hi && hi <= l.hi {
		return c.use(l), nil
	}
	if n <= 0 || hi < addr {
		c.stats.Failures++
		return nil, fmt.Errorf("rcache: [%#x,+%d) is no range of memory", addr, n)
	}
	ask := span{addr, hi}
	wide := c.widen(ask)
	x := c.index.find(wide.lo, wide.hi)
	if x == nil {
		x = c.tree.covering(ask.lo, ask.hi)
	}
	if x == nil {
		x, err := c.register(ask, keep)
		if err != nil {
			c.stats.Failures++
			return nil, err
		}
		return &x.Registration, nil
	}
	c.last = x
	return c.use(x), nil
}

// use counts a hit.
func (c *cache) use(x *node) *rcache.Registration {
	c.stats.Hits++
	if x.refs == 0 {
		c.unused.remove(x)
	}
	x.refs++
	return &x.Registration
}

// widen rounds to pages. The first and the last page of memory stay what they are: there, rounding would leave the address space.
func (c *cache) widen(s span) span {
	if c.cfg.Page == 0 {
		return s
	}
	page := uintptr(c.cfg.Page)
	s.lo &^= page - 1
	if up := (s.hi + page - 1) &^ (page - 1); up >= s.hi {
		s.hi = up
	}
	return s
}

// register makes a registration for ask, which nothing covers. Unused ones that share bytes of it become part of the new one: a buffer
// of which pieces are used ends up registered once.
func (c *cache) register(ask span, keep unsafe.Pointer) (*node, error) {
	if c.closed {
		return nil, errClosed
	}
	c.stats.Misses++
	wide := c.widen(ask)
	c.scratch = c.tree.overlapping(c.scratch[:0], wide.lo, wide.hi)
	if len(c.scratch) > 0 {
		c.stats.Overlaps++
	}
	merged := c.absorb(ask, keep)
	clear(c.scratch)
	x, err := c.make(merged, keep)
	if err != nil && merged != ask {
		x, err = c.make(ask, keep) // less may fit; memory that is not ours may have lost the part that was registered before
	}
	if err != nil {
		return nil, err
	}
	x.Entry = x
	x.refs, x.found = 1, true
	c.stats.Made++
	c.stats.MadeBytes += uint64(x.Len)
	c.stats.Entries++
	c.stats.Bytes += x.Len
	c.tree.insert(x)
	c.index.insert(x)
	c.last = x
	return x, nil
}

// absorb drops the unused ones among the overlapping ones in c.scratch that can be one with ask, and returns their union. What users
// asked for must overlap, not just the pages: then all lies in one allocation, which one pointer keeps alive.
func (c *cache) absorb(ask span, keep unsafe.Pointer) span {
	union := ask
	for _, x := range c.scratch {
		if x.refs > 0 || x.ulo >= ask.hi || x.uhi <= ask.lo || (x.keep == nil) != (keep == nil) {
			continue
		}
		with := c.widen(span{min(union.lo, x.ulo), max(union.hi, x.uhi)})
		if c.cfg.Bytes > 0 && int64(with.hi-with.lo) > c.cfg.Bytes {
			continue
		}
		union = span{min(union.lo, x.ulo), max(union.hi, x.uhi)}
		c.stats.Merges++
		c.drop(x)
	}
	return union
}

// make has the backend register what is needed for ask, giving up unused registrations while there is no room.
func (c *cache) make(ask span, keep unsafe.Pointer) (*node, error) {
	wide := c.widen(ask)
	n := int64(wide.hi - wide.lo)
	for c.unused.oldest != nil && c.over(n, 1) {
		c.evict()
	}
	for {
		handle, err := c.backend.Register(wide.lo, n)
		if err == nil {
			return &node{Registration: rcache.Registration{Handle: handle, Addr: wide.lo, Len: n}, lo: wide.lo, hi: wide.hi, keep: keep, ulo: ask.lo, uhi: ask.hi}, nil
		}
		if !errors.Is(err, rcache.ErrFull) || c.unused.oldest == nil {
			return nil, err
		}
		c.evict()
	}
}

// over reports whether so many bytes and entries more are above a limit.
func (c *cache) over(bytes int64, entries int) bool {
	return c.cfg.Bytes > 0 && c.stats.Bytes > c.cfg.Bytes-bytes || c.cfg.Entries > 0 && c.stats.Entries > c.cfg.Entries-entries
}

func (c *cache) evict() {
	c.stats.Evictions++
	c.drop(c.unused.oldest)
}

// Release implements rcache.Cache.
func (c *cache) Release(r *rcache.Registration) {
	x, ok := r.Entry.(*node)
	if !ok || x.refs <= 0 {
		panic("rcache: a registration is released that nobody has acquired")
	}
	x.refs--
	if x.refs > 0 || x.gone {
		return
	}
	if !x.found {
		c.lost = without(c.lost, x)
		c.end(x)
		return
	}
	c.unused.add(x)
	if !c.cfg.Pinned {
		c.drop(x)
		return
	}
	for c.unused.oldest != nil && c.over(0, 0) {
		c.evict()
	}
}

// Forget implements rcache.Cache.
func (c *cache) Forget(addr uintptr, n int64) {
	if n <= 0 || c.closed {
		return
	}
	hi := addr + uintptr(n)
	if hi < addr {
		hi = ^uintptr(0)
	}
	c.scratch = c.tree.overlapping(c.scratch[:0], addr, hi)
	for _, x := range c.scratch {
		if x.refs == 0 {
			c.drop(x)
		} else {
			c.hide(x)
			c.lost = append(c.lost, x)
		}
	}
	clear(c.scratch)
}

// hide takes a registration out of where it can be found.
func (c *cache) hide(x *node) {
	if c.last == x {
		c.last = nil
	}
	c.tree.remove(x)
	c.index.remove(x)
	x.found = false
}

// drop ends an unused registration.
func (c *cache) drop(x *node) {
	c.unused.remove(x)
	c.hide(x)
	c.end(x)
}

// end deregisters. From here on the collector may have the memory.
func (c *cache) end(x *node) {
	c.backend.Deregister(x.Handle)
	c.stats.Entries--
	c.stats.Bytes -= x.Len
	x.gone, x.keep = true, nil
}

// Stats implements rcache.Cache.
func (c *cache) Stats() rcache.Stats { return c.stats }

// Close implements rcache.Cache.
func (c *cache) Close() {
	if c.closed {
		return
	}
	c.closed = true
	for _, x := range c.lost {
		c.end(x)
	}
	for _, x := range c.tree.overlapping(nil, 0, ^uintptr(0)) {
		if x.refs == 0 {
			c.drop(x)
			continue
		}
		c.hide(x)
		c.end(x)
	}
	c.lost, c.index, c.scratch = nil, index{}, nil
}

func without(l []*node, x *node) []*node {
	for i, y := range l {
		if y == x {
			l[i] = l[len(l)-1]
			l[len(l)-1] = nil
			return l[:len(l)-1]
		}
	}
	return l
}
