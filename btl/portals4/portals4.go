// Package portals4 is the BTL over the Portals 4 interface (package portals4 of the floor below). It is open only when the parameter btl
// names it: others would open an interface for nothing.
//
// An active message is one put to a portal table entry of the receiver, into one of several blocks of memory that take whatever comes, one
// message behind the other (PTL_ME_MANAGE_LOCAL). Its tag and up to 24 bytes of header travel in match bits, header data and remote
// offset, which the blocks do not look at (wire.go), so that payload goes from the sender's memory into the block, and the handler looks at
// it there. A block that is full unlinks itself, and is linked again when all that is in it was delivered (blocks.go).
//
// Nothing is acknowledged, since the interface loses nothing that finds memory and an event. That both are there is assured by credit: a
// receiver grants each sender that asks for it as many bytes and messages as it has provided for, and gives back what was delivered
// (credit.go). So a sender that is ahead hears btl.ErrAgain and not of messages that were dropped, and a flood costs its receiver no
// more than was promised. The entry has flow control as well: should it ever strike, somebody has broken the rules, and nobody goes on as
// if nothing were lost.
//
// Registered memory is a match list entry of another portal table entry, its match bits a key that cannot be guessed; peers get, put and
// swap there without this process (rdma.go, atomics.go). Registrations are not kept for later: linking an entry costs a fraction of a
// microsecond, and what is kept would keep memory alive, and open to peers.
package portals4

import (
	"fmt"
	"slices"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/portals4"
)

func init() { mca.Register(component{}) }

type component struct{}

// Options are the component's parameters. Those that Open MPI has, too, have its names and defaults.
type Options struct {
	MaxBTLs     int   `mca:"max_btls" default:"1" min:"1" max:"8" level:"5" help:"modules over the one interface: with several, large messages go over all of them in turn"`
	EagerLimit  int64 `mca:"eager_limit" default:"32k" min:"0" max:"16m" level:"4" unit:"bytes" settable:"true" help:"largest message, header included, that is sent before it is matched"`
	RndvEager   int64 `mca:"rndv_eager_limit" default:"32k" min:"0" max:"16m" level:"5" unit:"bytes" help:"bytes that travel with a rendezvous header"`
	MaxSend     int64 `mca:"max_send_size" default:"64k" min:"256" max:"16m" level:"4" unit:"bytes" help:"largest fragment, header included"`
	Inline      int64 `mca:"max_inline_send" default:"256" min:"0" max:"4k" level:"6" unit:"bytes" help:"largest payload sent without a descriptor"`
	CopyLimit   int64 `mca:"copy_limit" default:"2k" min:"0" level:"6" unit:"bytes" help:"payload up to this size is copied, so that the sender can go on at once; larger is sent from where it is"`
	GetLimit    int64 `mca:"get_limit" default:"0" min:"0" level:"5" unit:"bytes" help:"smallest message fetched by PtlGet, when it is above the eager limit"`
	PutLimit    int64 `mca:"put_limit" default:"0" min:"0" level:"5" unit:"bytes" help:"smallest message written by PtlPut, when it is above the eager limit"`
	MinPipeline int64 `mca:"min_rdma_pipeline_size" default:"0" min:"0" level:"5" unit:"bytes" help:"smallest message that is registered and written piece by piece; 0: none, unless pml_ob1_protocol says so"`
	PipeSend    int64 `mca:"rdma_pipeline_send_length" default:"64k" min:"0" level:"5" unit:"bytes" help:"of such a message, what is sent in fragments while the first piece is registered"`
	PipeFrag    int64 `mca:"rdma_pipeline_frag_size" default:"1m" min:"0" level:"5" unit:"bytes" help:"piece of such a message; 0: all at once"`
	MaxMsg      int64 `mca:"max_msg_size" default:"1024g" min:"4k" level:"6" unit:"bytes" help:"largest get or put, when the interface does not allow less; more is moved in pieces"`
	RecvNum     int   `mca:"recv_md_num" default:"8" min:"3" max:"4096" level:"5" help:"blocks for messages that are there at the beginning; more are made as more senders are granted credit"`
	RecvSize    int64 `mca:"recv_md_size" default:"256k" min:"4k" max:"64m" level:"5" unit:"bytes" help:"size of such a block; at least twice the largest message"`
	RecvMemory  int64 `mca:"recv_memory" default:"64m" min:"64k" level:"5" unit:"bytes" help:"credit that all senders together are granted before new ones get the least that works, which is two of the largest messages"`
	Window      int64 `mca:"credit_bytes" default:"256k" min:"4k" max:"64m" level:"5" unit:"bytes" help:"credit of a sender: bytes under way to a receiver that it has not delivered yet; at least two of the largest messages"`
	WindowMsgs  int   `mca:"credit_messages" default:"256" min:"8" max:"64k" level:"5" help:"credit of a sender: messages under way to a receiver that it has not delivered yet"`
	EQSize      int   `mca:"eq_recv_size" default:"4096" min:"256" max:"16m" level:"5" help:"events that the event queue holds; at least 18 for each rank of the job and some for what is under way"`
	Slots       int   `mca:"free_list_max_num" default:"64" min:"4" max:"4096" level:"6" help:"fragments on their way out at once"`
	MaxPending  int   `mca:"max_pending_ops" default:"256" min:"1" max:"64k" level:"6" help:"gets, puts and atomic operations under way at once"`
	Latency     int   `mca:"latency" default:"2" min:"0" level:"5" unit:"us" help:"approximate latency, for choosing among BTLs"`
	Bandwidth   int   `mca:"bandwidth" default:"20000" min:"1" level:"5" unit:"Mbit/s" help:"approximate bandwidth, for weights"`
	Exclusivity int   `mca:"exclusivity" default:"100" min:"0" level:"7" help:"only the most exclusive BTLs that reach a peer are used; tcp has 100, too"`
}

