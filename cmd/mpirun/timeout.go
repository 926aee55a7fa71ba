package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The end of a job whose time is over. Most such jobs hang, so before they are ended the ranks are asked what they are doing.

// becomeAsking is called when the time is over.
func (s *supervisor) becomeAsking(now time.Time) {
	s.failed, s.status = true, exitTimeout
	s.timeoutAt, s.askUntil = time.Time{}, now.Add(askTime)
	for rank := range s.ranks {
		if r := &s.ranks[rank]; r.alive {
			r.asked = s.world.ask(rank)
		}
	}
	s.heard(now)
}

// here takes a rank's answer.
func (s *supervisor) here(rank int, doing string, now time.Time) {
	s.ranks[rank].asked, s.ranks[rank].doing = false, doing
	s.heard(now)
}

// heard ends the job when all answers are in.
func (s *supervisor) heard(now time.Time) {
	if !s.askUntil.IsZero() && !slices.ContainsFunc(s.ranks, func(r rankStatus) bool { return r.alive && r.asked }) {
		s.askUntil = now
		s.tick(now)
	}
}

// sayTimeout says, if the time is over and it has not been said, that it is, and what the ranks are doing.
func (s *supervisor) sayTimeout() {
	if s.askUntil.IsZero() {
		return
	}
	s.askUntil = time.Time{}
	s.print("")
	what := "the job has run for %v (--timeout)"
	if s.alive == 0 {
		s.world.say(what, s.timeout)
		return
	}
	var order []string
	ranks := map[string][]int{}
	for rank, r := range s.ranks {
		doing := r.doing
		switch {
		case !r.alive:
			doing = "has ended"
		case r.asked:
			doing = "does not answer"
		case doing == "" && r.joined:
			doing = "a program of another MPI library, which cannot be asked"
		case doing == "":
			doing = "before Init"
		}
		if ranks[doing] == nil {
			order = append(order, doing)
		}
		ranks[doing] = append(ranks[doing], rank)
	}
	var b strings.Builder // one message, so that nothing comes between
	for _, doing := range order {
		fmt.Fprintf(&b, "\n  %s: %s", s.names(ranks[doing]), doing)
	}
	s.world.say(what+"; ending it (%s)%s", s.timeout, plural(s.alive, "rank"), &b)
}
