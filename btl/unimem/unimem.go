// Package unimem is the BTL over a software model of the Unimem architecture (package unimem of the floor below), after the provider of
// Kim et al., EuroMPI 2018. It is open only when the parameter btl names it: it is there to study a kind of network, not to be fast.
//
// The network has mailbox messages of 24 bytes, and DMA between memory that came from its own allocator. The way of a message, without any
// of the steps that are parameters:
//
//  1. the sender copies header and payload into a dmable bounce buffer and sends RTS;
//  2. the receiver has a dmable bounce buffer for it and sends CTS, which names it;
//  3. the sender registers that remote range with its RDMA engine, writes by DMA, and sends DONE;
//  4. the receiver copies the bounce buffer to the buffer of the active message, and the handler copies it to the user.
//
// The steps: btl_unimem_copies=direct has the handler look at the bounce buffer itself; btl_unimem_rcache keeps registrations;
// btl_unimem_eager writes small messages into buffers that the receiver has set aside, without RTS and CTS; btl_unimem_inline sends the smallest
// in mailbox messages; btl_unimem_dmable_user has the DMA read the sender's own memory where that is dmable; btl_unimem_rma lets the floor above
// read and write dmable user memory (rma.go). Nothing moves while a rank is outside of MPI: there is no engine but its processor.
package unimem

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/unimem"
)

func init() { mca.Register(component{}) }

type component struct{}

// Options are the component's parameters.
type Options struct {
	Copies       string        `mca:"copies" default:"direct" enum:"naive|direct" level:"4" help:"copies at the receiver: naive goes from the bounce buffer to the buffer of the active message to the user, direct leaves out the one between"`
	RCache       bool          `mca:"rcache" default:"true" level:"4" help:"keep registrations of remote memory for later transfers"`
	Eager        bool          `mca:"eager" default:"true" level:"4" help:"write messages up to the eager limit into buffers that the receiver has set aside, without asking first"`
	Inline       bool          `mca:"inline" default:"true" level:"4" help:"send the smallest messages in mailbox messages: up to 6 bytes with a match header in one, up to 30 in two"`
	DmableUser   bool          `mca:"dmable_user" default:"true" level:"4" help:"let the DMA engine read the sender's own memory where it is dmable, without a copy into a bounce buffer"`
	RMA          bool          `mca:"rma" default:"true" level:"4" help:"offer reads and writes of registered memory; only dmable memory can be registered"`
	RegisterCost time.Duration `mca:"register_cost" default:"10us" min:"0s" max:"1s" level:"4" help:"what it costs to register remote memory with the RDMA engine, by busy waiting: a property of the modelled hardware"`
	Routes       int           `mca:"routes" default:"4096" min:"64" max:"1m" level:"6" help:"remote ranges that the RDMA engine holds at most"`
	Burst        int64         `mca:"dma_burst" default:"256k" min:"64" max:"64m" level:"6" unit:"bytes" help:"bytes that the DMA engine moves in one pass"`
	Memory       int64         `mca:"memory" default:"32m" min:"1m" max:"1024g" level:"4" unit:"bytes" help:"dmable memory of a rank, part of its shared segment: bounce buffers, eager buffers, and what programs allocate"`
	Slots        int64         `mca:"mailbox_size" default:"256" min:"16" max:"64k" level:"6" unit:"messages" help:"mailbox messages between two ranks; rounded up to a power of two"`
	Buffers      int           `mca:"buffers" default:"8" min:"2" max:"255" level:"6" help:"bounce buffers for a peer at each end, and eager buffers from a peer"`
	EagerLimit   int64         `mca:"eager_limit" default:"4k" min:"128" max:"1m" level:"4" unit:"bytes" help:"largest message, header included, that is sent before it is matched"`
	RndvEager    int64         `mca:"rndv_eager_limit" default:"0" min:"0" max:"1m" level:"5" unit:"bytes" help:"bytes that travel with a rendezvous header"`
	MaxSend      int64         `mca:"max_send_size" default:"64k" min:"256" max:"4m" level:"4" unit:"bytes" help:"largest fragment, header included"`
	GetLimit     int64         `mca:"get_limit" default:"0" min:"0" level:"5" unit:"bytes" help:"smallest message fetched by RDMA, when it is above the eager limit"`
	PutLimit     int64         `mca:"put_limit" default:"0" min:"0" level:"5" unit:"bytes" help:"smallest message written by RDMA, when it is above the eager limit"`
	MinPipeline  int64         `mca:"min_rdma_pipeline_size" default:"512k" min:"0" level:"5" unit:"bytes" help:"smallest message that may be registered and transferred piece by piece, where registrations are not kept"`
	PipeSend     int64         `mca:"rdma_pipeline_send_length" default:"128k" min:"0" level:"5" unit:"bytes" help:"of such a message, what is sent in fragments while the first piece is registered"`
	PipeFrag     int64         `mca:"rdma_pipeline_frag_size" default:"1m" min:"0" level:"5" unit:"bytes" help:"piece of such a message; 0: all at once"`
	PeerTimeout  time.Duration `mca:"peer_timeout" default:"0s" min:"0s" max:"24h" level:"5" help:"for networks that do not report failures: a peer that has not polled for so long counts as failed, also one that merely computes outside of MPI; 0: off"`
	Latency      int           `mca:"latency" default:"2" min:"0" level:"5" unit:"us" help:"approximate latency, for choosing among BTLs"`
	Bandwidth    int           `mca:"bandwidth" default:"20000" min:"1" level:"5" unit:"Mbit/s" help:"approximate bandwidth, for weights"`
	Exclusivity  int           `mca:"exclusivity" default:"65000" level:"7" help:"only the most exclusive BTLs that reach a peer are used"`
}

