package ompi

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/progress"
)

// council is how ranks agree about communicators to be made (agree.go), whichever ranks they are and however many agreements are
// under way: small messages over a communicator of all ranks that programs do not see, sorted on arrival by what they are about.
// It is driven from the progress engine, so an agreement needs nobody to wait for it. Everything is guarded by the engine's token.
//
// Messages are received from one rank at a time, never from any: a receive from a living rank goes on when another has died.
type council struct {
	i      *Instance
	comm   *core.Comm // of all ranks; its user space, where a death ends only what concerns the dead
	source *progress.Source
	from   map[int]*listener // by job rank
	ready  []*listener       // a message has come, or the listener failed
	mail   map[sender][]councilMsg
	talks  []talk
	stir   bool // something has happened since the talks last went on
	dead   int  // deaths the talks know of
	died   int  // deaths there were
	tag    int  // of the last message beside those of the council
	closed bool // nothing begins any more

	after sync.WaitGroup // goroutines that make communicators of agreements that are over
}

// sender is one rank in one matter; its messages come in order.
type sender struct {
	about matter
	rank  int // in the job
}

// talk is an exchange under way.
type talk interface {
	// advance goes as far as it can and reports whether that was the end.
	advance() bool
	// members are the job ranks without which it cannot end.
	members() []int
	// fail ends it.
	fail(err *core.Error)
}

// The context numbers that every instance has taken, and the tag of council messages. Other tags are for what does not fit those.
const (
	contextWorld = iota
	contextSelf
	contextCouncil
	contextsTaken

	tagCouncil = 0
)

// listener receives council messages of one rank, while there are talks.
type listener struct {
	c    *council
	rank int           // in the job
	r    *core.Request // persistent
	on   bool          // started, and what came not yet taken
	buf  [councilSize]byte
}

// RequestDone implements core.Hook.
func (l *listener) RequestDone(*core.Request) {
	if l.on {
		l.c.ready = append(l.c.ready, l)
		l.c.RequestDone(nil)
	}
}

// start listens, but to the dead.
func (l *listener) start() {
	if !l.on && l.c.i.procs[l.rank].Failed() == nil {
		l.on = true
		_ = l.r.Owner.Start(l.r) // never fails for a receive
	}
}

// speaker sends council messages to one rank, one at a time.
type speaker struct {
	r    *core.Request // persistent
	used bool
	buf  [councilSize]byte
}

func (i *Instance) openCouncil() error {
	all := i.world.c.Group()
	c := &council{i: i, comm: core.NewComm(i.engine, contextCouncil, all, i.procs, "the council"), from: make(map[int]*listener), mail: make(map[sender][]councilMsg)}
	if err := i.pml.AddComm(c.comm); err != nil {
		return err
	}
	i.engine.Lock()
	defer i.engine.Unlock()
	c.source = i.engine.AddPoller(c)
	c.source.Off()
	i.council = c // deaths may be told of already
	return nil
}

func councilBuffer(b *[councilSize]byte) core.Buffer {
	return core.MakeBuffer(unsafe.Pointer(b), councilSize, datatype.Byte)
}

// listen makes a listener for each of the ranks that has none. The token is not held.
func (c *council) listen(ranks []int) {
	for _, rank := range ranks {
		c.i.engine.Lock()
		_, have := c.from[rank]
		c.i.engine.Unlock()
		if have {
			continue
		}
		l := &listener{c: c, rank: rank}
		l.r = c.i.pml.RecvInit(&c.comm.P2P, councilBuffer(&l.buf), rank, tagCouncil)
		l.r.Hook = l
		c.i.engine.Lock()
		if _, have := c.from[rank]; have { // another goroutine was faster
			l.r.Handle().Abandon()
		} else {
			c.from[rank] = l
		}
		c.i.engine.Unlock()
	}
}

// speaker makes a speaker to a rank. The token is not held.
func (c *council) speaker(rank int) *speaker {
	s := new(speaker)
	s.r = c.i.pml.SendInit(&c.comm.P2P, councilBuffer(&s.buf), rank, tagCouncil, pml.Standard)
	s.r.Hook = c
	return s
}

// say sends m, or reports false when the last one has not left yet.
func (s *speaker) say(m *councilMsg) bool {
	if s.used && !s.r.Done() {
		return false
	}
	s.used = true
	m.put(&s.buf)
	_ = s.r.Owner.Start(s.r) // what goes wrong is told by the death of the rank
	return true
}

