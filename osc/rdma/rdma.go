// Package rdma is the one-sided component over BTLs. What an operation becomes depends on the ways to its target (target.go), and is decided when the target is
// first used:
//
//   - memory that is mapped here (btl.Mapper: AllocMem's on one host, any between goroutine ranks) is copied, and accumulated into by osc/elem;
//   - a BTL that reads and writes the target's registered memory carries puts and gets (moves.go), and where its atomics are coherent, single words (amo.go);
//   - everything else goes by active messages of the BTLs, under a tag of their own (wire.go), which the target carries out by osc/am: puts and gets where
//     memory could not be registered, accumulates of more than a word, everything in dynamic windows.
//
// The three can be mixed freely, which is why nothing needs to be agreed on: all change elements of 4 and 8 bytes by the processor's atomic operations, and what
// has none under the locks of the target's control block (elem.Locks), which who maps the memory maps, too.
//
// Each member has a control block, in memory that peers can map: the words of osc/words and those locks. It is reached like the window's memory.
//
// Members tell each other by one Allgather, at creation, what they have registered: cardSize bytes a member, kept as they came. Everything else
// is made when a target is first used.
//
// The package registers itself; nothing but that import is for others to use.
package rdma

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/progress"
)

func init() { mca.Register(component{}) }

// Options are the component's parameters.
type Options struct {
	Priority int    `mca:"priority" default:"50" min:"0" max:"1000" level:"4" help:"priority of the component; 0: never"`
	Lock     string `mca:"lock" default:"polling" enum:"polling|mcs" level:"4" help:"how a lock is waited for: by asking again, or in a queue (Mellor-Crummey and Scott)"`
	Map      bool   `mca:"map" default:"true" level:"5" help:"copy from and to memory of targets that is mapped here, instead of asking a BTL"`
	Atomics  bool   `mca:"atomics" default:"true" level:"5" help:"let BTLs that can do so change single words of targets, instead of sending messages"`
	MinPiece int64  `mca:"min_piece" default:"512" min:"1" max:"1g" level:"6" unit:"bytes" help:"data with gaps whose pieces are smaller goes packed, by messages, where memory is not mapped"`
	Message  int64  `mca:"message_size" default:"32k" min:"256" max:"1m" level:"6" unit:"bytes" help:"largest payload of an active message; the BTL's limit may be lower"`
	Depth    int    `mca:"depth" default:"32" min:"1" max:"1k" level:"6" help:"active messages to one target that wait for their answers"`
}

type component struct{}

func (component) Framework() string { return "osc" }
func (component) Name() string      { return "rdma" }
func (component) Options() any      { return new(Options) }

// Open implements osc.Component.
func (component) Open(env *osc.Env) (osc.Factory, error) {
	if env.BML == nil || env.Btl == nil || env.Btl.Dispatch == nil {
		return nil, fmt.Errorf("osc rdma: %w: no BTLs are open", osc.ErrUnavailable)
	}
	f := &factory{env: env, engine: env.Btl.Engine}
	if err := env.Params.Decode("osc", "rdma", &f.opts); err != nil {
		return nil, err
	}
	env.Btl.Dispatch.Handlers[tagRequest] = (*requestHandler)(f)
	env.Btl.Dispatch.Handlers[tagAnswer] = (*answerHandler)(f)
	f.engine.Lock()
	f.queue.source = f.engine.AddPoller(&f.queue)
	f.queue.source.Off()
	f.queue.engine = f.engine
	f.engine.Unlock()
	return f, nil
}

// factory is an instance's. Everything is guarded by the engine's token.
type factory struct {
	env     *osc.Env
	engine  *progress.Engine
	opts    Options
	windows []*module // by the index that peers name; nil: free
	ages    []uint32  // of the windows that an index has had
	queue   outQueue
	calls   callPool
	answers *parcel // free ones
	strange uint64  // messages that made no sense
	listed  []byte  // the command that is carried out, if it lists runs
}

// Query implements osc.Factory. All members have the same parameters, and are asked about what they have in common.
func (f *factory) Query(w *osc.Win) (int, error) {
	switch {
	case f.opts.Priority == 0:
		return 0, errors.New("osc_rdma_priority is 0")
	case w.Flavor == osc.Shared:
		return 0, errors.New("it makes no memory for load and store by all members")
	case f.env.Btl.Mixed:
		return 0, errors.New("ranks are of different architectures, and memory is read and written as it is")
	}
	return f.opts.Priority, nil
}

// Enable implements osc.Factory.
func (f *factory) Enable(w *osc.Win) (osc.Module, error) {
	m := newModule(f, w)
	cards, err := m.introduce(m.acquire())
	if err == nil {
		err = m.meet(cards)
	}
	if err != nil {
		if w.Flavor == osc.Allocate && w.Memory != nil {
			err = errors.Join(err, w.Memory.Unref())
			w.Memory = nil
		}
		return nil, errors.Join(err, m.release())
	}
	return m, nil
}

// enter gives a window its index.
func (f *factory) enter(m *module) {
	i := slices.Index(f.windows, nil)
	if i < 0 {
		i = len(f.windows)
		f.windows, f.ages = append(f.windows, nil), append(f.ages, 0)
	}
	f.ages[i]++
	f.windows[i] = m
	m.index, m.age = uint32(i), f.ages[i]
}

func (f *factory) leave(m *module) {
	if int(m.index) < len(f.windows) && f.windows[m.index] == m {
		f.windows[m.index] = nil
	}
}

// find gives the window that a peer names, nil when there is none (any more).
func (f *factory) find(index, age uint32) *module {
	if int(index) >= len(f.windows) || f.windows[index] == nil || f.windows[index].age != age {
		return nil
	}
	return f.windows[index]
}

// CommFailed implements osc.FaultListener.
func (f *factory) CommFailed(c *core.Comm) {
	for _, m := range f.windows {
		if m != nil && m.w.Comm == c {
			m.failed()
		}
	}
}

// Close implements osc.Factory.
func (f *factory) Close() error {
	f.engine.RemovePoller(&f.queue)
	f.env.Btl.Dispatch.Handlers[tagRequest] = nil
	f.env.Btl.Dispatch.Handlers[tagAnswer] = nil
	return nil
}

var (
	_ osc.Component     = component{}
	_ osc.FaultListener = (*factory)(nil)
	_ btl.Handler       = (*requestHandler)(nil)
)
