package portals4

import (
	"errors"
	"fmt"
	"os"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/internal/invariants"
	"github.com/ompi-go/ompi-go/portals4/nal"
	"github.com/ompi-go/ompi-go/progress"
)

// Interface is what one process has of the network (PtlInit, and the physical interface behind PtlNIInit). Everything in it is guarded by the token
// of its engine.
type Interface struct {
	env    *btl.Env
	engine *progress.Engine
	held   bool // callers hold the token
	own    func() error
	nals   *nal.Set
	rank   int
	uid    uint32
	closed bool
	source *progress.Source

	nis   [4]*NI
	nodes []uint32 // by job rank: the NIDs
	links []*link  // by job rank; nil until used
	open  []*link  // those that are not nil

	ops      opTable
	arrivals arrivalTable
	now      arrival // of a message that is through at once
	scratch  [scratchSize]byte
	old      []byte // values before a fetching operation

	acking []*link // with acknowledgements to send
	busy   []*link // with messages that found no room
	outs   *out    // free ones
	spare  *flow   // likewise

	fired    []*triggered // to begin
	firing   bool
	trigs    []*triggered // free ones
	orders   uint64
	notify   []*EQ // whose listeners are to hear
	reached  []*CT
	telling  bool
	inside   int       // calls of the NALs that are under way: what ends in them is told behind
	idle     []*waiter // free ones
	robin    uint32
	onFail   []func(p *core.Proc, cause error)
	failures []failure // to tell, not from inside a call
	counts   counts
	opt      nal.Options
	every    []*NI // all that ever were, for invariants
}

type failure struct {
	p     *core.Proc
	cause error
}

// scratchSize is the largest message that is put together before it is sent.
const scratchSize = 512

type key struct{}

// Of gives the interface of an instance, opened at the first call; the instance closes it. All ranks of the job call it at the same point: while
// BTLs are opened, or later, when the job is fenced. The token is not held.
func Of(env *btl.Env) (*Interface, error) {
	s, err := env.Services.Get(key{}, func() (btl.Service, error) {
		i := newInterface(env)
		i.held = true
		if err := i.start(); err != nil {
			return nil, err
		}
		return service{i}, nil
	})
	if err != nil {
		return nil, err
	}
	return s.(service).i, nil
}

func newInterface(env *btl.Env) *Interface {
	n := env.Job.Size()
	i := &Interface{env: env, engine: env.Engine, rank: env.Job.Rank(), uid: uint32(os.Getuid()), links: make([]*link, n), nodes: make([]uint32, n)}
	for r := range i.nodes {
		i.nodes[r] = uint32(env.Job.Node(r))
	}
	return i
}

// start opens the NALs.
func (i *Interface) start() error {
	if err := i.env.Params.Decode("portals4", "", &i.opt); err != nil {
		return err
	}
	set, err := nal.Open(i.env, (*listener)(i))
	if err != nil {
		return fmt.Errorf("portals4: %w", err)
	}
	i.nals = set
	set.Dispatch.Handlers[tagHello] = (*helloHandler)(i)
	set.Dispatch.Handlers[tagRequest] = (*requestHandler)(i)
	set.Dispatch.Handlers[tagResponse] = (*responseHandler)(i)
	set.Dispatch.Handlers[tagAcks] = (*acksHandler)(i)
	set.Dispatch.Handlers[tagCTS] = (*ctsHandler)(i)
	set.Dispatch.Handlers[tagBody] = (*bodyHandler)(i)
	set.Dispatch.Handlers[tagReply] = (*replyHandler)(i)
	set.Dispatch.Handlers[tagFin] = (*finHandler)(i)
	if i.opt.Bypass {
		i.env.Bypass = true
	}
	i.engine.Lock()
	i.source = i.engine.AddPoller(i)
	i.engine.Unlock()
	if i.env.Fenced && i.env.Job.Size() > 1 {
		return i.env.Job.Fence()
	}
	return nil
}

// enter takes the token, unless callers hold it, and checks that the interface is there.
func (ni *NI) enter(op string) (*Interface, error) {
	if ni == nil {
		return nil, fail(op, ErrNoInit, "no network interface")
	}
	i := ni.i
	if !i.held {
		i.engine.Lock()
	}
	if ni.refs == 0 {
		if !i.held {
			i.engine.Unlock()
		}
		return nil, fail(op, ErrNoInit, "the network interface was closed")
	}
	return i, nil
}

// leave begins what the call has triggered, and gives the token back.
func (i *Interface) leave() {
	if len(i.fired) > 0 {
		i.fire()
	}
	if len(i.notify)+len(i.reached)+len(i.failures) > 0 {
		i.engine.Wake() // a driver that sleeps is to tell them
	}
	if !i.held {
		i.engine.Unlock()
	}
}

