package portals4

import (
	"sync/atomic"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/words"
	p4 "github.com/ompi-go/ompi-go/portals4"
)

// Words of control: those of package words, without bits of posts, and what others may ask about the window.
const (
	sizeWord = words.PostWords + iota
	unitWord
	numberWord // where its memory can be mapped, see direct; 0: nowhere
	addressWord
	cellCount
)

func wordBytes(p *uint64) []byte { return bytes(unsafe.Pointer(p), 8) }

// ask prepares a transfer between a call's words and the words of control at a member. It counts in the window's counter, and waits when that is full: any number of
// goroutines may ask.
func (m *module) ask(target, word int) (*call, *p4.Transfer, error) {
	if err := m.room(&m.all); err != nil {
		return nil, nil, err
	}
	p := m.comm.Procs[target]
	k := m.newCall(&m.all, p)
	k.left = 1
	m.all.issued++
	t := &m.transfer
	t.Target, t.PT, t.MatchBits, t.Ack, t.HdrData = m.f.ni.ProcessOf(p.Rank), m.control.pt, m.control.bits, p4.Ack, 0
	t.Mem, t.RemoteOffset, t.UserPtr = wordBytes(&k.word[0]), uint64(word)*8, k
	m.into.MD, m.into.Mem = m.all.full, wordBytes(&k.word[2])
	return k, t, nil
}

// answer waits for a call of ask; err is the interface's refusal to begin it. The words are the call's until it is given back.
func (m *module) answer(k *call, err error) error {
	if err != nil {
		m.all.issued--
		k.left = 0
		return core.NewError(core.ErrIntern, "the interface refuses an operation on words of control: %w", err)
	}
	return m.await(k)
}

// done gives back a call that has been waited for.
func (m *module) done(k *call) {
	if !k.lost {
		m.putCall(k)
	}
}

// control are a window's words of control, as package words reaches them.
type control module

// FetchAdd implements words.Words.
func (c *control) FetchAdd(target, word int, delta uint64) (old uint64, err error) {
	m := (*module)(c)
	if target == m.comm.MyRank {
		return atomic.AddUint64(&m.cells[word], delta) - delta, nil
	}
	k, t, err := m.ask(target, word)
	if err != nil {
		return 0, err
	}
	k.word[0] = delta
	err = m.answer(k, m.f.mute.FetchAtomic(t, &m.into, p4.Sum, p4.Uint64))
	old = k.word[2]
	m.done(k)
	return old, err
}

// CompareSwap implements words.Words.
func (c *control) CompareSwap(target, word int, compare, value uint64) (old uint64, err error) {
	m := (*module)(c)
	if target == m.comm.MyRank {
		for {
			if atomic.CompareAndSwapUint64(&m.cells[word], compare, value) {
				return compare, nil
			}
			if old = atomic.LoadUint64(&m.cells[word]); old != compare {
				return old, nil
			}
		}
	}
	k, t, err := m.ask(target, word)
	if err != nil {
		return 0, err
	}
	k.word[0], k.word[1] = value, compare
	err = m.answer(k, m.f.mute.Swap(t, &m.into, wordBytes(&k.word[1]), p4.CSwap, p4.Uint64))
	old = k.word[2]
	m.done(k)
	return old, err
}

// Swap implements words.Words.
func (c *control) Swap(target, word int, value uint64) (old uint64, err error) {
	m := (*module)(c)
	if target == m.comm.MyRank {
		old = atomic.SwapUint64(&m.cells[word], value)
		m.engine.Kick()
		return old, nil
	}
	k, t, err := m.ask(target, word)
	if err != nil {
		return 0, err
	}
	k.word[0] = value
	err = m.answer(k, m.f.mute.Swap(t, &m.into, nil, p4.Swap, p4.Uint64))
	old = k.word[2]
	m.done(k)
	return old, err
}

// Own implements words.Words.
func (c *control) Own(word int) *uint64 { return &c.cells[word] }

// Silent implements words.Words: what comes to a word is an event.
func (c *control) Silent() bool { return false }

// extent is how large a window is at a member. A few are kept, so that memory does not grow with their number.
type extent struct {
	rank       int // and 1
	size, unit int64
}

const extentsKept = 16

// Extent implements osc.Extenter.
func (m *module) Extent(rank int) (size, unit int64, err error) {
	x := &m.extents[rank%extentsKept]
	if x.rank == rank+1 {
		return x.size, x.unit, nil
	}
	k, t, err := m.ask(rank, sizeWord)
	if err != nil {
		return 0, 0, err
	}
	t.Mem = bytes(unsafe.Pointer(&k.word), 16)
	err = m.answer(k, m.all.full.Get(t))
	size, unit = int64(k.word[0]), int64(k.word[1])
	m.done(k)
	if err == nil && (size < 0 || unit < 1) {
		err = core.NewError(core.ErrIntern, "rank %d says that its window has %d bytes and displacement unit %d", rank, size, unit)
	}
	if err != nil {
		return 0, 0, err
	}
	*x = extent{rank + 1, size, unit}
	return size, unit, nil
}

// Lock implements osc.Module.
func (m *module) Lock(t osc.LockType, target int, assert osc.Assert) error {
	return m.locking.Lock(t == osc.LockExclusive, target, assert&osc.ModeNoCheck != 0)
}

// LockAll implements osc.Module.
func (m *module) LockAll(assert osc.Assert) error {
	return m.locking.LockAll(assert&osc.ModeNoCheck != 0)
}

// Events implements portals4.EQListener: something has come to words of control.
func (f *factory) Events(*p4.EQ) { f.take() }

func (f *factory) take() {
	for {
		if err := f.control.Take(&f.ev); f.ev.UserPtr == nil {
			return
		} else if m, ok := f.ev.UserPtr.(*module); ok {
			if err != nil {
				m.fail(m.comm.Procs[m.comm.MyRank], core.NewError(core.ErrIntern, "events of words of control were lost"))
			}
			if f.ev.Type == p4.EventPut && f.ev.NIFail == p4.OK {
				m.active.came(f.jobRank(f.ev.Initiator), f.ev.HdrData)
			}
			f.ev.UserPtr = nil
			m.engine.Kick()
		}
	}
}

// jobRank is the rank in the job of who has sent something.
func (f *factory) jobRank(p p4.Process) int {
	if f.opts.Matching {
		return int(p.PID)
	}
	return int(p.Rank)
}

// locking are the locks of package words, under a name that is none of osc.Module's methods.
type locking = words.Sync

// Sync implements osc.Module: public and private copies are one memory. What has come meanwhile is delivered.
func (m *module) Sync() error {
	m.engine.Lock()
	m.engine.TryPoll()
	m.engine.Unlock()
	return nil
}
