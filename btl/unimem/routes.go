package unimem

import (
	"fmt"

	"github.com/ompi-go/ompi-go/rcache"
	"github.com/ompi-go/ompi-go/unimem"
)

// routes are the registrations of one peer's memory with this rank's RDMA engine: made for each transfer and then forgotten, or kept.
type routes struct {
	dev   *unimem.Device
	peer  *unimem.Peer
	cache rcache.Cache // nil: none
	plain rcache.Stats // without one
}

// way is a registration in use.
type way struct {
	route unimem.Route
	kept  *rcache.Registration // nil: it is not the cache's
	n     int64                // then: its bytes
}

func (m *module) newRoutes(p *unimem.Peer) (r routes, err error) {
	r = routes{dev: m.dev, peer: p}
	if m.opt.RCache {
		// A peer's dmable memory lies where it is as long as the peer lives, so that offsets never change their meaning.
		r.cache, err = rcache.Open(m.env.Params, rcache.Config{Pinned: m.pinned, Page: unimem.Page}, &backend{m.dev, p})
	}
	return r, err
}

// acquire gives a way to n bytes at off of the peer's memory, which are inside; n is above 0.
func (r *routes) acquire(off, n int64) (way, error) {
	if r.cache == nil {
		route, err := r.dev.Register(r.peer, off, n)
		s := &r.plain
		s.Misses++
		if err != nil {
			s.Failures++
			return way{}, err
		}
		s.Made++
		s.MadeBytes += uint64(n)
		s.Entries++
		s.Bytes += n
		return way{route: route, n: n}, nil
	}
	reg, err := r.cache.Acquire(uintptr(off), n, nil)
	if err != nil {
		return way{}, err
	}
	return way{route: unimem.RouteOf(reg.Handle), kept: reg}, nil
}

func (r *routes) release(w *way) {
	if w.kept != nil {
		r.cache.Release(w.kept)
	} else {
		r.dev.Deregister(w.route)
		r.plain.Entries--
		r.plain.Bytes -= w.n
	}
	*w = way{}
}

func (r *routes) close() {
	if r.cache != nil {
		r.cache.Close()
	}
}

// backend makes the cache's registrations: addresses are offsets in the peer's memory.
type backend struct {
	dev  *unimem.Device
	peer *unimem.Peer
}

func (b *backend) Register(addr uintptr, n int64) ([2]uint64, error) {
	r, err := b.dev.Register(b.peer, int64(addr), n)
	if err == unimem.ErrNoRoute {
		err = fmt.Errorf("%w: %w", rcache.ErrFull, err)
	}
	return r.Words(), err
}

func (b *backend) Deregister(h [2]uint64) { b.dev.Deregister(unimem.RouteOf(h)) }