func (component) Framework() string { return "btl" }
func (component) Name() string      { return "portals4" }
func (component) Options() any      { return new(Options) }

// most is the largest message, header included.
func (o *Options) most() int64 { return max(o.EagerLimit, o.MaxSend) }

// Open makes the instance's modules, where the parameter btl asks for them by name. Elsewhere there is none, and nothing to say about it.
func (component) Open(env *btl.Env) ([]btl.Module, error) {
	if !slices.Contains(env.Params.Selection("btl").Names(), "portals4") {
		return nil, nil
	}
	var o Options
	if err := env.Params.Decode("btl", "portals4", &o); err != nil {
		return nil, err
	}
	if env.Job.Size() == 1 {
		return nil, fmt.Errorf("%w: the job has one rank", btl.ErrUnavailable)
	}
	iface, err := portals4.Of(env)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", btl.ErrUnavailable, err)
	}
	env.Engine.Lock()
	defer env.Engine.Unlock()
	var modules []btl.Module
	for k := range o.MaxBTLs {
		m := &module{opt: o, env: env, engine: env.Engine, iface: iface, number: k}
		if err := m.open(); err != nil {
			for _, m := range modules {
				_ = m.Close() // the first error is the one to tell
			}
			return nil, fmt.Errorf("module %d: %w", k, err)
		}
		modules = append(modules, m)
	}
	most := modules[0].(*module).most
	if err := env.Params.Watch("btl", "portals4", func(into any) (func(), error) {
		n := into.(*Options).EagerLimit
		if n > most {
			return nil, fmt.Errorf("peers take messages of at most %d bytes, the larger of btl_portals4_eager_limit and btl_portals4_max_send_size at start", most)
		}
		return func() {
			for _, m := range modules {
				m.(*module).opt.EagerLimit = n
			}
		}, nil
	}); err != nil {
		return nil, err
	}
	c := card{modules: o.MaxBTLs, most: most}
	if err := env.Job.Put(cardKey, c.append(nil)); err != nil {
		return nil, err
	}
	return modules, nil
}

// fit makes the options agree with each other and with what the interface can do.
func (o *Options) fit(l portals4.Limits, ranks int) {
	longest := int64(min(l.MaxMsgSize, 1<<62))
	o.MaxMsg = min(o.MaxMsg, longest)
	o.EagerLimit, o.MaxSend = min(o.EagerLimit, longest), min(o.MaxSend, longest)
	o.RecvSize = max(o.RecvSize, 2*o.most())
	o.Window = max(o.Window, 2*o.most())
	o.EQSize = max(o.EQSize, rankEvents*ranks+o.Slots+o.MaxPending+eqSpare)
}

// Portal table entries: those of the first module are Open MPI's and the one behind it, those of others lie beyond what anybody else asks for.
const (
	firstPT = 2
	otherPT = 32
)

// ptIndex gives the portal table entry for active messages of a module; the next is for registered memory.
func ptIndex(module int) uint32 {
	if module == 0 {
		return firstPT
	}
	return uint32(otherPT + 2*(module-1))
}
