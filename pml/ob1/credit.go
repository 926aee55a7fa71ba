package ob1

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/progress"
)

// Eager credit bounds what messages that have not matched may hold of a rank's memory. Every first frame (MATCH, RNDV, RGET) costs what
// its receiver pays when it must keep it, whether it must or not. The sender takes the cost off its credit at the receiver. The
// receiver gives it back when the message has matched, in a CREDIT frame for many messages at once. Frames carry how much has been granted
// since the beginning, so that one that comes twice or late does no harm:
//
//	CREDIT 16 | type 1 | 3 zero | context that it is meant for first 4, all ones: none | granted 8 |
//	STARVE 24 | type 1 | 3 zero | context 4 | source 4 | 4 zero | granted, as far as the sender knows 8 |
//
// Who cannot pay for an eager message announces it (RNDV without payload, or with as little as costs nothing); who cannot pay for that keeps the message and says once that
// it starves: starve.go is the sender's end, this file and lend.go the receiver's.
//
// Each peer has a window: the cost of what it may have sent and the receiver has not matched. It begins with what any two ranks of a job
// compute alike, is raised to the peer's share of the budget when the peer begins to use it, and is doubled out of the free half of
// the budget for who sends much in a large job. Only need goes beyond the budget: when nothing has come of a starving peer for some passes,
// and a receive or a probe waits on that context that may match what it keeps back, the peer gets a loan, a step at a time. What is
// matched later pays loans back first.
const (
	typeCredit = 14
	typeStarve = 15

	creditSize = 16
	starveSize = 24
)

const (
	keepSize  = 448                      // what a kept message costs besides its payload
	smallCost = keepSize + 1<<payloadMin // the least cost of a first frame: that of an announcement

	unlimited = int64(1) << 50 // a window that is none

	firstAll  = 64 << 10 // the windows of all ranks together begin with this,
	firstMin  = 4 * smallCost
	firstMost = 16 << 10 // and each with no more and no less than these

	wide     = 1 << 20 // windows are not doubled beyond this
	loanMost = 1 << 20 // largest step of a loan
	patience = 8       // passes that a starving peer waits for the ordinary return of credit
)

const anyContext = math.MaxUint32

// costOf is what the first frame of a message costs that carries n bytes: the message and the piece of memory that its payload gets.
func costOf(n int64) int64 {
	if n <= 1<<payloadMin {
		return smallCost
	}
	return keepSize + 1<<bits.Len64(uint64(n-1))
}

// account is what this rank grants to one peer. granted - (all that was matched) = window + loan - due; kept never exceeds it.
type account struct {
	due     int64 // cost of what has matched and was not given back yet
	limit   int64 // due that is given back
	window  int64
	loan    int64 // beyond the window
	step    int64 // of the next loan; doubled while nothing matches
	granted int64 // in all
	kept    int64 // cost of what is kept of the peer
	waits   bool  // in credits.pending
	frame   *ctl  // the newest CREDIT
}

// credits is the machine of one module.
type credits struct {
	o        *module
	source   *progress.Source
	on       bool
	last     bool  // this rank is finalizing: who starves is helped, nobody else
	first    int64 // every window in the beginning
	share    int64 // what every window may be
	free     int64 // of the budget, for windows that grow
	accounts []account
	pending  []int32 // peers whose due is to be given back in the next pass
	starved  []starver
	stats    CreditStats

	creditH creditHandler
	starveH starveHandler
}

// CreditStats are the counters of eager credit, part of Stats.
type CreditStats struct {
	Kept     int64  // cost of the messages that are kept now
	Highest  int64  // and at most so far
	KeptAll  uint64 // and of all that ever were
	Credits  uint64 // CREDIT frames sent
	Loans    uint64 // of those, loans
	Poor     uint64 // messages announced for want of eager credit
	Starved  uint64 // messages kept back for want of any
	Starving uint64 // STARVE frames sent
}

// firstGrant is what each of n ranks may send to each before it has heard of it.
func firstGrant(n int) int64 { return min(max(int64(firstAll/n), firstMin), firstMost) }

// init is called once the module's other fields are set.
func (c *credits) init(o *module) {
	c.o, c.creditH.o, c.starveH.o = o, o, o
	o.env.Dispatch.Handlers[tagOf(typeCredit)] = &c.creditH
	o.env.Dispatch.Handlers[tagOf(typeStarve)] = &c.starveH
	n := int64(len(o.procs))
	c.open(firstGrant(len(o.procs)), o.opt.Unexpected, n)
	o.engine.Lock()
	c.source = o.engine.AddPoller(c)
	c.source.Off()
	o.engine.Unlock()
}

// open sets the windows of n peers, of which one is this rank itself. It owes itself nothing: the memory is the program's own either
// way, and a small message to itself must not depend on how many ranks there are.
func (c *credits) open(first, budget, n int64) {
	c.first = first
	c.share = max(budget/(2*n), first)
	if budget == 0 {
		c.share = unlimited
	}
	c.free = max(budget-n*c.share, 0)
	c.accounts = make([]account, n)
	for i := range c.accounts {
		c.accounts[i] = account{window: first, granted: first, limit: first / 2, step: smallCost}
		if first >= c.share {
			c.accounts[i].limit = first / 4
		}
	}
	if me := c.o.env.Job.Rank(); me < len(c.accounts) {
		c.accounts[me] = account{window: unlimited, granted: unlimited, limit: math.MaxInt64}
	}
}

// grantTo is with which credit this rank begins to send to a rank.
func (c *credits) grantTo(rank int) int64 {
	if rank == c.o.env.Job.Rank() {
		return unlimited
	}
	return c.first
}

