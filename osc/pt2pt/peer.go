package pt2pt

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/am"
)

// lockState is how this member stands to the lock of a target's memory.
type lockState uint8

const (
	lockNone   lockState = iota
	lockWanted           // the next packet asks for it
	lockQueued           // its request is in the packet being filled
	lockAsked            // and on its way: nothing more goes to the target before there is an answer
	lockHeld
	lockFree // nobody need be asked (osc.ModeNoCheck)
)

// peer is what a member knows of another one; its own is there, too.
type peer struct {
	gone bool // it has freed the window, after a death
	m    *module
	rank int

	// As origin.
	out     *packet // being filled
	push    bool    // it is to be sent as soon as it may
	lock    lockState
	typ     osc.LockType
	started bool // in an access epoch opened by Start
	open    bool // its post has been seen, or need not be
	posted  int  // posts that have come and no epoch has used
	dirty   bool // operations went to it since an acknowledgement was last asked for, and nothing else tells that they are complete
	touched bool // it is in module.touched
	wanted  uint64
	got     uint64 // acknowledgements up to wanted, up to got have come
	pending int    // operations whose result or memory is not the program's again
	packets int64  // sent in the fence epoch
	fetched bool   // a long get has gone to it since it was locked: the lock is given back when the data has left, which it tells
	failure error

	// As target of it.
	waits      bool         // for the lock of this member's memory,
	waitType   osc.LockType // of this type,
	wantsGrant bool         // to be told,
	kept       *packet      // and with it this is to be done
	holds      uint8        // the lock, shared or exclusive
	moving     int          // long messages of its on their way into the memory or out of it
	later      []deferred   // to be done when they have come
	status     am.Status    // of the first command that could not be done since the last acknowledgement
	reply      *packet      // answers, being filled
}

// deferred is a command that says that everything before it is complete, when that is not so yet.
type deferred struct {
	kind  am.Kind
	flags am.Flags
	id    uint64
}

func (m *module) peer(rank int) *peer {
	p := m.peers[rank]
	if p == nil {
		p = &peer{m: m, rank: rank}
		m.peers[rank] = p
	}
	return p
}

// touch enters p in the list of those that have something to complete.
func (p *peer) touch() {
	if !p.touched {
		p.touched = true
		p.m.touched = append(p.m.touched, p)
		if p.m.all && p.lock == lockNone {
			p.want(osc.LockShared, p.m.free)
		}
	}
}

// want has the lock asked for by the next packet.
func (p *peer) want(t osc.LockType, free bool) {
	p.typ, p.lock = t, lockWanted
	if free {
		p.lock = lockFree
	}
}

// packet is the one to add commands to.
func (p *peer) packet() *packet {
	if p.out == nil {
		p.out = p.m.newPacket()
		p.askLock()
	}
	return p.out
}

// askLock adds the request for the lock.
func (p *peer) askLock() {
	if p.lock == lockWanted {
		p.lock = lockQueued
		p.out.lock = p.out.n
		p.out.control(&am.Command{Kind: am.Lock, Off: int64(p.typ)})
	}
}

// ready reports whether the packet being filled may be sent.
func (p *peer) ready() bool {
	switch {
	case p.lock == lockAsked:
		return false
	case p.started && !p.open:
		if p.posted == 0 {
			return false
		}
		p.posted--
		p.open = true
	}
	return true
}

// flush sends the packet being filled, now or as soon as it may be sent.
func (p *peer) flush() {
	if p.out == nil {
		return
	}
	if p.push = !p.ready(); p.push {
		return
	}
	m, k := p.m, p.out
	p.out = nil
	k.flags = ordered
	switch {
	case p.lock == lockQueued:
		p.lock = lockAsked
		if !k.answers {
			k.buf[k.lock+4] |= byte(flagGrant)
		}
		m.f.stats.piggybacked++
	case p.lock == lockNone && !p.started:
		k.flags |= inFence
		p.packets++
	}
	m.f.stats.requests++
	m.send(k, p.rank)
}

// goOn sends what waited for an answer of p or its post.
func (p *peer) goOn() {
	if p.push {
		p.flush()
	}
}

// makeRoom sends the packet being filled because it is full. It may give the token away.
func (p *peer) makeRoom() error {
	full := p.out
	p.flush()
	if p.out != full || full == nil {
		return nil
	}
	return p.m.wait(waiter{kind: forRoom, p: p, k: full})
}

// direct sends a command by a message of its own that waits for nothing.
func (p *peer) direct(c *am.Command) {
	k := p.m.newPacket()
	k.control(c)
	p.m.f.stats.controls++
	p.m.send(k, p.rank)
}

// failed notes an error for the call that completes operations to p.
func (p *peer) failed(st am.Status) {
	if st != am.OK {
		p.fail(errorOf(st))
	}
}

// fail likewise; the first error counts.
func (p *peer) fail(err error) {
	if p.failure == nil {
		p.failure = err
	}
}

// takeFailure gives the error of operations that are complete, once.
func (p *peer) takeFailure() error {
	err := p.failure
	p.failure = nil
	return err
}

func errorOf(st am.Status) *core.Error {
	if st == am.BadRange {
		return rangeError()
	}
	return core.NewError(core.ErrRMARange, "the target does not understand an operation")
}

func rangeError() *core.Error {
	return core.NewError(core.ErrRMARange, "the memory is not inside the target's window, or not inside one attached piece of it")
}
