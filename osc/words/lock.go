package words

import (
	"errors"

	"github.com/ompi-go/ompi-go/core"
)

// A LockWord.
//
//	63        52 51          32 31           0
//	+-----------+--------------+--------------+
//	| waiters   | exclusive    | shared       |
//	+-----------+--------------+--------------+
//
// shared counts those who hold it together, exclusive is rank+1 of who holds it alone. Waiters are those whose turn comes before that of anybody new: who wants an exclusive
// lock and could not have it at once, and where there are queues all who stand in them. Its overflow, with 4,096, would let some overtake, no more.
//
// Everybody adds and takes away what is his own, so that nothing is lost of what others do at the same time. Who wants to share adds himself first, and has the lock if
// the rest of what he finds, and adds to, is 0. Else he takes himself out at once, and may be seen for a moment; nothing but compare-and-swap of a value without him then gives him the lock.
const (
	sharedOne    = uint64(1)
	sharedMask   = uint64(1)<<32 - 1
	holderShift  = 32
	holderMask   = uint64(1)<<20 - 1
	waitersShift = 52
	waiter       = uint64(1) << waitersShift

	lessOne    = ^sharedOne + 1
	lessWaiter = ^waiter + 1
)

func readers(v uint64) uint64 { return v & sharedMask }
func holder(v uint64) uint64  { return v >> holderShift & holderMask }
func waiters(v uint64) uint64 { return v >> waitersShift }

// mark is what an exclusive holder adds. Ranks beyond the field share the last number, and cannot be told when they die.
func mark(rank int) uint64 { return min(uint64(rank)+1, holderMask) << holderShift }

// patience is how often somebody who wants to share asks before he counts himself among the waiters.
const patience = 64

// Lock takes the lock of target, exclusively or shared, and returns when it is granted. noCheck: nobody else wants it (MPI_MODE_NOCHECK), so nothing is done.
// The error is of class ErrProcFailed when it cannot be had because a member has died.
func (s *Sync) Lock(exclusive bool, target int, noCheck bool) error {
	s.engine.Lock()
	defer s.engine.Unlock()
	h := held{target: target}
	if !noCheck {
		h.value = s.value(exclusive)
		if got, err := s.try(target, h.value); err != nil {
			return err
		} else if !got {
			if err := s.slow(target, h.value); err != nil {
				return err
			}
		}
	}
	s.locks = append(s.locks, h)
	return nil
}

// value is what this member adds to a LockWord.
func (s *Sync) value(exclusive bool) uint64 {
	if exclusive {
		return mark(s.comm.MyRank)
	}
	return sharedOne
}

// try takes a lock that is free. The token is held.
func (s *Sync) try(target int, value uint64) (bool, error) {
	if value != sharedOne {
		old, err := s.words.CompareSwap(target, LockWord, 0, value)
		return old == 0 && err == nil, err
	}
	old, err := s.words.FetchAdd(target, LockWord, sharedOne)
	if err != nil {
		return false, err
	}
	if old+sharedOne <= sharedMask { // the updated value has nobody exclusive and nobody who waits
		return true, nil
	}
	_, err = s.words.FetchAdd(target, LockWord, lessOne)
	return false, err
}

// slow takes a lock that was not free. The token is held.
func (s *Sync) slow(target int, value uint64) error {
	waits := s.cfg.MCS || value != sharedOne
	if waits {
		if _, err := s.words.FetchAdd(target, LockWord, waiter); err != nil {
			return err
		}
	}
	first, err := false, error(nil) // in the queue
	if s.cfg.MCS && !s.queued && !s.torn {
		s.queued = true
		first, err = s.stand(target)
		s.queued = first
	}
	if err == nil {
		err = s.ask(target, value, &waits, first, 0)
	}
	if err != nil && waits {
		_, _ = s.words.FetchAdd(target, LockWord, lessWaiter)
	}
	if first {
		s.leave(target)
		s.queued = false
	}
	return err
}

// errBusy is for who asks only so often.
var errBusy = errors.New("the lock was not free")

// ask asks again and again until the lock is granted, at most limit times if that is not 0: then errBusy. waits tells whether this member is among the waiters, first that of
// those who share it is the next.
func (s *Sync) ask(target int, value uint64, waits *bool, first bool, limit int) error {
	v, err := s.words.CompareSwap(target, LockWord, 0, 0)
	pause := 1
	for tries := 0; err == nil; tries++ {
		next, ok := v+value, false
		if *waits {
			next -= waiter
		}
		switch {
		case holder(v) != 0:
			var dead bool
			if dead, err = s.holderDied(v); err != nil {
				return err
			}
			if ok = dead; dead {
				next -= v & (holderMask << holderShift)
			}
		case value != sharedOne:
			if ok = readers(v) == 0; !ok {
				err = s.sharerDied(tries)
			}
		case first, *waits && readers(v) == 0:
			ok = true
		default:
			if ok = waiters(v) == 0; !ok && readers(v) != 0 {
				err = s.sharerDied(tries)
			}
		}
		if err != nil {
			return err
		}
		if ok {
			var old uint64
			if old, err = s.words.CompareSwap(target, LockWord, v, next); err != nil || old == v {
				return err
			}
			v = old
			continue // with what was found instead
		}
		if !*waits && tries >= patience {
			// Those who want it alone would keep the lock to themselves for ever: from here on he is one of them until it is free.
			*waits = true
			if _, err = s.words.FetchAdd(target, LockWord, waiter); err != nil {
				*waits = false
				return err
			}
		}
		if limit > 0 && tries >= limit {
			return errBusy
		}
		s.pause(pause)
		if !s.cfg.Near {
			pause = min(2*pause, maxPause)
		}
		if err = s.fatal(); err == nil {
			v, err = s.words.CompareSwap(target, LockWord, 0, 0)
		}
	}
	return err
}

