// Package sm is the BTL between ranks of one host: processes through mapped memory, goroutine ranks of one process through the
// heap. For each ordered pair of ranks that talk there is a ring with one producer and one consumer (ring.go); a small message is
// one cache line, its sequence word written last. Larger payloads are copied through the ring's data area, large ones are read
// by the receiver straight from the sender's memory (get.go).
//
// A ring lies in its receiver's segment (package shm), so that what was sent can be read when its sender is gone. The sender takes
// the memory and tells the receiver when the first message is sent, so memory grows with the pairs that talk.
package sm

import (
	"fmt"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/mca"
)

func init() { mca.Register(component{}) }

type component struct{}

// Options are the component's parameters.
type Options struct {
	EagerLimit   int64  `mca:"eager_limit" default:"4k" min:"0" max:"1m" level:"4" unit:"bytes" settable:"true" help:"largest message, header included, that is copied through shared memory before it is matched"`
	RndvEager    int64  `mca:"rndv_eager_limit" default:"0" min:"0" max:"1m" level:"5" unit:"bytes" help:"bytes that travel with a rendezvous header"`
	MaxSend      int64  `mca:"max_send_size" default:"32k" min:"256" max:"4m" level:"4" unit:"bytes" help:"largest fragment, header included"`
	SingleCopy   string `mca:"single_copy_mechanism" default:"auto" enum:"auto|cma|map|none" level:"3" help:"how a receiver reads large messages of another process: cma is process_vm_readv; map reads those in memory of AllocMem, which it maps; none copies through shared memory; auto maps where it can, else tries cma with each peer"`
	GetLimit     int64  `mca:"get_limit" default:"0" min:"0" level:"5" unit:"bytes" help:"smallest message fetched by single copy, when it is above the eager limit"`
	FifoSize     int64  `mca:"fifo_size" default:"256" min:"8" max:"64k" level:"6" unit:"slots" help:"slots of a ring between two ranks; rounded up to a power of two"`
	DataSize     int64  `mca:"data_size" default:"128k" min:"4k" max:"64m" level:"6" unit:"bytes" help:"data area of a ring; at least four fragments are made to fit"`
	Latency      int    `mca:"latency" default:"1" level:"5" unit:"us" help:"approximate latency, for choosing among BTLs"`
	Bandwidth    int    `mca:"bandwidth" default:"80000" level:"5" unit:"Mbit/s" help:"approximate bandwidth, for weights"`
	Exclusivity  int    `mca:"exclusivity" default:"65535" level:"7" help:"only the most exclusive BTLs that reach a peer are used"`
	MaxInlineLen int    `mca:"max_inline_send" default:"256" min:"0" max:"4k" level:"6" unit:"bytes" help:"largest payload sent without a descriptor"`
}

func (component) Framework() string { return "btl" }
func (component) Name() string      { return "sm" }
func (component) Options() any      { return &Options{} }

// Open makes the instance's one module, unless this host has no shared memory for it.
func (component) Open(env *btl.Env) ([]btl.Module, error) {
	if env.Shm == nil {
		if env.ShmErr != nil {
			return nil, fmt.Errorf("%w: %w", btl.ErrUnavailable, env.ShmErr)
		}
		return nil, fmt.Errorf("%w: the job is alone on this host", btl.ErrUnavailable)
	}
	m := &module{env: env, shm: env.Shm, engine: env.Engine, dispatch: env.Dispatch}
	if err := env.Params.Decode("btl", "sm", &m.opt); err != nil {
		return nil, err
	}
	most := max(m.opt.MaxSend, m.opt.EagerLimit) // for which rings are made
	if err := env.Params.Watch("btl", "sm", func(into any) (func(), error) {
		n := into.(*Options).EagerLimit
		if n > most {
			return nil, fmt.Errorf("the rings are made for messages of at most %d bytes, the larger of btl_sm_eager_limit and btl_sm_max_send_size at start", most)
		}
		return func() { m.opt.EagerLimit = n }, nil
	}); err != nil {
		return nil, err
	}
	m.geo = geometry{slots: ceilPow2(uint32(m.opt.FifoSize))}
	m.geo.data = uint32(max(alignUp(m.opt.DataSize), ceil64(4*max(m.opt.MaxSend, m.opt.EagerLimit))))
	m.fence = m.shm.NeedFence()
	m.seen = m.shm.Calls() - 1 // look at once: peers may have called already
	env.Engine.Lock()
	env.Engine.AddPoller(m)
	env.Engine.Unlock()
	return []btl.Module{m}, nil
}

func ceilPow2(n uint32) uint32 {
	p := uint32(1)
	for p < n {
		p <<= 1
	}
	return p
}

func alignUp(n int64) int64 { return (n + line - 1) &^ (line - 1) }

// ceil64 rounds up to 64 KiB.
func ceil64(n int64) int64 { return (n + 65535) &^ 65535 }