// came gives back the cost of a message that has matched without having been kept.
func (o *module) came(peer int, cost int64) {
	f := &o.credit.accounts[peer]
	if f.due += cost; f.due >= f.limit {
		o.credit.pay(peer, anyContext)
	}
}

// keep accounts for a message that must be kept.
func (c *credits) keep(s *message) {
	f := &c.accounts[s.from]
	f.kept += s.cost
	c.stats.KeptAll += uint64(s.cost)
	c.stats.Kept += s.cost
	c.stats.Highest = max(c.stats.Highest, c.stats.Kept)
	if f.window < c.share && f.kept >= f.window/2 && !c.last {
		c.later(s.from)
	}
}

// drop: a kept message has matched, or never will.
func (c *credits) drop(s *message) {
	f := &c.accounts[s.from]
	f.kept -= s.cost
	c.stats.Kept -= s.cost
	if f.due += s.cost; f.due >= f.limit {
		c.later(s.from)
	}
}

// exempt: a kept message is one that comes again, and its cost is given back for the first.
func (c *credits) exempt(s *message) {
	c.accounts[s.from].kept -= s.cost
	c.stats.Kept -= s.cost
	s.cost = 0
}

// pays takes back what exempt did: the first has not come.
func (c *credits) pays(s *message) {
	s.cost = costOf(int64(len(s.payload)))
	c.accounts[s.from].kept += s.cost
	c.stats.Kept += s.cost
}

// Finishing implements pml.Finisher: peers may be gone at any time now, so that nothing is sent that nobody asks for.
func (o *module) Finishing() {
	o.credit.last = true
	for i := range o.credit.accounts {
		o.credit.accounts[i].limit = math.MaxInt64
	}
}

// later has a peer paid where frames may be sent.
func (c *credits) later(peer int) {
	if f := &c.accounts[peer]; !f.waits {
		f.waits = true
		c.pending = append(c.pending, int32(peer))
		c.wake()
	}
}

// payAll pays those who wait for it.
func (c *credits) payAll() int {
	n := 0
	for len(c.pending) > 0 {
		last := len(c.pending) - 1
		peer := int(c.pending[last])
		c.pending = c.pending[:last]
		f := &c.accounts[peer]
		f.waits = false
		if f.due < f.limit && f.window >= c.share {
			continue
		}
		if c.pay(peer, anyContext) {
			n++
		}
	}
	return n
}

// pay grants a peer anew what it is due, and a larger window where it may have one. It reports false when there is nothing to grant.
func (c *credits) pay(peer int, ctx uint32) bool {
	f := &c.accounts[peer]
	if f.due > 0 {
		f.step = smallCost
	}
	back := min(f.loan, f.due)
	f.loan -= back
	grant := f.due - back
	f.due = 0
	switch {
	case f.window < c.share:
		grant += c.share - f.window
		f.window = c.share
	case grant > 0 && f.window < wide && c.free >= f.window:
		c.free -= f.window
		grant += f.window
		f.window *= 2
	}
	if f.limit = f.window / 4; c.last {
		f.limit = math.MaxInt64
	}
	if grant == 0 {
		return false
	}
	f.granted += grant
	c.tell(peer, ctx)
	return true
}

// tell sends a peer what it has been granted.
func (c *credits) tell(peer int, ctx uint32) {
	o, f := c.o, &c.accounts[peer]
	p, err := o.reach(o.procs[peer], peer)
	if err != nil {
		return // it is dead; else the next frame says this, too
	}
	if x := f.frame; x != nil && x.peer == p && x.item.list != nil && x.frag.Tag == tagOf(typeCredit) {
		if ctx == anyContext {
			ctx, _ = parseCredit(x.frag.Header())
		}
		putCredit(&x.frag, ctx, f.granted) // the last one still waits for room
		return
	}
	x := o.newCtl(p)
	f.frame = x
	putCredit(&x.frag, ctx, f.granted)
	c.stats.Credits++
	o.sendCtl(x)
}

func putCredit(f *btl.Frag, ctx uint32, granted int64) {
	le.PutUint64(f.Hdr[0:], typeCredit|uint64(ctx)<<32)
	le.PutUint64(f.Hdr[8:], uint64(granted))
	f.HdrLen, f.Tag = creditSize, tagOf(typeCredit)
}

func parseCredit(b []byte) (ctx uint32, granted int64) {
	return le.Uint32(b[4:]), int64(le.Uint64(b[8:]))
}

func putStarve(f *btl.Frag, ctx, source uint32, granted int64) {
	le.PutUint64(f.Hdr[0:], typeStarve|uint64(ctx)<<32)
	le.PutUint64(f.Hdr[8:], uint64(source))
	le.PutUint64(f.Hdr[16:], uint64(granted))
	f.HdrLen, f.Tag = starveSize, tagOf(typeStarve)
}

func parseStarve(b []byte) (ctx uint32, source int32, granted int64) {
	return le.Uint32(b[4:]), int32(le.Uint32(b[8:])), int64(le.Uint64(b[16:]))
}

// mayHold is how much of this rank's memory a peer may take that keeps to its credit.
func (c *credits) mayHold(peer int) int64 {
	f := &c.accounts[peer]
	if f.window >= unlimited {
		return 0
	}
	return f.window + f.loan
}

// overdrawn gives a peer up that has sent far more than it was granted.
func (o *module) overdrawn(peer int) bool {
	f := &o.credit.accounts[peer]
	if f.kept <= 2*(f.window+f.loan)+wide {
		return false
	}
	o.refuse(peer)
	if p := o.procs[peer]; p.Failed() == nil {
		o.env.Upcalls.EndpointFailed(nil, p, true, fmt.Errorf("rank %d has sent more than it was granted: %d bytes are kept of its messages, its window is %d "+
			"(a share of pml_ob1_unexpected_bytes)", peer, f.kept, f.window+f.loan))
	}
	return true
}
