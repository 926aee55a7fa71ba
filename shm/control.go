package shm

import (
	"sync/atomic"
	"unsafe"
)

// control is the part of a segment that its owner's peers may write: it is at the segment's start.
//
//	line 0   identity: magic, version, rank, number of local ranks, job id
//	line 1   asleep (owner writes, peers read), fence (likewise)
//	line 2   calls (peers add, owner polls)
//	line 3   top (owner and peers): all of the segment above is unused
//	line 4…  one line a local rank: the pieces that this peer offers the owner, and what the peer found it cannot do
type control struct {
	id     identity
	_      [lineSize - unsafe.Sizeof(identity{})]byte
	asleep atomic.Uint32 // owner sleeps: ring
	_      [lineSize - 4]byte
	calls  atomic.Uint32 // bumped after an offer is made
	_      [lineSize - 4]byte
	top    atomic.Int64 // see Domain.AllocAt
	_      [lineSize - 8]byte
}

type identity struct {
	magic   uint64
	version uint32
	rank    uint32
	local   uint32
	bell    uint32 // number of the owner's eventfd, 0: it has none
	job     [16]byte
	self    uint64 // address of this block in its owner, for a trial of process_vm_readv
}

const (
	controlMagic   = 0x736869706d6f6f67
	controlVersion = 3
)

// offer is what one peer has for the owner of the control block.
type offer struct {
	taken atomic.Uint32 // owner: calls seen of this peer, so that it finds which peer called
	made  atomic.Uint32 // peer: offers made
	piece atomic.Uint64 // peer: the offered piece of the owner's segment
	_     [lineSize - 16]byte
}

func controlSize(local int) int64 {
	return int64(unsafe.Sizeof(control{})) + int64(local)*int64(unsafe.Sizeof(offer{}))
}

func controlAt(mem unsafe.Pointer, _ int) *control { return (*control)(mem) }

func (c *control) offer(i int) *offer {
	return (*offer)(unsafe.Add(unsafe.Pointer(c), unsafe.Sizeof(control{})+uintptr(i)*unsafe.Sizeof(offer{})))
}

// Offer tells a peer that piece p of its segment, taken by AllocAt, holds something for it, and rings. One offer a pair: a later
// one replaces it. The token is held.
func (d *Domain) Offer(to *Peer, p Piece) {
	o := to.ctl.offer(d.me)
	o.piece.Store(uint64(p))
	o.made.Add(1)
	to.ctl.calls.Add(1)
	d.Ring(to)
}

// Calls is a number that changes when some peer makes an offer: one load, for the hot path.
func (d *Domain) Calls() uint32 { return d.ctl.calls.Load() }

// TakeOffers calls f for each offer made since the last call. The token is held.
func (d *Domain) TakeOffers(f func(rank int, p Piece)) {
	for i, rank := range d.local {
		o := d.ctl.offer(i)
		made := o.made.Load()
		if made == o.taken.Load() {
			continue
		}
		o.taken.Store(made)
		f(rank, Piece(o.piece.Load()))
	}
}
