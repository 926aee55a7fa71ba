// Package unimem is a software model of the Unimem architecture as Kim et al. (EuroMPI 2018) describe its user-space libraries, between
// the ranks of a host. btl/unimem sends messages over it, and ompi-bench measures it raw; nobody else may use it.
//
// What the model offers is what the hardware offers, and nothing else:
//
//   - a virtualized mailbox (mailbox.go): for each ordered pair of ranks a queue of atomic messages of 192 bits;
//   - DMA (dma.go) between memory of the model's own allocator (memory.go). User memory is dmable only where it came from there, and a
//     remote range must be registered with the local engine first, page by page, which costs Config.RegisterCost of busy waiting: that
//     time is a parameter of the model, everything else takes as long as it takes here.
//
// A rank's Device is one block of memory that its peers map: see Config. Who calls a Device holds its rank's token, but for Alloc and Free; peers touch only
// the memory. They may write anything into it: what is read from there is checked before it is used.
package unimem

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"
)

const (
	line      = 64
	exportsAt = 2 * line
	boxesAt   = exportsAt + exportsMax*exportSize
	// Page is the unit of registrations and of the allocator's larger pieces.
	Page = 4096
)

// Config is the shape of a device. A block is laid out as
//
//	line 0   calls u32: bumped by a peer that sends for the first time
//	line 1   heartbeat u64: written by the owner, see Device.Beat
//	then     the table of exported memory
//	then     Peers mailboxes, by the sender's position
//	then     Memory bytes of dmable memory, page aligned in the block
type Config struct {
	Peers        int           // ranks that may have a queue to this one
	Slots        uint32        // messages that a queue holds: a power of two
	Memory       int64         // bytes of dmable memory: a multiple of Page
	RegisterCost time.Duration // what it takes to register a remote range
	Routes       int           // remote ranges that are registered at most
	Burst        int64         // bytes that the DMA engine moves before it lets others go on
}

// Check says why a device cannot be so. RegisterCost, Routes and Burst are the owner's own and are not looked at.
func (c Config) Check() error {
	switch {
	case c.Peers < 1 || c.Peers > 1<<16:
		return fmt.Errorf("unimem: %d peers", c.Peers)
	case c.Slots < 8 || c.Slots > 1<<16 || c.Slots&(c.Slots-1) != 0:
		return fmt.Errorf("unimem: a mailbox of %d messages is not possible: want a power of two from 8 to 64k", c.Slots)
	case c.Memory < Page || c.Memory > 1<<40 || c.Memory%Page != 0:
		return fmt.Errorf("unimem: %d bytes of dmable memory are not possible: want a multiple of %d", c.Memory, Page)
	}
	return nil
}

func (c Config) memoryAt() int64 {
	return (boxesAt + int64(c.Peers)*boxSize(c.Slots) + Page - 1) &^ (Page - 1)
}

// Size is the size of the block.
func (c Config) Size() int64 { return c.memoryAt() + c.Memory }

// Device is one rank's hardware.
type Device struct {
	Engine
	cfg    Config
	base   unsafe.Pointer
	memory unsafe.Pointer
	heap   heap
	exports
	called uint32
}

// New makes the device of the zeroed block of c.Size() bytes at base, which is aligned to a line.
func New(base unsafe.Pointer, c Config) (*Device, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if c.Routes < 1 || c.Burst < 1 || c.RegisterCost < 0 {
		return nil, errors.New("unimem: want a route, a burst of a byte and a cost from 0 on")
	}
	d := &Device{cfg: c, base: base, memory: unsafe.Add(base, c.memoryAt())}
	d.heap.init(c.Memory)
	d.exports.table = unsafe.Add(base, exportsAt)
	d.Engine.init(d)
	return d, nil
}

// Alloc takes n bytes of dmable memory (the architecture's alloc_dmable_buf) and gives their offset; their address is At. The memory
// begins with a page when it is as large as one.
func (d *Device) Alloc(n int64) (int64, error) { return d.heap.alloc(n) }

// Free gives back what Alloc gave; it reports false for anything else. No transfer may still use it.
func (d *Device) Free(off int64) bool { return d.heap.free(off) }

// At is the address of an offset of the rank's own dmable memory.
func (d *Device) At(off int64) unsafe.Pointer { return unsafe.Add(d.memory, off) }

// Dmable reports whether n bytes at p are dmable, and their offset.
func (d *Device) Dmable(p unsafe.Pointer, n int64) (off int64, ok bool) {
	off = int64(uintptr(p) - uintptr(d.memory))
	return off, off >= 0 && n >= 0 && off <= d.cfg.Memory && n <= d.cfg.Memory-off
}

// Calls reports whether a peer has sent for the first time since the last call.
func (d *Device) Calls() bool {
	n := (*atomic.Uint32)(d.base).Load()
	if n == d.called {
		return false
	}
	d.called = n
	return true
}

func heartbeat(base unsafe.Pointer) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Add(base, line)) }

// Left is a heartbeat that will not move again, on purpose.
const Left = ^uint64(0)

// Beat moves the heartbeat on, unless it is Left.
func (d *Device) Beat() {
	if h := heartbeat(d.base); h.Load() != Left {
		h.Add(1)
	}
}

// Leave has the heartbeat say Left.
func (d *Device) Leave() { heartbeat(d.base).Store(Left) }

// Peer is another rank's device as this rank sees it.
type Peer struct {
	// Out is the queue to the peer, In the one from it.
	Out Sender
	In  Receiver

	base   unsafe.Pointer
	memory unsafe.Pointer
	table  unsafe.Pointer
	size   int64
}

// Connect looks at the device of a peer that lies at base, of c.Size() bytes. c comes from the peer and has been checked. me is this rank's
// position among the peer's senders, it the peer's among this rank's.
func (d *Device) Connect(base unsafe.Pointer, c Config, me, it int) *Peer {
	p := &Peer{base: base, memory: unsafe.Add(base, c.memoryAt()), table: unsafe.Add(base, exportsAt), size: c.Memory}
	p.Out.init(box(base, c, me), c.Slots)
	p.In.init(box(d.base, d.cfg, it), d.cfg.Slots)
	return p
}

// Call has the peer look for new senders.
func (p *Peer) Call() { (*atomic.Uint32)(p.base).Add(1) }

// Heartbeat is the peer's, as it is now.
func (p *Peer) Heartbeat() uint64 { return heartbeat(p.base).Load() }

// Has reports whether [off, off+n) lies in the peer's dmable memory.
func (p *Peer) Has(off, n int64) bool { return off >= 0 && n >= 0 && off <= p.size && n <= p.size-off }

// Waiting reports whether the sender of that position has sent something that was not taken yet, for peers that are not connected.
func (d *Device) Waiting(it int) bool {
	var r Receiver
	r.init(box(d.base, d.cfg, it), d.cfg.Slots)
	return r.full()
}
