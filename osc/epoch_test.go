package osc

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ompi-go/ompi-go/core"
)

// model is the reference: what is open, as the standard puts it.
type model struct {
	fence   bool // the last synchronisation of the access side was a fence, without ModeNoSucceed
	used    bool // operations have followed it
	start   map[int]bool
	started bool
	locked  map[int]bool
	all     bool
	posted  bool
}

func (m *model) active() bool { return m.started || len(m.locked) > 0 || m.all || m.fence && m.used }

const modelRanks = 4

// step does one call on both and compares whether it is legal.
func (m *model) step(t *rapid.T, e *epochs) {
	rank := rapid.IntRange(0, modelRanks-1).Draw(t, "rank")
	var legal bool
	var err *core.Error
	what := rapid.SampledFrom([]string{"fence", "fence!", "fence?", "start", "complete", "post", "wait", "test", "lock", "unlock", "lockall", "unlockall", "op", "rop", "flush", "flushall", "free"}).Draw(t, "what")
	ok := rapid.IntRange(0, 4).Draw(t, "ok") > 0 // what the module says
	switch what {
	case "fence", "fence!", "fence?":
		a := map[string]Assert{"fence!": ModeNoSucceed, "fence?": ModeNoPrecede}[what]
		legal = !m.started && len(m.locked) == 0 && !m.all && !m.posted && (what != "fence?" || !m.used)
		if err = e.beginFence(a); err == nil {
			e.endFence(a, ok)
			m.fence, m.used = ok && what != "fence!", false
		}
	case "start":
		var group []int
		m2 := map[int]bool{}
		for r := range modelRanks {
			if rapid.Bool().Draw(t, "in") {
				group = append(group, r)
				m2[r] = true
			}
		}
		legal = !m.active()
		if err = e.beginStart(group); err == nil {
			e.endStart(ok)
			m.fence, m.used, m.started, m.start = false, false, ok, m2
		}
	case "complete":
		legal = m.started
		if err = e.beginComplete(); err == nil {
			e.endComplete()
			m.started = false
		}
	case "post":
		legal = !m.posted && !m.all && !m.locked[0]
		if err = e.beginPost([]int{1}); err == nil {
			e.endPost(ok)
			m.posted = ok
		}
	case "wait", "test":
		legal = m.posted
		if err = e.beginWait(what); err == nil {
			e.endWait(ok)
			m.posted = !ok
		}
	case "lock":
		legal = !m.started && !m.all && !(m.fence && m.used) && !m.locked[rank] && !(rank == 0 && m.posted)
		if err = e.beginLock(rank); err == nil {
			e.endLock(rank, ok)
			m.fence, m.used = false, false
			if ok {
				m.locked[rank] = true
			}
		}
	case "unlock":
		legal = m.locked[rank]
		if err = e.beginUnlock(rank); err == nil {
			e.endUnlock(rank)
			delete(m.locked, rank)
		}
	case "lockall":
		legal = !m.active() && !m.posted
		if err = e.beginLockAll(); err == nil {
			e.endLockAll(ok)
			m.fence, m.used, m.all = false, false, ok
		}
	case "unlockall":
		legal = m.all
		if err = e.beginUnlockAll(); err == nil {
			e.endUnlockAll()
			m.all = false
		}
	case "op":
		legal = m.fence || m.all || m.locked[rank] || m.started && m.start[rank]
		err = e.quick(rank)
		m.used = m.used || m.fence
	case "rop":
		legal = m.all || m.locked[rank]
		err = e.operation(rank, true)
	case "flush":
		legal = m.all || m.locked[rank]
		if e.letsFlush(rank) && !legal {
			t.Fatalf("a flush of %d is let through; the model: %+v", rank, *m)
		}
		err = e.flush(rank)
	case "flushall":
		legal = m.all || len(m.locked) > 0
		if e.letsFlush(AllTargets) != legal {
			t.Fatalf("a flush of all is let through: %v; the model: %+v", !legal, *m)
		}
		err = e.flush(AllTargets)
	case "free":
		legal = !m.active() && !m.posted
		if err = e.free(); err == nil {
			if e.quick(rank) == nil || e.beginPost(nil) == nil || e.beginFence(0) == nil {
				t.Fatal("something is legal while the window is freed")
			}
			e.stay()
		}
	}
	if legal != (err == nil) {
		t.Fatalf("%s of rank %d: legal %v, got %v; the model: %+v", what, rank, legal, err, *m)
	}
	if err != nil && err.Class != core.ErrRMASync && (what != "fence?" || err.Class != core.ErrAssert) {
		t.Fatalf("%s: class of %v", what, err)
	}
	m.named(t, e)
}

