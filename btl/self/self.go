// Package self is the BTL by which a rank reaches itself, and the example to read before writing another one.
//
// A message is not delivered inside Send: its handler may well send to itself again, and would be entered while it is still
// running. Messages wait in a small ring until the next progress pass, as if they had travelled; when the ring is full, Send
// says ErrAgain. Payloads are never copied here, but for inline ones and those that must be packed. Memory a message refers to is
// named by a table slot and its generation, never by address, so that the upper layers take the same path as to any other peer.
//
// The package registers itself; nothing but that import is for others to use.
package self

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/progress"
)

func init() { mca.Register(component{}) }

type options struct {
	EagerLimit     int64 `mca:"eager_limit" default:"64k" min:"0" level:"4" unit:"bytes" settable:"true" help:"largest message, header included, sent before it is matched"`
	RndvEagerLimit int64 `mca:"rndv_eager_limit" default:"64k" min:"0" level:"4" unit:"bytes" help:"payload that travels with a rendezvous header"`
	MaxSendSize    int64 `mca:"max_send_size" default:"256k" min:"128" max:"1g" level:"4" unit:"bytes" help:"largest fragment, header included"`
	MinGetSize     int64 `mca:"min_get_size" default:"64k" min:"0" level:"5" unit:"bytes" help:"contiguous messages from this size on are copied once, from buffer to buffer"`
	MinPipeline    int64 `mca:"min_rdma_pipeline_size" default:"0" min:"0" level:"5" unit:"bytes" help:"contiguous messages from this size on are written piece by piece; 0: none, unless pml_ob1_protocol says so"`
	PipeSend       int64 `mca:"rdma_pipeline_send_length" default:"16k" min:"0" level:"5" unit:"bytes" help:"of such a message, what goes in fragments first"`
	PipeFrag       int64 `mca:"rdma_pipeline_frag_size" default:"1m" min:"1" level:"5" unit:"bytes" help:"a piece of such a message"`
}

type component struct{}

func (component) Framework() string { return "btl" }
func (component) Name() string      { return "self" }
func (component) Options() any      { return new(options) }

func (component) Open(env *btl.Env) ([]btl.Module, error) {
	m := &module{env: env}
	if err := env.Params.Decode("btl", "self", &m.opts); err != nil {
		return nil, err
	}
	if err := env.Params.Watch("btl", "self", func(into any) (func(), error) {
		return func() { m.opts.EagerLimit = into.(*options).EagerLimit }, nil
	}); err != nil {
		return nil, err
	}
	env.Engine.Lock()
	m.source = env.Engine.AddPoller(m)
	m.source.Off()
	env.Engine.Unlock()
	return []btl.Module{m}, nil
}

const (
	ringSize  = 64 // a power of two
	maxInline = 256
)

// pending is a message on its way. Without a fragment it is an inline one.
type pending struct {
	frag   *btl.Frag
	conv   datatype.Convertor // of a fragment to be packed: the sender's cursor may move on before we pack
	tag    btl.Tag
	hdr    [btl.InlineHeader]byte
	n      int
	inline [maxInline]byte
}

type module struct {
	env      *btl.Env
	opts     options
	ring     []pending // made with the first message: most ranks never talk to themselves
	sent     uint64    // Invariant: got <= sent <= got+ringSize
	got      uint64
	source   *progress.Source // on while something is in the ring
	polling  bool
	closed   bool
	packed   []byte // what Poll packs into, at most one fragment
	memory   []registration
	freeSlot []uint32
}

// registration keeps memory alive and findable. A handle names its slot and generation.
type registration struct {
	mem  unsafe.Pointer
	size int64
	gen  uint64
}

var errHandle = errors.New("btl self: this memory is not registered")

func (m *module) Name() string { return "self" }

func (m *module) Limits() btl.Limits {
	return btl.Limits{
		Eager: m.opts.EagerLimit, RndvEager: m.opts.RndvEagerLimit, MaxSend: m.opts.MaxSendSize, MinGet: m.opts.MinGetSize,
		MinPipeline: m.opts.MinPipeline, PipeSend: m.opts.PipeSend, PipeFrag: m.opts.PipeFrag,
		Latency: 0, Bandwidth: 100_000, Exclusivity: 64 << 10,
	}
}

func (m *module) AddProcs(procs []*core.Proc) ([]btl.Endpoint, []error) {
	eps, errs := make([]btl.Endpoint, len(procs)), make([]error, len(procs))
	for i, p := range procs {
		if p.Rank == m.env.Job.Rank() {
			eps[i] = (*endpoint)(m)
		} else {
			errs[i] = fmt.Errorf("btl self: rank %d is another process", p.Rank)
		}
	}
	return eps, errs
}

// endpoint is the module seen as the one peer it has.
type endpoint module

// slot is the next free place of the ring, nil when it is full.
func (ep *endpoint) slot() *pending {
	if ep.sent-ep.got == ringSize {
		return nil
	}
	if ep.ring == nil {
		ep.ring = make([]pending, ringSize)
	}
	return &ep.ring[ep.sent%ringSize]
}

func (ep *endpoint) Send(f *btl.Frag) (bool, error) {
	p := ep.slot()
	switch {
	case ep.closed:
		return false, errClosed
	case p == nil:
		return false, btl.ErrAgain
	}
	p.frag, p.n = f, f.Len
	if f.Data == nil && f.Len > 0 {
		p.conv = *f.Conv
		f.Conv.SetPosition(f.Conv.Position() + int64(f.Len))
	}
	ep.sent++
	ep.source.On()
	return false, nil
}

