package ompi

import (
	"errors"
	"math"
	"slices"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
)

// contextSet is the context numbers in use at this rank, and those that an agreement under way has its hand on.
type contextSet struct {
	used  map[uint32]bool
	first uint32 // all below are in use
}

func (s *contextSet) take(k uint32) bool {
	if s.used == nil {
		s.used = make(map[uint32]bool)
	}
	if s.used[k] {
		return false
	}
	s.used[k] = true
	for s.used[s.first] {
		s.first++
	}
	return true
}

func (s *contextSet) give(k uint32) {
	delete(s.used, k)
	s.first = min(s.first, k)
}

// free is the lowest number from k on that is not in use.
func (s *contextSet) free(k uint32) uint32 {
	for k = max(k, s.first); s.used[k]; k++ {
	}
	return k
}

// giveContexts makes context numbers free again at this rank.
func (i *Instance) giveContexts(ks ...uint32) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, k := range ks {
		i.contexts.give(k)
	}
}

// agreement finds context numbers that are free at all of some ranks, which form a binomial tree. In each round the ranks vote: is
// their hand on the number that is tried, and which number would be the next free one? The root knows from that whether the number
// is found, or what to try next: the largest of those named, which may be free everywhere. No lock is held while ranks talk, so
// agreements of other ranks go on meanwhile; one that takes the number first costs a round.
//
// It is a talk of the council. The root is ranks[0].
type agreement struct {
	progress.Completion
	c     *council
	about matter
	ranks []int // of the job
	need  int   // numbers to find

	parent   int // in the job; -1: this is the root
	children []int
	up       *speaker
	down     []*speaker

	step   agreeStep
	place  int // children heard, or told
	vote   councilMsg
	say    councilMsg // what the root has said
	tried  int64      // the number that this round is about, -1: none
	have   bool       // it is ours
	from   uint32     // numbers below are not to be tried next
	rounds int
	laps   int // how often the root has begun again from the lowest number

	// The outcome, when done. got are held by this rank until then, too.
	veto bool
	got  []uint32
	err  error
	then func() // called on a goroutine of its own when it is over; nil: somebody waits
}

type agreeStep uint8

const (
	agreeVoting  agreeStep = iota // hears the children
	agreeWaiting                  // for the parent's word
	agreeTelling                  // the children
)

// maxLaps bounds how often a search may come to the last number and begin again: others may be letting numbers go.
const maxLaps = 8

// startAgreement begins to find need context numbers that are free at all ranks, given in the same order by all. With veto, this
// rank cannot go on, and nobody gets a number.
func (i *Instance) startAgreement(about matter, ranks []int, need int, veto bool, then func(*agreement)) *agreement {
	c := i.council
	a := &agreement{c: c, about: about, ranks: ranks, need: need, veto: veto, parent: -1, tried: -1}
	if then != nil {
		a.then = func() { then(a) }
	}
	me := slices.Index(ranks, i.job.Rank())
	if me > 0 {
		a.parent = ranks[me&(me-1)]
		a.up = c.speaker(a.parent)
	}
	for bit := 1; me+bit < len(ranks) && me&bit == 0; bit <<= 1 {
		a.children = append(a.children, ranks[me+bit])
		a.down = append(a.down, c.speaker(ranks[me+bit]))
	}
	c.listen(a.children)
	if a.parent >= 0 {
		c.listen([]int{a.parent})
	}
	a.becomeVoting()
	c.begin(a)
	return a
}

// agree finds one or more context numbers; see startAgreement.
func (i *Instance) agree(about matter, ranks []int, need int, veto bool) ([]uint32, error) {
	a := i.startAgreement(about, ranks, need, veto, nil)
	i.engine.Wait(a)
	return a.got, a.err
}

// members implements talk.
func (a *agreement) members() []int { return a.ranks }

// becomeVoting begins a round with this rank's own vote.
func (a *agreement) becomeVoting() {
	a.step, a.place = agreeVoting, 0
	a.vote = councilMsg{saying: sayVote, about: a.about}
	i := a.c.i
	i.mu.Lock()
	a.vote.want = uint64(i.contexts.free(a.from))
	i.mu.Unlock()
	if a.have {
		a.vote.flags |= flagHave
	}
	if a.veto {
		a.vote.flags |= flagVeto
	}
}

