package words

import "sync/atomic"

// Post sets the poster's bit at all origins of its group; start waits for the bits of its targets and clears them; complete counts at the targets, and wait waits for
// as many as posted to. A target cannot post to an origin again before that has completed, so a bit is never set twice; and no origin can complete twice for one post, so
// that counts of different epochs never mix. What is taken out is what was waited for, and no more: somebody may be early for the next epoch.

func bitOf(rank int) (word int, bit uint64) { return PostWords + rank/64, 1 << (rank % 64) }

// Start begins an access epoch to the members of group, which stays the caller's to keep unchanged until Complete, and returns when all of them have posted. noCheck: they
// have, and have said so by the same assertion.
func (s *Sync) Start(group []int, noCheck bool) error {
	s.started = group
	if noCheck {
		return nil
	}
	s.wait((*startCond)(s), len(group)+1)
	for _, r := range group {
		w, bit := bitOf(r)
		if own := s.words.Own(w); atomic.LoadUint64(own)&bit != 0 {
			atomic.AddUint64(own, -bit)
			continue
		}
		if err := s.deathAmong(group); err != nil {
			s.started = nil
			return err
		}
	}
	return nil
}

// Complete completes all operations of the access epoch and tells its targets.
func (s *Sync) Complete() error {
	s.engine.Lock()
	defer s.engine.Unlock()
	err := s.cfg.Flush(allTargets)
	for _, r := range s.started {
		if _, e := s.words.FetchAdd(r, CompleteWord, 1); err == nil {
			err = e
		}
	}
	s.started = nil
	return err
}

// Post begins an exposure epoch for the members of group, which stays the caller's to keep unchanged until Wait. noCheck: they will not wait for it.
func (s *Sync) Post(group []int, noCheck bool) error {
	s.posted = group
	if noCheck {
		return nil
	}
	s.engine.Lock()
	defer s.engine.Unlock()
	w, bit := bitOf(s.comm.MyRank)
	var err error
	for _, r := range group {
		if _, e := s.words.FetchAdd(r, w, bit); err == nil {
			err = e
		}
	}
	return err
}

// Wait returns when all members that were posted to have completed.
func (s *Sync) Wait() error {
	s.wait((*waitCond)(s), len(s.posted)+1)
	return s.endExposure()
}

// Test is Wait that does not wait: it tells whether the epoch has ended.
func (s *Sync) Test() (bool, error) {
	if !(*waitCond)(s).Done() {
		s.engine.Lock()
		s.engine.TryPoll()
		s.engine.Unlock()
		if !(*waitCond)(s).Done() {
			s.engine.Yield()
			return false, nil
		}
	}
	err := s.endExposure()
	return err == nil, err
}

// endExposure ends the exposure epoch, which all have completed, or one never will.
func (s *Sync) endExposure() error {
	own, n := s.words.Own(CompleteWord), uint64(len(s.posted))
	group := s.posted
	s.posted = nil
	if atomic.LoadUint64(own) >= n {
		atomic.AddUint64(own, -n)
		return nil
	}
	return s.deathAmong(group)
}

// Conditions for the engine. They end, too, when somebody has died who is waited for, or may have.
type (
	startCond Sync // all have posted
	waitCond  Sync // all have completed
)

// Done implements progress.Cond.
func (c *startCond) Done() bool {
	for _, r := range c.started {
		if w, bit := bitOf(r); atomic.LoadUint64(c.words.Own(w))&bit == 0 {
			return c.comm.Fault() != nil && (*Sync)(c).deathAmong(c.started) != nil
		}
	}
	return true
}

// Done implements progress.Cond.
func (c *waitCond) Done() bool {
	if atomic.LoadUint64(c.words.Own(CompleteWord)) >= uint64(len(c.posted)) {
		return true
	}
	return c.comm.Fault() != nil && (*Sync)(c).deathAmong(c.posted) != nil
}
