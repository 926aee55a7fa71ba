package shm

import (
	"fmt"
	"sync"
	"unsafe"
)

// registrations lets goroutine ranks copy from each other's memory. A registration is named by slot and generation, so a stale
// or invented name finds nothing, and holds a pointer, so the memory stays where it is while it is registered.
type registrations struct {
	mu    sync.Mutex // a leaf lock: taken under one or two tokens
	slots []registration
	free  []uint32
}

type registration struct {
	mem unsafe.Pointer
	n   int64
	gen uint32
}

// Register names n bytes at mem for the goroutine ranks of this process.
func (d *Domain) Register(mem unsafe.Pointer, n int64) (slot, gen uint32) {
	r := &d.mem
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := len(r.free); k > 0 {
		slot = r.free[k-1]
		r.free = r.free[:k-1]
	} else {
		slot = uint32(len(r.slots))
		r.slots = append(r.slots, registration{})
	}
	s := &r.slots[slot]
	s.mem, s.n = mem, n
	s.gen++
	return slot, s.gen
}

// Deregister forgets a registration.
func (d *Domain) Deregister(slot, gen uint32) {
	r := &d.mem
	r.mu.Lock()
	defer r.mu.Unlock()
	if int(slot) >= len(r.slots) || r.slots[slot].gen != gen || r.slots[slot].mem == nil {
		return
	}
	r.slots[slot].mem = nil
	r.free = append(r.free, slot)
}

// Registered gives the address of n bytes at off in the peer's registration.
func (p *Peer) Registered(slot, gen uint32, off, n int64) (unsafe.Pointer, error) {
	return p.domain.Registered(slot, gen, off, n)
}

// Registered gives the address of n bytes at off in this rank's registration.
func (d *Domain) Registered(slot, gen uint32, off, n int64) (unsafe.Pointer, error) {
	r := &d.mem
	r.mu.Lock()
	defer r.mu.Unlock()
	if int(slot) >= len(r.slots) || r.slots[slot].gen != gen || r.slots[slot].mem == nil {
		return nil, fmt.Errorf("shm: rank %d has no registration %d/%d", d.job.Rank(), slot, gen)
	}
	s := &r.slots[slot]
	if off < 0 || n < 0 || off > s.n || n > s.n-off {
		return nil, fmt.Errorf("shm: range [%d,+%d) outside rank %d's registration of %d bytes", off, n, d.job.Rank(), s.n)
	}
	if n == 0 {
		return s.mem, nil // behind the last byte there may be other memory, which must not be pointed at
	}
	return unsafe.Add(s.mem, off), nil
}
