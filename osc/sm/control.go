package sm

import (
	"sync/atomic"
	"unsafe"

	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/words"
)

// control is the synchronisation that package words has; its methods that need nothing of ours are the module's.
type control = words.Sync

// ownWords is the module as words.Words.
type ownWords module

func (w *ownWords) word(rank, word int) *uint64 {
	return (*uint64)(unsafe.Add(w.mem, membersAt+int64(rank)*memberBytes(w.size)+wordAt(word)))
}

// ring wakes a member that may wait for its word. Nobody waits for a lock's word.
func (w *ownWords) ring(rank, word int) {
	if word >= lockWords && w.size > 1 {
		w.f.env.Shm.Ring(w.peers[rank])
	}
}

// FetchAdd implements words.Words.
func (w *ownWords) FetchAdd(target, word int, delta uint64) (uint64, error) {
	old := atomic.AddUint64(w.word(target, word), delta) - delta
	w.ring(target, word)
	return old, nil
}

// CompareSwap implements words.Words.
func (w *ownWords) CompareSwap(target, word int, compare, value uint64) (uint64, error) {
	p := w.word(target, word)
	for {
		if old := atomic.LoadUint64(p); old != compare || compare == value {
			return old, nil
		}
		if atomic.CompareAndSwapUint64(p, compare, value) {
			w.ring(target, word)
			return compare, nil
		}
	}
}

// Swap implements words.Words.
func (w *ownWords) Swap(target, word int, value uint64) (uint64, error) {
	old := atomic.SwapUint64(w.word(target, word), value)
	w.ring(target, word)
	return old, nil
}

// Own implements words.Words.
func (w *ownWords) Own(word int) *uint64 { return w.word(w.rank, word) }

// Silent implements words.Words.
func (w *ownWords) Silent() bool { return false }

// Lock implements osc.Module.
func (m *module) Lock(t osc.LockType, target int, a osc.Assert) error {
	return m.control.Lock(t == osc.LockExclusive, target, a&osc.ModeNoCheck != 0)
}

// LockAll implements osc.Module.
func (m *module) LockAll(a osc.Assert) error { return m.control.LockAll(a&osc.ModeNoCheck != 0) }

// Start implements osc.Module.
func (m *module) Start(group []int, a osc.Assert) error {
	return m.control.Start(group, a&osc.ModeNoCheck != 0)
}

// Post implements osc.Module.
func (m *module) Post(group []int, a osc.Assert) error {
	return m.control.Post(group, a&osc.ModeNoCheck != 0)
}

// pollEvery is how many calls in a row may find what they wait for without a look at the transports.
const pollEvery = 64

// polled sees to it that messages move on in a member which never has to wait here.
func (m *module) polled(unseen *uint32) {
	if *unseen++; *unseen >= pollEvery {
		*unseen = 0
		m.engine.Lock()
		m.engine.TryPoll()
		m.engine.Unlock()
	}
}

// Fence implements osc.Module: all members come to it. Who comes last says so, and wakes those who sleep. A fence between nothing and nothing is none.
func (m *module) Fence(a osc.Assert) error {
	const nothing = osc.ModeNoPrecede | osc.ModeNoSucceed
	if a&nothing == nothing {
		return m.fatal()
	}
	m.fences++
	if m.arrived().Add(1) == m.fences*uint64(m.size) {
		m.over().Store(m.fences)
		if m.size > 1 {
			m.f.env.Shm.RingAll(m.others)
		}
		m.polled(&m.unseen)
		return nil
	}
	if m.over().Load() != m.fences {
		m.engine.WaitOutside((*fenceCond)(m), m.size)
		m.unseen = 0
		if m.over().Load() != m.fences {
			return m.comm.Fault().Err
		}
	}
	return nil
}

func (m *module) arrived() *atomic.Uint64 { return (*atomic.Uint64)(m.mem) }
func (m *module) over() *atomic.Uint64    { return (*atomic.Uint64)(unsafe.Add(m.mem, overAt)) }

// fenceCond is the condition that all have come to the present fence. It ends, too, when the communicator has a fault: a member that is gone will not come.
type fenceCond module

// Done implements progress.Cond.
func (c *fenceCond) Done() bool {
	return (*module)(c).over().Load() == c.fences || c.comm.Fault() != nil
}

// Sync implements osc.Module. A program may call it in a loop, waiting for what others store.
func (m *module) Sync() error {
	atomic.AddUint32(&m.syncs, 1)
	m.engine.Lock()
	m.engine.TryPoll()
	m.engine.Unlock()
	m.engine.Yield()
	return m.fatal()
}