func (ep *endpoint) MaxInline() int { return maxInline }

func (ep *endpoint) SendInline(tag btl.Tag, h0, h1 uint64, data unsafe.Pointer, n int) bool {
	p := ep.slot()
	if p == nil || n > maxInline || ep.closed {
		return false
	}
	p.frag, p.tag, p.n = nil, tag, n
	binary.LittleEndian.PutUint64(p.hdr[:], h0)
	binary.LittleEndian.PutUint64(p.hdr[8:], h1)
	copy(p.inline[:n], unsafe.Slice((*byte)(data), n))
	ep.sent++
	ep.source.On()
	return true
}

// Poll delivers what was sent before it began. Handlers may send more; that waits for the next pass.
func (m *module) Poll() int {
	n := int(m.sent - m.got)
	if n == 0 || m.polling {
		return 0
	}
	m.polling = true
	for range n {
		p := &m.ring[m.got%ringSize]
		if p.frag == nil {
			m.deliver(p.tag, p.hdr[:], p.inline[:p.n])
			m.got++ // only now may the slot be used again
			continue
		}
		f := p.frag
		m.deliver(f.Tag, f.Header(), m.payload(p))
		p.frag, p.conv = nil, datatype.Convertor{} // keep nobody's memory alive
		m.got++
		f.Owner.FragDone(f, nil)
	}
	m.polling = false
	if m.sent == m.got {
		m.source.Off()
	}
	return n
}

func (m *module) deliver(tag btl.Tag, hdr, payload []byte) {
	m.env.Dispatch.Handlers[tag].Receive(m.env.Job.Rank(), hdr, payload)
}

func (m *module) payload(p *pending) []byte {
	if f := p.frag; f.Data != nil || p.n == 0 {
		return unsafe.Slice((*byte)(f.Data), p.n)
	}
	if cap(m.packed) < p.n {
		m.packed = make([]byte, p.n)
	}
	b := m.packed[:p.n]
	return b[:p.conv.Pack(b)]
}

// Register enters memory into the table.
func (m *module) Register(mem unsafe.Pointer, n int64) (btl.MemHandle, error) {
	if n < 0 {
		return btl.MemHandle{}, fmt.Errorf("btl self: cannot register %d bytes", n)
	}
	var slot uint32
	if k := len(m.freeSlot); k > 0 {
		slot, m.freeSlot = m.freeSlot[k-1], m.freeSlot[:k-1]
	} else {
		slot = uint32(len(m.memory))
		m.memory = append(m.memory, registration{})
	}
	r := &m.memory[slot]
	r.mem, r.size = mem, n
	r.gen++ // from 1 on, so that the zero handle names nothing
	return btl.MemHandle{A: uint64(slot), B: r.gen}, nil
}

// Deregister takes memory out; a handle that is not valid any more is ignored.
func (m *module) Deregister(h btl.MemHandle) {
	if r := m.find(h); r != nil {
		r.mem, r.size = nil, -1
		r.gen++
		m.freeSlot = append(m.freeSlot, uint32(h.A))
	}
}

// find gives the registration of a handle, nil when it is none. Free slots have even generations, which no handle has.
func (m *module) find(h btl.MemHandle) *registration {
	if h.A >= uint64(len(m.memory)) || h.B&1 == 0 || m.memory[h.A].gen != h.B {
		return nil
	}
	return &m.memory[h.A]
}

// remote gives the memory that t names at the other end, which is here.
func (ep *endpoint) remote(t *btl.Transfer) ([]byte, error) {
	r := (*module)(ep).find(t.Remote)
	if r == nil {
		return nil, errHandle
	}
	if t.Off < 0 || t.N < 0 || t.Off > r.size || t.N > r.size-t.Off {
		return nil, fmt.Errorf("btl self: bytes [%d,+%d) lie outside of the %d registered", t.Off, t.N, r.size)
	}
	if t.N == 0 {
		return nil, nil
	}
	return unsafe.Slice((*byte)(unsafe.Add(r.mem, t.Off)), t.N), nil
}

// Get implements btl.Getter.
func (ep *endpoint) Get(t *btl.Transfer) (bool, error) {
	b, err := ep.remote(t)
	if err != nil {
		return false, err
	}
	copy(unsafe.Slice((*byte)(t.Local), len(b)), b)
	return true, nil
}

// Put implements btl.Putter.
func (ep *endpoint) Put(t *btl.Transfer) (bool, error) {
	b, err := ep.remote(t)
	if err != nil {
		return false, err
	}
	copy(b, unsafe.Slice((*byte)(t.Local), len(b)))
	return true, nil
}

// Flush reports whether everything has been delivered.
func (m *module) Flush() bool { return m.sent == m.got }

// Close gives back the fragments that were not delivered.
func (m *module) Close() error {
	if m.closed {
		return nil
	}
	m.closed = true
	m.env.Engine.RemovePoller(m)
	for ; m.got != m.sent; m.got++ {
		if f := m.ring[m.got%ringSize].frag; f != nil {
			f.Owner.FragDone(f, errClosed)
		}
	}
	m.ring, m.memory, m.freeSlot = nil, nil, nil
	return nil
}

var errClosed = errors.New("btl self: closed")

// What this component offers beyond the contract.
var (
	_ btl.InlineSender = (*endpoint)(nil)
	_ btl.Getter       = (*endpoint)(nil)
	_ btl.Putter       = (*endpoint)(nil)
	_ btl.Registrar    = (*module)(nil)
)
