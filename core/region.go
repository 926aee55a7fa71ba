package core

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// RegionKind says where a region's memory lives.
type RegionKind uint8

// The kinds of memory that others may touch.
const (
	RegionHeap   RegionKind = iota // Go heap of this process: alive while referenced
	RegionMapped                   // mapped by this process: must be released by its owner
	RegionPeer                     // this process's view of a peer's mapping
)

// Region is memory that somebody besides the running goroutine may touch: a peer, a registration, a window. It counts its
// users; the last one to leave releases it. Nothing below package ompi keeps a bare address of such memory.
type Region struct {
	base    unsafe.Pointer // keeps heap memory alive
	size    int64
	refs    atomic.Int32 // > 0 while alive
	kind    RegionKind
	release func(unsafe.Pointer, int64) error // nil for heap memory
}

// NewRegion describes size bytes at base with one reference, held by the caller. release is called once, by the last Unref.
func NewRegion(kind RegionKind, base unsafe.Pointer, size int64, release func(unsafe.Pointer, int64) error) *Region {
	r := &Region{base: base, size: size, kind: kind, release: release}
	r.refs.Store(1)
	return r
}

// Base is the first address.
func (r *Region) Base() unsafe.Pointer { return r.base }

// Size is in bytes.
func (r *Region) Size() int64 { return r.size }

// Kind says where the memory lives.
func (r *Region) Kind() RegionKind { return r.kind }

// Slice gives n bytes at offset off, or an error when they do not lie inside.
func (r *Region) Slice(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > r.size || n > r.size-off {
		return nil, fmt.Errorf("range [%d,+%d) outside a region of %d bytes", off, n, r.size)
	}
	return unsafe.Slice((*byte)(unsafe.Add(r.base, off)), n), nil
}

// Ref adds a user. It panics on a region that is already released: that is use after free.
func (r *Region) Ref() {
	if r.refs.Add(1) <= 1 {
		panic("core: reference to a released region")
	}
}

// Unref removes a user; the last one releases the memory.
func (r *Region) Unref() error {
	switch n := r.refs.Add(-1); {
	case n > 0:
		return nil
	case n < 0:
		panic("core: region released twice")
	}
	base := r.base
	r.base = nil
	if r.release == nil {
		return nil
	}
	return r.release(base, r.size)
}