// advance implements talk.
func (a *agreement) advance() bool {
	for {
		switch a.step {
		case agreeVoting:
			for ; a.place < len(a.children); a.place++ {
				m, ok := a.c.next(a.about, a.children[a.place])
				if !ok {
					return false
				}
				a.vote.want = max(a.vote.want, m.want)
				a.vote.flags = a.vote.flags&m.flags&flagHave | (a.vote.flags|m.flags)&flagVeto
			}
			if a.parent < 0 {
				a.decide()
				a.become(agreeTelling)
			} else if a.up.say(&a.vote) {
				a.become(agreeWaiting)
			} else {
				return false
			}
		case agreeWaiting:
			m, ok := a.c.next(a.about, a.parent)
			if !ok {
				return false
			}
			a.say = m
			a.become(agreeTelling)
		case agreeTelling:
			for ; a.place < len(a.children); a.place++ {
				if !a.down[a.place].say(&a.say) {
					return false
				}
			}
			if a.obey() {
				return true
			}
			a.becomeVoting()
		}
	}
}

func (a *agreement) become(s agreeStep) { a.step, a.place = s, 0 }

// decide is the root's part of a round.
func (a *agreement) decide() {
	a.say = councilMsg{saying: sayTry, about: a.about}
	found := a.tried >= 0 && a.vote.flags&flagHave != 0
	last := uint64(a.c.i.pml.MaxContext()-1) / 2
	switch {
	case a.vote.flags&flagVeto != 0:
		a.say.saying, a.say.flags = sayFail, flagVeto
		return
	case found && len(a.got)+1 == a.need:
		a.say.saying = sayDone
		return
	case found:
		a.say.flags = flagHave
	}
	a.rounds++
	if a.vote.want > last {
		if a.laps++; a.laps > maxLaps {
			a.say.saying = sayFail
			return
		}
		a.say.number, a.say.want = math.MaxUint32, 0 // try none, and vote again from the lowest number on
		return
	}
	a.say.number = uint32(a.vote.want)
	a.say.want = a.vote.want + 1 + a.scatter()
}

// scatter keeps agreements that took a number from each other from doing so for ever.
func (a *agreement) scatter() uint64 {
	if a.rounds < 3 {
		return 0
	}
	h := (a.about.a ^ a.about.b*0x9e3779b97f4a7c15 ^ a.about.c ^ uint64(a.rounds)<<32) * 0xbf58476d1ce4e5b9
	return h >> 32 % (1 << min(a.rounds-2, 6))
}

// obey does what the root has said, and reports whether that was the end.
func (a *agreement) obey() bool {
	i := a.c.i
	switch {
	case a.say.saying == sayDone && a.have:
		a.keep()
		a.end(nil)
		return true
	case a.say.saying == sayTry:
		if a.say.flags&flagHave != 0 && a.have {
			a.keep()
		}
		a.letGo()
		a.from = uint32(min(a.say.want, math.MaxUint32))
		if a.say.number != math.MaxUint32 {
			a.tried = int64(a.say.number)
			i.mu.Lock()
			a.have = i.contexts.take(a.say.number)
			i.mu.Unlock()
		}
		return false
	}
	var err error = core.NewError(ErrOther, "all %d contexts of pml %s are in use; free communicators", (i.pml.MaxContext()+1)/2, i.pml.Name())
	if a.say.flags&flagVeto != 0 {
		err = errRefused()
	}
	a.end(err)
	return true
}

func (a *agreement) keep() {
	a.got = append(a.got, uint32(a.tried))
	a.have, a.tried = false, -1
}

// letGo takes the hand off the number that was tried.
func (a *agreement) letGo() {
	if a.have {
		a.c.i.giveContexts(uint32(a.tried))
	}
	a.have, a.tried = false, -1
}

// fail implements talk.
func (a *agreement) fail(err *core.Error) { a.end(err) }

func (a *agreement) end(err error) {
	if err != nil {
		a.letGo()
		a.c.i.giveContexts(a.got...)
		a.got = nil
	}
	a.err = err
	if a.up != nil {
		a.up.close()
	}
	for _, s := range a.down {
		s.close()
	}
	a.c.i.engine.Complete(&a.Completion)
	if a.then != nil {
		a.c.after.Go(a.then) // not here: it takes the token
	}
}

// peerIn makes the job rank that an agreement's error names a rank of c.
func (c *Comm) peerIn(err error) error {
	var e *core.Error
	if !errors.As(err, &e) || e != err || e.Peer < 0 || e.Peer >= len(c.inst.procs) || e.Class != ErrProcFailed {
		return err
	}
	return c.c.DeathOf(c.inst.procs[e.Peer])
}