// close gives the request back once the last message has left.
func (s *speaker) close() { s.r.Handle().Abandon() }

// RequestDone implements core.Hook: there is something to do in the next pass. A driver that sleeps must see to it, should another
// goroutine have held the token.
func (c *council) RequestDone(*core.Request) {
	c.stir = true
	c.i.engine.Wake()
}

// begin takes up a talk, whose listeners are there. The token is not held.
func (c *council) begin(t talk) {
	e := c.i.engine
	e.Lock()
	defer e.Unlock()
	if err := c.hopeless(t.members()); err != nil {
		t.fail(err)
		return
	}
	c.talks = append(c.talks, t)
	c.source.On()
	for _, l := range c.from {
		l.start()
	}
	c.stir = true
	c.Poll()
}

// hopeless is why a talk of these ranks cannot end well.
func (c *council) hopeless(ranks []int) *core.Error {
	if err := c.i.fatal.Load(); err != nil {
		return err
	}
	if c.closed {
		return core.NewError(ErrOther, "Finalize was called before it was complete")
	}
	for _, r := range ranks {
		if p := c.i.procs[r]; p.Failed() != nil {
			err := *p.Failed()
			err.Peer = r
			return &err
		}
	}
	return nil
}

// Poll implements progress.Poller.
func (c *council) Poll() int {
	n := 0
	for c.stir || c.dead != c.died {
		c.stir = false
		n++
		c.receive()
		if c.dead != c.died || c.i.fatal.Load() != nil {
			c.dead = c.died
			c.talks = slices.DeleteFunc(c.talks, func(t talk) bool {
				err := c.hopeless(t.members())
				if err != nil {
					t.fail(err)
				}
				return err != nil
			})
		}
		c.talks = slices.DeleteFunc(c.talks, talk.advance)
	}
	if len(c.talks) == 0 {
		c.rest()
	}
	return n
}

// receive sorts what has come.
func (c *council) receive() {
	for i := 0; i < len(c.ready); i++ { // a listener that starts again may be ready at once
		l := c.ready[i]
		l.on = false
		st := l.r.Status
		if st.Err != nil && (c.i.fatal.Load() != nil || c.i.procs[l.rank].Failed() != nil) {
			continue // Poll looks for that itself
		}
		if m, ok := parseCouncil(&l.buf, st.Bytes()); ok && st.Err == nil {
			s := sender{m.about, l.rank}
			c.mail[s] = append(c.mail[s], m)
		}
		l.start()
	}
	clear(c.ready)
	c.ready = c.ready[:0]
}

// rest stops listening until the next talk; what comes meanwhile waits in the PML.
func (c *council) rest() {
	c.source.Off()
	for _, l := range c.from {
		if l.on && !l.r.Done() {
			l.on = false
			_ = l.r.Owner.Cancel(l.r)
			l.on = !l.r.Done() // it has matched a message whose bytes are still on their way: the next talk finds that in ready
		}
	}
}

// next takes the next message of a rank about a matter.
func (c *council) next(about matter, rank int) (councilMsg, bool) {
	s := sender{about, rank}
	box := c.mail[s]
	if len(box) == 0 {
		return councilMsg{}, false
	}
	if len(box) == 1 {
		delete(c.mail, s)
	} else {
		c.mail[s] = box[1:]
	}
	return box[0], true
}

// freshTag is for a message that goes beside the council's.
func (c *council) freshTag() int {
	if c.tag++; c.tag <= tagCouncil || c.tag > c.i.pml.MaxTag() {
		c.tag = tagCouncil + 1
	}
	return c.tag
}

// close ends what is under way, such as Idups that the program has not waited for, and returns when nothing uses what is to be closed
// next. The token is not held.
func (c *council) close() {
	c.i.engine.Lock()
	c.closed = true
	for _, t := range c.talks {
		t.fail(c.hopeless(nil))
	}
	c.talks = nil
	c.rest()
	c.i.engine.Unlock()
	c.after.Wait()
}

// cancelled tells the council of the end. The token is held.
func (c *council) cancelled(err *core.Error) {
	c.comm.SetFault(&core.Fault{Err: err, Fatal: true})
	c.i.pml.CommFailed(c.comm)
	c.stir = true
	c.Poll()
}
