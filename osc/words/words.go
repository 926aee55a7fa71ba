// Package words has the algorithms of synchronisation over words of control that all members of a window can reach by atomic operations: locks, and the
// counters of post, start, complete and wait. Components of osc whose transport has atomics embed Sync in their modules.
package words

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
)

// Words of each member, 64 bits each. From PostWords on come the bits of those who have posted to it, one a member (PSCW needs to know who: another one's
// early post must not stand in for a late one's).
const (
	LockWord     = iota // low half: holders of a shared lock; bit 32: held exclusively
	TailWord            // the last in the queue of an MCS lock: rank+1
	QueueWord           // this member's place in a queue: who comes next, rank+1 ...
	TurnWord            // ... and whether it is its turn
	CompleteWord        // who has completed, a count
	SpareWord           // a component's own
	PostWords
)

// Number is how many words each member of a window of n has.
func Number(n int) int { return PostWords + (n+63)/64 }

// Words is how a component reaches them. The token is held, and may be given away meanwhile. An error tells that the target is gone.
type Words interface {
	FetchAdd(target, word int, delta uint64) (old uint64, err error)
	CompareSwap(target, word int, compare, value uint64) (old uint64, err error)
	Swap(target, word int, value uint64) (old uint64, err error)
	// Own is this member's word, which others change meanwhile: it is for sync/atomic.
	Own(word int) *uint64
	// Changed is bumped (or the engine kicked) whenever a word of this member may have been changed: waiting for an own word is
	// Engine.WaitLocked of a condition that looks at it. Where nothing tells, because peers change it without this process, it polls: Busy keeps the
	// driver from sleeping.
	Silent() bool
}

// Config is what a component chooses.
type Config struct {
	MCS   bool                   // exclusive and shared locks wait in a queue instead of asking again and again
	Flush func(target int) error // osc.Module's; AllTargets is -1
}

// Sync implements the synchronisation of an osc.Module but Fence. Its methods have those names and take the token themselves unless they say otherwise.
type Sync struct {
	words  Words
	cfg    Config
	engine *progress.Engine
	comm   *core.Comm
}
