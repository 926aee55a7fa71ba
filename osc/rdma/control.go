package rdma

import (
	"errors"
	"sync/atomic"

	"github.com/ompi-go/ompi-go/btl"
)

// The words of control blocks, for osc/words: by the processor where they are mapped, by a BTL's atomics where those are coherent with that, else by messages.
// The three do not disturb one another.

// FetchAdd implements words.Words.
func (m *module) FetchAdd(rank, word int, delta uint64) (uint64, error) {
	return m.word(rank, wordAdd, word, delta, 0)
}

// Swap implements words.Words.
func (m *module) Swap(rank, word int, value uint64) (uint64, error) {
	return m.word(rank, wordSwap, word, value, 0)
}

// CompareSwap implements words.Words.
func (m *module) CompareSwap(rank, word int, compare, value uint64) (uint64, error) {
	return m.word(rank, wordCompare, word, compare, value)
}

func (m *module) word(rank int, k kind, word int, a, b uint64) (old uint64, err error) {
	t, err := m.at(rank)
	if err != nil {
		return 0, err
	}
	if err := t.gone(m); err != nil {
		return 0, err
	}
	if t.words != nil {
		old = change(&t.words[word], k, a, b)
		switch {
		case t.ringer != nil:
			t.ringer.Ring()
		case rank == m.w.Comm.MyRank:
			m.f.engine.Kick() // another goroutine may wait for it
		}
		return old, nil
	}
	if t.words8 != nil {
		what, operand, compare := btl.AtomicAdd, a, uint64(0)
		switch k {
		case wordSwap:
			what = btl.AtomicSwap
		case wordCompare:
			operand, compare = b, a
		}
		old, err = m.onWord(t, t.words8, t.ctlMem, int64(word)*8, 8, what, operand, compare, k == wordCompare)
		if !errors.Is(err, btl.ErrNotSupported) {
			return old, err
		}
		t.words8 = nil
	}
	return m.ask(t, k, word, a, b)
}

// change carries it out here.
func change(p *uint64, k kind, a, b uint64) uint64 {
	switch k {
	case wordAdd:
		return atomic.AddUint64(p, a) - a
	case wordSwap:
		return atomic.SwapUint64(p, a)
	}
	for {
		if was := atomic.LoadUint64(p); was != a || atomic.CompareAndSwapUint64(p, a, b) {
			return was
		}
	}
}

// Own implements words.Words.
func (m *module) Own(word int) *uint64 { return &m.words[word] }

// Silent implements words.Words: a BTL that changes a word tells nobody.
func (m *module) Silent() bool { return m.silent }
