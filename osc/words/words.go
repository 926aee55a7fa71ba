// Package words has the algorithms of synchronisation over words of control that all members of a window can reach by atomic operations: locks, and the
// counters of post, start, complete and wait. Components of osc whose transport has atomics embed Sync in their modules.
//
// The lock of a member is its LockWord (lock.go), and nothing else: how one waits for it is each member's own affair. By asking again and again, as Hassani et
// al. 2013 §3.2 do; or, Config.MCS, in a queue whose first alone asks (queue.go). Post, start, complete and wait are bits and a count (pscw.go).
package words

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
)

// Words of each member, 64 bits each. From PostWords on come the bits of those who have posted to it, one a member (PSCW needs to know who: another one's
// early post must not stand in for a late one's).
const (
	LockWord     = iota // who holds the member's lock, see lock.go
	TailWord            // the last in the queue for it: rank+1
	QueueWord           // this member's place in a queue, anybody's: who comes next, rank+1 ...
	TurnWord            // ... and whether it is its turn
	CompleteWord        // who has completed, a count
	SpareWord           // a component's own
	PostWords
)

// Number is how many words each member of a window of n has.
func Number(n int) int { return PostWords + (n+63)/64 }

// Words is how a component reaches them. The token is held, and may be given away meanwhile. An error tells that the target is gone. A target may be this member itself.
type Words interface {
	FetchAdd(target, word int, delta uint64) (old uint64, err error)
	CompareSwap(target, word int, compare, value uint64) (old uint64, err error)
	Swap(target, word int, value uint64) (old uint64, err error)
	// Own is this member's word, which others change meanwhile: it is for sync/atomic.
	Own(word int) *uint64
	// Silent tells that nothing wakes this member when others change its words, because they do so without this process: who waits for such a word
	// keeps the engine's driver from sleeping.
	Silent() bool
}

// Config is what a component chooses.
type Config struct {
	MCS     bool                   // who waits for a lock stands in a queue instead of asking again and again
	Near    bool                   // words are memory at hand, so that who waits for another's may look as often as he likes
	Flush   func(target int) error // osc.Module's, with the token held; AllTargets is -1
	Recover bool                   // osc.Hints.Recover: an exclusive lock whose holder has died is given to the next
}

// allTargets is osc.AllTargets.
const allTargets = -1

// Sync implements the synchronisation of an osc.Module but Fence. Its methods have the names of those, with plain arguments for the constants of osc, and take the token
// themselves.
type Sync struct {
	words  Words
	cfg    Config
	engine *progress.Engine
	comm   *core.Comm
	silent bool

	locks  []held // what this member holds; the token guards it and the rest
	queued bool   // it stands in a queue, or leads one
	torn   bool   // a death has torn queues: this member waits in none any more

	started []int // the access epoch's group
	posted  []int // the exposure epoch's
}

// held is a lock that this member holds, or need not hold by ModeNoCheck.
type held struct {
	target int
	value  uint64 // what it added to the LockWord; 0: nothing
}

// Init is to be called first. The words of all members are 0, or have been used by nobody but a Sync of the same window.
func (s *Sync) Init(w Words, cfg Config, comm *core.Comm) {
	*s = Sync{words: w, cfg: cfg, engine: comm.Engine, comm: comm, silent: w.Silent()}
}

// fatal is the error with which waiting ends that can never end well, the communicator's being revoked or the job's end; a death that does not matter is none.
func (s *Sync) fatal() error {
	if f := s.comm.Fault(); f != nil && f.Fatal {
		return f.Err
	}
	return nil
}

// deathAmong tells of a dead member of ranks.
func (s *Sync) deathAmong(ranks []int) error {
	if s.comm.Fault() == nil {
		return nil
	}
	for _, r := range ranks {
		if p := s.comm.Procs[r]; p.Failed() != nil {
			return s.comm.DeathOf(p)
		}
	}
	return s.fatal()
}

// anyDeath is deathAmong all members.
func (s *Sync) anyDeath() error {
	if s.comm.Fault() == nil {
		return nil
	}
	for _, p := range s.comm.Procs {
		if p.Failed() != nil {
			return s.comm.DeathOf(p)
		}
	}
	return s.fatal()
}

// wait returns when c is done, for which ranks members are needed. The token is not held.
func (s *Sync) wait(c progress.Cond, ranks int) {
	if c.Done() {
		return
	}
	if s.silent {
		s.engine.Busy(1)
		defer s.engine.Busy(-1)
	}
	s.engine.WaitOutside(c, ranks)
}

// maxPause bounds how many passes lie between two looks at another's word.
const maxPause = 32

// pause lets the engine make n passes, and others have the token and the core. The token is held.
func (s *Sync) pause(n int) {
	for range n {
		s.engine.TryPoll()
		s.engine.Unlock()
		s.engine.Yield()
		s.engine.Lock()
	}
}