// named: what is open is named, and nothing else.
func (m *model) named(t *rapid.T, e *epochs) {
	text := e.describe()
	for word, open := range map[string]bool{callFence: m.fence && m.used, callStart: m.started, callLock + ")": len(m.locked) > 0, callLockAll: m.all, callPost: m.posted} {
		if strings.Contains(text, word) != open {
			t.Fatalf("%s open: %v; the text: %s", word, open, text)
		}
	}
}

// quick is what operations do first.
func (e *epochs) quick(rank int) *core.Error {
	if e.lets(rank) {
		return nil
	}
	return e.operation(rank, false)
}

// TestEpochsAgainstModel draws calls, legal and not, and compares what the state machine says with the model.
func TestEpochsAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e epochs
		e.init(0)
		m := &model{locked: map[int]bool{}}
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			m.step(t, &e)
		}
	})
}

// TestEpochsOfTwoGoroutines: while a call changes a side, others that need it are refused, and the other side goes on.
func TestEpochsOfTwoGoroutines(t *testing.T) {
	var e epochs
	e.init(0)
	legal := func(what string, err *core.Error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	illegal := func(what string, err *core.Error, names string) {
		t.Helper()
		if !errors.Is(orNil(err), core.ErrRMASync) || !strings.Contains(err.Error(), names) {
			t.Fatalf("%s: %v, which should name %s", what, err, names)
		}
	}
	legal("lock", e.beginLock(2))
	illegal("put while locking", e.quick(2), callLock)
	illegal("unlock while locking", e.beginUnlock(2), callLock)
	illegal("flush while locking", e.flush(2), "not locked")
	legal("another lock", e.beginLock(1))
	e.endLock(2, true)
	legal("put", e.quick(2))
	illegal("put to the other", e.quick(1), callLock)
	e.endLock(1, false)
	illegal("put where locking failed", e.quick(1), "not locked")
	legal("post beside a lock", e.beginPost([]int{3}))
	illegal("wait while posting", e.beginWait(callWait), callPost)
	illegal("lock of the own window while posting", e.beginLock(0), "exposed")
	e.endPost(true)
	legal("unlock", e.beginUnlock(2))
	illegal("put while unlocking", e.quick(2), callUnlock)
	e.endUnlock(2)
	legal("start beside a post", e.beginStart([]int{1, 3}))
	illegal("fence", e.beginFence(0), callStart)
	e.endStart(true)
	illegal("put to a stranger", e.quick(2), "ranks 1, 3 (Win_start), an exposure epoch for rank 3 (Win_post)")
	legal("wait", e.beginWait(callWait))
	legal("complete", e.beginComplete())
	illegal("free", e.free(), callComplete)
	e.endComplete()
	illegal("free", e.free(), callWait)
	e.endWait(true)
	legal("fence", e.beginFence(0))
	illegal("put in a fence", e.quick(1), callFence)
	illegal("post in a fence", e.beginPost(nil), callFence)
	e.endFence(0, true)
	legal("put", e.quick(1))
	illegal("free", e.free(), callFence)
}

// TestEpochsNameRanks: lists are cut.
func TestEpochsNameRanks(t *testing.T) {
	ranks := make([]int, 100)
	for i := range ranks {
		ranks[i] = 2 * i
	}
	for n, want := range map[int]string{0: "no ranks", 1: "rank 0", 3: "ranks 0, 2, 4", 100: "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 92 more"} {
		if got := rankList(ranks[:n]); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// TestEpochsKeepNothing: many locks, taken and given back in any order, leave no state.
func TestEpochsKeepNothing(t *testing.T) {
	var e epochs
	e.init(0)
	order := []int{7, 3, 900, 5, 1, 4, 0, 8}
	for _, r := range order {
		if err := e.beginLock(r); err != nil {
			t.Fatal(err)
		}
		e.endLock(r, true)
	}
	if !slices.IsSortedFunc(e.locks, func(a, b lock) int { return a.rank - b.rank }) {
		t.Fatal(e.describe())
	}
	for i, r := range slices.Backward(order) {
		if err := e.beginUnlock(r); err != nil {
			t.Fatal(err)
		}
		e.endUnlock(r)
		if len(e.locks) != i {
			t.Fatal(e.describe())
		}
	}
	if err := e.beginFence(0); err != nil {
		t.Fatal(err)
	}
}

func ExampleWin_epochs() {
	var e epochs
	e.init(0)
	_ = e.beginPost([]int{0, 2})
	e.endPost(true)
	fmt.Println(e.operation(3, false).Err)
	// Output: no access epoch is open; open: an exposure epoch for ranks 0, 2 (Win_post)
}
