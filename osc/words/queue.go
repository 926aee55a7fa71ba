package words

import "sync/atomic"

// The queue of Mellor-Crummey and Scott for the lock of a member: TailWord is there, and everybody in it has a QueueWord and a TurnWord of his own, so that he
// waits for what comes to him. It orders those who wait for the LockWord, which the first in it asks for and nobody behind him; with the lock, he lets the next one be the first. So
// nobody holds a place while he holds a lock, and one place serves locks of many members; a second goroutine that waits meanwhile does so by asking. A death tears the queues,
// and from then on everybody asks.

// stand waits until this member is the first in target's queue; false: the queue is torn. The token is held.
func (s *Sync) stand(target int) (bool, error) {
	atomic.StoreUint64(s.words.Own(QueueWord), 0)
	atomic.StoreUint64(s.words.Own(TurnWord), 0)
	me := uint64(s.comm.MyRank) + 1
	last, err := s.words.Swap(target, TailWord, me)
	if err != nil || last == 0 {
		return err == nil, err
	}
	if last > uint64(s.comm.Size()) {
		s.torn = true // it came from outside
		return false, nil
	}
	if _, err := s.words.Swap(int(last-1), QueueWord, me); err != nil {
		s.torn = true
		return false, s.fatal() // only who stood before is gone
	}
	s.engine.Unlock()
	s.wait((*turnCond)(s), 2)
	s.engine.Lock()
	if atomic.LoadUint64(s.words.Own(TurnWord)) == 0 {
		s.torn = true
		return false, s.fatal()
	}
	return true, nil
}

// leave lets the next one be the first. The token is held, and this member's place is free afterwards, or the queue torn.
func (s *Sync) leave(target int) {
	me := uint64(s.comm.MyRank) + 1
	if atomic.LoadUint64(s.words.Own(QueueWord)) == 0 {
		if old, err := s.words.CompareSwap(target, TailWord, me, 0); err != nil || old == me {
			return // a target that is gone has told so when it was asked for its lock
		}
		// Somebody has come, and is about to say who.
		s.engine.Unlock()
		s.wait((*nextCond)(s), 2)
		s.engine.Lock()
	}
	next := atomic.LoadUint64(s.words.Own(QueueWord))
	if next == 0 || next > uint64(s.comm.Size()) {
		s.torn = true
		return
	}
	if _, err := s.words.Swap(int(next-1), TurnWord, 1); err != nil {
		s.torn = true // those behind will hear of the death, too
	}
}

// Conditions for the engine. They end, too, when the communicator has a fault.
type (
	turnCond Sync // it is this member's turn
	nextCond Sync // the next one has come
)

// Done implements progress.Cond.
func (c *turnCond) Done() bool {
	return atomic.LoadUint64(c.words.Own(TurnWord)) != 0 || c.comm.Fault() != nil
}

// Done implements progress.Cond.
func (c *nextCond) Done() bool {
	return atomic.LoadUint64(c.words.Own(QueueWord)) != 0 || c.comm.Fault() != nil
}