// slotBytes is the size of a bounce buffer.
func (o *Options) slotBytes() int64 { return (max(o.MaxSend, o.EagerLimit) + 63) &^ 63 }

// eagerBytes is the size of an eager buffer.
func (o *Options) eagerBytes() int64 { return (o.EagerLimit + 63) &^ 63 }

func (component) Framework() string { return "btl" }
func (component) Name() string      { return "unimem" }
func (component) Options() any      { return &Options{} }

// Open makes the instance's one module, where the parameter btl asks for it by name. Elsewhere there is none, and nothing to say about it.
func (component) Open(env *btl.Env) ([]btl.Module, error) {
	switch {
	case !slices.Contains(env.Params.Selection("btl").Names(), "unimem"):
		return nil, nil
	case env.Shm == nil && env.ShmErr != nil:
		return nil, fmt.Errorf("%w: %w", btl.ErrUnavailable, env.ShmErr)
	case env.Shm == nil:
		return nil, fmt.Errorf("%w: the job is alone on this host", btl.ErrUnavailable)
	}
	m := &module{env: env, shm: env.Shm, engine: env.Engine, dispatch: env.Dispatch}
	if err := env.Params.Decode("btl", "unimem", &m.opt); err != nil {
		return nil, err
	}
	var err error
	if m.pinned, err = leavePinned(env.Params); err != nil {
		return nil, err
	}
	m.pinned = m.pinned && m.opt.RCache
	env.Engine.Lock()
	defer env.Engine.Unlock()
	if err := m.open(); err != nil {
		return nil, err
	}
	return []btl.Module{m}, nil
}

// leavePinned is mpi_leave_pinned, which is on where it is not known.
func leavePinned(p *mca.Params) (bool, error) {
	text, _, ok := p.Lookup("mpi_leave_pinned")
	if !ok {
		return true, nil
	}
	return strconv.ParseBool(text)
}

// open makes the rank's device and tells its peers where it lies.
func (m *module) open() error {
	o := &m.opt
	slots := uint32(16)
	for int64(slots) < o.Slots {
		slots <<= 1
	}
	local := len(m.shm.Local())
	memory := (o.Memory + unimem.Page - 1) &^ (unimem.Page - 1)
	m.cfg = unimem.Config{Peers: local, Slots: slots, Memory: memory, RegisterCost: o.RegisterCost, Routes: o.Routes, Burst: o.Burst}
	if err := m.cfg.Check(); err != nil {
		return err
	}
	piece, base, err := m.shm.Alloc(m.cfg.Size())
	if err != nil {
		return fmt.Errorf("%w: %w (btl_unimem_memory is %d)", btl.ErrUnavailable, err, o.Memory)
	}
	if m.dev, err = unimem.New(base, m.cfg); err != nil {
		return err
	}
	if m.eagerAt, err = m.dev.Alloc(int64(local) * int64(o.Buffers) * o.eagerBytes()); err != nil {
		return fmt.Errorf("eager buffers for %d ranks: %w", local, err)
	}
	m.links = make([]*link, local)
	m.am = make([]byte, o.slotBytes())
	m.fence = m.shm.NeedFence()
	c := card{piece: uint64(piece), peers: uint32(local), slots: slots, memory: uint64(memory),
		eagerAt: uint64(m.eagerAt), eagerSize: uint32(o.eagerBytes()), buffers: uint32(o.Buffers), bufferSize: uint32(o.slotBytes()), beats: o.PeerTimeout > 0}
	if err := m.env.Job.Put(cardKey, c.append(nil)); err != nil {
		return err
	}
	m.engine.AddPoller(m)
	m.startHeart()
	return nil
}

var errClosed = errors.New("btl unimem: closed")