// fire begins triggered operations until none is left. They may trigger others: those are begun by the outermost.
func (i *Interface) fire() {
	if i.firing {
		return
	}
	i.firing = true
	for k := 0; k < len(i.fired); k++ {
		t := i.fired[k]
		i.fired[k] = nil
		i.begin(t)
		if k == len(i.fired)-1 || k >= 1024 {
			n := copy(i.fired, i.fired[k+1:])
			i.fired, k = i.fired[:n], -1
		}
	}
	i.firing = false
}

// settle ends the handling of a message: what it triggered begins, and listeners hear. Not inside a call of a NAL, which is one of who has yet to
// go on with its own state, or with i.now: who has called that settles, or the next pass.
func (i *Interface) settle() {
	if i.inside > 0 {
		return
	}
	if len(i.fired) > 0 {
		i.fire()
	}
	if len(i.notify)+len(i.reached)+len(i.failures) > 0 && !i.telling {
		i.tell()
	}
}

// tell calls listeners. What they begin here may give others something to hear.
func (i *Interface) tell() {
	i.telling = true
	for len(i.notify)+len(i.reached)+len(i.failures) > 0 {
		for k := 0; k < len(i.notify); k++ {
			q := i.notify[k]
			q.told = false
			if !q.freed && q.listener != nil {
				q.listener.Events(q)
			}
		}
		i.notify = i.notify[:0]
		for k := 0; k < len(i.reached); k++ {
			c := i.reached[k]
			c.told = false
			if c.reach != nil && c.sum() >= c.test {
				f := c.reach
				c.reach = nil
				f.Reached(c)
			}
		}
		i.reached = i.reached[:0]
		for k := 0; k < len(i.failures); k++ {
			for _, f := range i.onFail {
				f(i.failures[k].p, i.failures[k].cause)
			}
		}
		i.failures = i.failures[:0]
		if len(i.fired) > 0 {
			i.fire()
		}
	}
	i.telling = false
}

// pass moves the engine on, for a caller that looks for something.
func (i *Interface) pass() {
	if !i.engine.Driven() {
		i.engine.Poll()
	}
}

// Poll implements progress.Poller: what has waited for room, acknowledgements, listeners.
func (i *Interface) Poll() int {
	n := 0
	if len(i.busy) > 0 {
		n += i.push()
	}
	if len(i.acking) > 0 {
		n += i.flushAcks()
	}
	if len(i.notify)+len(i.reached)+len(i.failures)+len(i.fired) > 0 {
		n++
		i.settle()
	}
	return n
}

// OnFailure has f called, with the token held, when a process cannot be reached any more, after its operations have ended with Undeliverable.
func (i *Interface) OnFailure(f func(p *core.Proc, cause error)) {
	if !i.held {
		i.engine.Lock()
		defer i.engine.Unlock()
	}
	i.onFail = append(i.onFail, f)
}

// Quiet reports whether nothing is under way that peers wait for: what was asked for is answered, what was put is out. The token is held.
func (i *Interface) Quiet() bool {
	for _, l := range i.open {
		if l.dead == nil && (l.head != nil || l.nacks > 0 || l.flows != nil || l.sending > 0) {
			return false
		}
	}
	return i.arrivals.used == 0 && i.ops.used == 0
}

// Close is PtlFini, for who has the interface from Open: the end of all that was made with it. Collective.
func (i *Interface) Close() error {
	i.engine.Lock()
	own := i.own
	i.own = nil
	i.engine.Unlock()
	if own == nil {
		return fail("PtlFini", ErrArgInvalid, "the interface belongs to an instance, which closes it")
	}
	return own()
}

// shut ends everything. The token is held.
func (i *Interface) shut() error {
	if i.closed {
		return nil
	}
	i.closed = true
	for _, ni := range i.nis {
		if ni != nil && ni.refs > 0 {
			ni.end()
		}
	}
	for _, l := range i.open {
		if l.dead == nil {
			i.drop(l, errClosed)
		}
	}
	i.engine.RemovePoller(i)
	i.engine.Busy(-int32(len(i.busy) + len(i.acking)))
	err := i.nals.Close()
	for _, o := range i.ops.all { // what the NALs had
		if o.live {
			i.undelivered(o)
		}
	}
	for _, a := range i.arrivals.all {
		if a.live {
			i.ended(a, Undeliverable)
		}
	}
	if invariants.On {
		i.balance()
	}
	return err
}

var errClosed = errors.New("the interface was closed")

// service is an instance's interface as the instance sees it.
type service struct{ i *Interface }

func (s service) Quiet() bool  { return s.i.Quiet() }
func (s service) Flush() bool  { return s.i.nals.Flush() }
func (s service) Close() error { return s.i.shut() }

func fail(op string, c Code, format string, args ...any) *Error {
	return &Error{Op: op, Code: c, Why: fmt.Sprintf(format, args...)}
}

func bad(op, format string, args ...any) *Error { return fail(op, ErrArgInvalid, format, args...) }
