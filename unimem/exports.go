package unimem

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Key names a piece of a rank's dmable memory that it lets its peers read and write; the zero value names none. The rank's engine holds
// the pieces, in a part of the block that the engines of others look at before they move anything for a key.
type Key uint64

// exported is an entry of that table. gen is written last; 0: nothing is here.
type exported struct {
	gen, off, n atomic.Uint64
	_           uint64
}

const (
	exportSize = int64(unsafe.Sizeof(exported{}))
	exportsMax = 4096
)

// exports is the owner's side.
type exports struct {
	table  unsafe.Pointer
	gens   []uint32 // of the entries ever used
	unused []uint32
}

func exportAt(table unsafe.Pointer, slot uint32) *exported {
	return (*exported)(unsafe.Add(table, int64(slot)*exportSize))
}

// Export lets peers read and write n bytes at off of this rank's memory until Unexport.
func (d *Device) Export(off, n int64) (Key, error) {
	if off < 0 || n < 0 || off > d.cfg.Memory || n > d.cfg.Memory-off {
		return 0, fmt.Errorf("unimem: range [%d,+%d) outside the %d bytes of dmable memory", off, n, d.cfg.Memory)
	}
	x := &d.exports
	var slot uint32
	switch k := len(x.unused); {
	case k > 0:
		slot = x.unused[k-1]
		x.unused = x.unused[:k-1]
	case len(x.gens) < exportsMax:
		slot = uint32(len(x.gens))
		x.gens = append(x.gens, 0)
	default:
		return 0, errors.New("unimem: the RDMA engine has no room for more memory that peers may use")
	}
	if x.gens[slot]++; x.gens[slot] == 0 {
		x.gens[slot] = 1
	}
	e := exportAt(x.table, slot)
	e.off.Store(uint64(off))
	e.n.Store(uint64(n))
	e.gen.Store(uint64(x.gens[slot]))
	return Key(slot) | Key(x.gens[slot])<<32, nil
}

// Unexport takes it back. A key that is not in force does nothing.
func (d *Device) Unexport(k Key) {
	x, slot := &d.exports, uint32(k)
	if int(slot) >= len(x.gens) || uint64(k>>32) == 0 {
		return
	}
	if e := exportAt(x.table, slot); e.gen.Load() == uint64(k>>32) {
		e.gen.Store(0)
		x.unused = append(x.unused, slot)
	}
}

// Exported gives the offset in the peer's memory of n bytes at off of what the key names.
func (p *Peer) Exported(k Key, off, n int64) (int64, error) {
	slot := uint32(k)
	if slot >= exportsMax || k>>32 == 0 {
		return 0, errNoKey
	}
	e := exportAt(p.table, slot)
	gen, at, size := e.gen.Load(), int64(e.off.Load()), int64(e.n.Load())
	switch {
	case gen != uint64(k>>32) || e.gen.Load() != gen || !p.Has(at, size):
		return 0, errNoKey
	case off < 0 || n < 0 || off > size || n > size-off:
		return 0, fmt.Errorf("unimem: range [%d,+%d) outside a peer's registered memory of %d bytes", off, n, size)
	}
	return at + off, nil
}

var errNoKey = errors.New("unimem: the peer has no such memory registered, or no more")