// holderDied tells that the lock belongs to a dead member and may be taken; if it must not be, the error tells of the death.
func (s *Sync) holderDied(v uint64) (bool, error) {
	h := holder(v)
	if h > uint64(s.comm.Size()) {
		return false, s.anyDeath() // who it is cannot be told
	}
	p := s.comm.Procs[h-1]
	if p.Failed() == nil {
		return false, nil
	}
	if s.cfg.Recover {
		return true, nil
	}
	return false, s.comm.DeathOf(p)
}

// sharerDied tells of a death where a lock is shared: who is dead may be among those who do, and nobody can tell. Where locks are recovered those who live
// are given time to give it back.
func (s *Sync) sharerDied(tries int) error {
	if s.cfg.Recover && tries < patience {
		return nil
	}
	return s.anyDeath()
}

// Unlock completes all operations to target, at both ends, and gives its lock back.
func (s *Sync) Unlock(target int) error {
	s.engine.Lock()
	defer s.engine.Unlock()
	err := s.cfg.Flush(target)
	for i := len(s.locks) - 1; i >= 0; i-- {
		if s.locks[i].target == target {
			h := s.locks[i]
			s.locks[i] = s.locks[len(s.locks)-1]
			s.locks = s.locks[:len(s.locks)-1]
			if e := s.unlock(h); err == nil {
				err = e
			}
			return err
		}
	}
	return core.NewError(core.ErrRMASync, "unlock of rank %d, which is not locked", target)
}

// unlock takes out what was added, and no more: who waits may have added something since.
func (s *Sync) unlock(h held) error {
	if h.value == 0 {
		return nil
	}
	_, err := s.words.FetchAdd(h.target, LockWord, -h.value)
	return err
}

// fewRounds is how often LockAll tries to have all locks without waiting for one while it holds another.
const fewRounds = 4

// LockAll takes the locks of all members, shared. Who holds one of them exclusively may wait for another, so that nobody can be waited for without end while any is held:
// all are given back, and taken up again from the one that was not free. Where many want them that may never succeed, and then each is asked for a while, longer every time.
func (s *Sync) LockAll(noCheck bool) error {
	s.engine.Lock()
	defer s.engine.Unlock()
	if noCheck {
		return nil
	}
	base, first := len(s.locks), 0
	for round := 0; ; round++ {
		busy, err := s.most(base, first, max(0, round-fewRounds))
		if err == nil && busy < 0 {
			return nil
		}
		if e := s.back(base); err == nil {
			err = e
		}
		if err != nil {
			return err
		}
		if err := s.slow(busy, sharedOne); err != nil {
			return err
		}
		s.locks = append(s.locks, held{busy, sharedOne})
		first = busy
	}
}

// most takes the locks of all members, beginning with first, which is held already if any is, up to one that is not free; -1: all were. With patience above 0 it asks for a while.
func (s *Sync) most(base, first, patience int) (busy int, err error) {
	n := s.comm.Size()
	for i := len(s.locks) - base; i < n; i++ {
		target := first + i
		if target >= n {
			target -= n
		}
		got, err := s.try(target, sharedOne)
		if err == nil && !got && patience > 0 {
			got, err = s.insist(target, patience)
		}
		if err != nil {
			return -1, err
		}
		if !got {
			return target, nil
		}
		s.locks = append(s.locks, held{target, sharedOne})
	}
	return -1, nil
}

// insist asks for a lock to share as one whose turn it is, for a while.
func (s *Sync) insist(target, patience int) (bool, error) {
	waits := true
	if _, err := s.words.FetchAdd(target, LockWord, waiter); err != nil {
		return false, err
	}
	err := s.ask(target, sharedOne, &waits, true, patience*maxPause)
	if err == nil {
		return true, nil
	}
	if _, e := s.words.FetchAdd(target, LockWord, lessWaiter); e != nil {
		return false, e
	}
	if err == errBusy {
		err = nil
	}
	return false, err
}

// back gives back all locks but the first n.
func (s *Sync) back(n int) (err error) {
	for _, h := range s.locks[n:] {
		if e := s.unlock(h); e != nil && s.comm.Procs[h.target].Failed() == nil {
			err = e
		}
	}
	s.locks = s.locks[:n]
	return err
}

// UnlockAll completes all operations and gives all locks back.
func (s *Sync) UnlockAll() error {
	s.engine.Lock()
	defer s.engine.Unlock()
	err := s.cfg.Flush(allTargets)
	if e := s.back(0); err == nil {
		err = e
	}
	return err
}
