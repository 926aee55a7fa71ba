package btltest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
)

// Script is a BTL whose frames go nowhere by themselves: the test looks at them and says what becomes of each. One Script is the
// component of all ranks of a world. Nothing moves on its own, so whole protocols run step by step in one goroutine.
//
// The methods that move frames take the token of the rank they concern; call them without any.
type Script struct {
	Facts  btl.Limits // what modules say of themselves
	Inline int        // largest inline payload; 0: inline messages are not offered
	Gets   bool       // Get and registration are offered
	Puts   bool       // Put and registration are offered
	Slow   bool       // Get and Put are over when the test says so, not at once
	Later  bool       // fragments are completed when their frame is delivered or dropped, not at once

	mu      sync.Mutex
	frames  []*Frame
	refuse  int
	modules map[int]*scriptModule
	log     []string
	getErr  error
	putErr  error
	regErr  error
	regLeft int
	busy    int // transfers to be refused
	moves   []*move
}

// move is a transfer under way.
type move struct {
	m   *scriptModule // that was asked for it
	t   *btl.Transfer
	run func() error
}

// Frame is a message on its way.
type Frame struct {
	From, To int
	Tag      btl.Tag
	Hdr      []byte
	Payload  []byte
	Inline   bool
	frag     *btl.Frag // to be completed, or nil
}

// String is the frame for transcripts.
func (f *Frame) String() string {
	kind := "frag"
	if f.Inline {
		kind = "inline"
	}
	return fmt.Sprintf("%d->%d %s tag %#x header %x payload %d", f.From, f.To, kind, uint8(f.Tag), f.Hdr, len(f.Payload))
}

// NewScript makes a script whose modules have ordinary limits: eager and fragments of 4 KiB.
func NewScript() *Script {
	return &Script{
		Facts:   btl.Limits{Eager: 4 << 10, RndvEager: 1 << 10, MaxSend: 4 << 10, Latency: 1, Bandwidth: 1000, Exclusivity: 1},
		Inline:  64,
		modules: map[int]*scriptModule{},
	}
}

// Framework implements mca.Component.
func (s *Script) Framework() string { return "btl" }

// Name implements mca.Component.
func (s *Script) Name() string { return "script" }

// Options implements mca.Component.
func (s *Script) Options() any { return nil }

// Open implements btl.Component.
func (s *Script) Open(env *btl.Env) ([]btl.Module, error) {
	m := &scriptModule{s: s, env: env, memory: map[btl.MemHandle][]byte{}}
	s.mu.Lock()
	s.modules[env.Job.Rank()] = m
	s.mu.Unlock()
	m.outer = m
	if s.Gets || s.Puts {
		m.outer = &scriptRegistrar{m}
	}
	return []btl.Module{m.outer}, nil
}

// Frames are the messages on their way, oldest first.
func (s *Script) Frames() []*Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.frames)
}

// Log lists everything sent and fetched so far, and forgets it.
func (s *Script) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.log
	s.log = nil
	return l
}

// Refuse makes the next n sends say ErrAgain.
func (s *Script) Refuse(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = n
}

// FailGets makes every Get return err; nil ends that.
func (s *Script) FailGets(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.getErr = err
}

// FailPuts makes every Put return err; nil ends that.
func (s *Script) FailPuts(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putErr = err
}

// FailRegister makes the next n registrations return err, all if n is 0; nil ends that.
func (s *Script) FailRegister(err error, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.regErr, s.regLeft = err, n
}

// RefuseTransfers makes the next n Gets and Puts say ErrAgain.
func (s *Script) RefuseTransfers(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = n
}

// Transfers is how many Gets and Puts are under way, which happens with Slow only.
func (s *Script) Transfers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.moves)
}

// EndTransfer ends the i-th transfer under way: its bytes move, unless err says what went wrong instead.
func (s *Script) EndTransfer(i int, err error) {
	s.mu.Lock()
	v := s.moves[i]
	s.moves = slices.Delete(s.moves, i, i+1)
	s.mu.Unlock()
	v.m.env.Engine.Lock()
	defer v.m.env.Engine.Unlock()
	if err == nil {
		err = v.run()
	}
	v.t.Owner.TransferDone(v.t, err)
}

// Registered is how many registrations a rank's module has.
func (s *Script) Registered(rank int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.modules[rank].memory)
}

// Deliver hands a frame to its receiver, into its own memory when the handler wants to place it.
func (s *Script) Deliver(f *Frame) {
	m := s.remove(f)
	s.hand(f)
	m.complete(f, nil)
}

// Doubt delivers a frame, and yet tells its sender that it broke down on the way.
func (s *Script) Doubt(f *Frame, err error) {
	m := s.remove(f)
	s.hand(f)
	m.complete(f, err)
}

// Copy delivers a frame and leaves it on its way, so that it comes twice.
func (s *Script) Copy(f *Frame) { s.hand(f) }

// Begin begins to deliver a frame whose handler wants to place it, and tells its sender err. The rest of it comes, or breaks off with an
// error, when the function is called that Begin returns; nil: the handler does not want to place it, and nothing has been done.
func (s *Script) Begin(f *Frame, err error) (end func(err error)) {
	to := s.module(f.To)
	p, ok := to.env.Dispatch.Handlers[f.Tag].(btl.Placer)
	if !ok || len(f.Payload) == 0 {
		return nil
	}
	to.env.Engine.Lock()
	place := p.Place(f.From, f.Hdr, len(f.Payload))
	copy(place, f.Payload[:len(f.Payload)/2])
	to.env.Engine.Unlock()
	if place == nil {
		return nil
	}
	s.remove(f).complete(f, err)
	return func(err error) {
		to.env.Engine.Lock()
		defer to.env.Engine.Unlock()
		if err == nil {
			copy(place, f.Payload)
		}
		p.Placed(f.From, f.Hdr, len(f.Payload), err)
	}
}

// Reclaim takes an inline frame back, as a BTL does that cannot tell whether it came. came tells whether it did.
func (s *Script) Reclaim(f *Frame, came bool) {
	m := s.remove(f)
	if came {
		s.hand(f)
	}
	m.env.Engine.Lock()
	defer m.env.Engine.Unlock()
	m.env.Dispatch.Handlers[f.Tag].(btl.Reclaimer).Reclaim(f.To, f.Hdr, f.Payload)
}

func (s *Script) hand(f *Frame) {
	to := s.module(f.To)
	to.env.Engine.Lock()
	h := to.env.Dispatch.Handlers[f.Tag]
	var place []byte
	p, ok := h.(btl.Placer)
	if ok && len(f.Payload) > 0 {
		place = p.Place(f.From, f.Hdr, len(f.Payload))
	}
	if place != nil {
		copy(place, f.Payload)
		p.Placed(f.From, f.Hdr, len(f.Payload), nil)
	} else {
		h.Receive(f.From, f.Hdr, f.Payload)
	}
	to.env.Engine.Unlock()
}

// DeliverAll delivers the oldest frame until there are none, also those sent meanwhile, and returns how many.
func (s *Script) DeliverAll() int {
	n := 0
	for frames := s.Frames(); len(frames) > 0; frames = s.Frames() {
		s.Deliver(frames[0])
		n++
	}
	return n
}

// Drop loses a frame; its sender is told err, which is nil where the loss goes unnoticed.
func (s *Script) Drop(f *Frame, err error) { s.remove(f).complete(f, err) }

// Fail tells rank that its endpoint to peer broke.
func (s *Script) Fail(rank, peer int, dead bool, cause error) {
	m := s.module(rank)
	m.env.Engine.Lock()
	defer m.env.Engine.Unlock()
	m.failed = append(m.failed, peer)
	m.env.Upcalls.EndpointFailed(m.outer, m.env.Procs[peer], dead, cause)
}

func (s *Script) module(rank int) *scriptModule {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.modules[rank]
}

// remove takes a frame off the list and returns its sender's module. It panics when the frame is no longer there.
func (s *Script) remove(f *Frame) *scriptModule {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.frames, f)
	if i < 0 {
		panic("btltest: frame is not on its way: " + f.String())
	}
	s.frames = slices.Delete(s.frames, i, i+1)
	return s.modules[f.From]
}

// add takes a message unless it is to be refused.
func (s *Script) add(f *Frame) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse > 0 {
		s.refuse--
		return false
	}
	s.frames = append(s.frames, f)
	s.log = append(s.log, f.String())
	return true
}

type scriptModule struct {
	s      *Script
	env    *btl.Env
	outer  btl.Module               // the module as the floor above knows it
	memory map[btl.MemHandle][]byte // guarded by s.mu
	last   uint64
	failed []int
}

type scriptRegistrar struct{ *scriptModule }

func (m *scriptModule) complete(f *Frame, err error) {
	if f.frag == nil {
		return
	}
	m.env.Engine.Lock()
	defer m.env.Engine.Unlock()
	f.frag.Owner.FragDone(f.frag, err)
}

func (m *scriptModule) Name() string       { return "script" }
func (m *scriptModule) Limits() btl.Limits { return m.s.Facts }
func (m *scriptModule) Flush() bool        { return true }
func (m *scriptModule) Close() error       { return nil }

func (m *scriptModule) AddProcs(procs []*core.Proc) ([]btl.Endpoint, []error) {
	eps, errs := make([]btl.Endpoint, len(procs)), make([]error, len(procs))
	for i, p := range procs {
		e := scriptEndpoint{m, p.Rank}
		in, get, put := scriptInline{e}, scriptGetter{mover{m, p.Rank}}, scriptPutter{mover{m, p.Rank}}
		switch inline := m.s.Inline > 0; {
		case inline && m.s.Gets && m.s.Puts:
			eps[i] = &struct {
				scriptInline
				scriptGetter
				scriptPutter
			}{in, get, put}
		case inline && m.s.Gets:
			eps[i] = &struct {
				scriptInline
				scriptGetter
			}{in, get}
		case inline && m.s.Puts:
			eps[i] = &struct {
				scriptInline
				scriptPutter
			}{in, put}
		case inline:
			eps[i] = &in
		case m.s.Gets && m.s.Puts:
			eps[i] = &struct {
				scriptEndpoint
				scriptGetter
				scriptPutter
			}{e, get, put}
		case m.s.Gets:
			eps[i] = &struct {
				scriptEndpoint
				scriptGetter
			}{e, get}
		case m.s.Puts:
			eps[i] = &struct {
				scriptEndpoint
				scriptPutter
			}{e, put}
		default:
			eps[i] = &e
		}
	}
	return eps, errs
}

func (m *scriptRegistrar) Register(mem unsafe.Pointer, n int64) (btl.MemHandle, error) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	if err := m.s.regErr; err != nil {
		if m.s.regLeft--; m.s.regLeft == 0 {
			m.s.regErr = nil
		}
		return btl.MemHandle{}, err
	}
	m.last++
	h := btl.MemHandle{A: uint64(m.env.Job.Rank()), B: m.last}
	m.memory[h] = unsafe.Slice((*byte)(mem), n)
	return h, nil
}

func (m *scriptRegistrar) Deregister(h btl.MemHandle) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	delete(m.memory, h)
}

type scriptEndpoint struct {
	m  *scriptModule
	to int
}

var errScriptFailed = errors.New("btltest: the endpoint has failed")

func (e *scriptEndpoint) Send(f *btl.Frag) (bool, error) {
	if slices.Contains(e.m.failed, e.to) {
		return false, errScriptFailed
	}
	fr := &Frame{From: e.m.env.Job.Rank(), To: e.to, Tag: f.Tag, Hdr: bytes.Clone(f.Header()), Payload: make([]byte, f.Len)}
	packed := f.Data == nil && f.Len > 0
	if packed {
		conv := *f.Conv
		conv.Pack(fr.Payload)
	} else {
		copy(fr.Payload, unsafe.Slice((*byte)(f.Data), f.Len))
	}
	if e.m.s.Later {
		fr.frag = f
	}
	if !e.m.s.add(fr) {
		return false, btl.ErrAgain
	}
	if packed {
		f.Conv.SetPosition(f.Conv.Position() + int64(f.Len))
	}
	return !e.m.s.Later, nil
}

type scriptInline struct{ scriptEndpoint }

func (e *scriptInline) MaxInline() int { return e.m.s.Inline }

func (e *scriptInline) SendInline(tag btl.Tag, h0, h1 uint64, data unsafe.Pointer, n int) bool {
	if n > e.m.s.Inline || slices.Contains(e.m.failed, e.to) {
		return false
	}
	hdr := make([]byte, 0, btl.InlineHeader)
	hdr = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(hdr, h0), h1)
	return e.m.s.add(&Frame{
		From: e.m.env.Job.Rank(), To: e.to, Tag: tag, Hdr: hdr, Payload: bytes.Clone(unsafe.Slice((*byte)(data), n)), Inline: true,
	})
}

// mover moves bytes between registered memories.
type mover struct {
	m  *scriptModule
	to int
}

type (
	scriptGetter struct{ x mover }
	scriptPutter struct{ x mover }
)

func (g *scriptGetter) Get(t *btl.Transfer) (bool, error) {
	s := g.x.m.s
	verb := "get"
	if t.Shared {
		verb = "shared get"
	}
	return g.x.move(t, "%d<-%d "+verb+" %d at %d", &s.getErr, func(ours, theirs []byte) { copy(ours, theirs) })
}

func (p *scriptPutter) Put(t *btl.Transfer) (bool, error) {
	return p.x.move(t, "%d=>%d put %d at %d", &p.x.m.s.putErr, func(ours, theirs []byte) { copy(theirs, ours) })
}

// move logs a transfer and carries it out, now or when the test says so. failing is what it fails with, if anything.
func (x *mover) move(t *btl.Transfer, format string, failing *error, carry func(ours, theirs []byte)) (bool, error) {
	s := x.m.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy > 0 {
		s.busy--
		return false, btl.ErrAgain
	}
	if ours, ok := x.m.memory[t.Mem]; t.Mem != (btl.MemHandle{}) && (!ok || t.MemOff < 0 || t.N > int64(len(ours))-t.MemOff || (t.N > 0 && unsafe.Pointer(&ours[t.MemOff]) != t.Local)) {
		return false, errors.New("btltest: the local memory is not as registered")
	}
	s.log = append(s.log, fmt.Sprintf(format, x.m.env.Job.Rank(), x.to, t.N, t.Off))
	if *failing != nil {
		return false, *failing
	}
	run := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		theirs, err := s.memory(x.to, t)
		if err == nil {
			carry(unsafe.Slice((*byte)(t.Local), t.N), theirs)
		}
		return err
	}
	if s.Slow {
		s.moves = append(s.moves, &move{x.m, t, run})
		return false, nil
	}
	s.mu.Unlock()
	err := run()
	s.mu.Lock()
	return err == nil, err
}

// memory gives the registered memory of a rank that t names; s.mu is held.
func (s *Script) memory(rank int, t *btl.Transfer) ([]byte, error) {
	mem, ok := s.modules[rank].memory[t.Remote]
	if !ok {
		return nil, errors.New("btltest: this memory is not registered")
	}
	if t.Off < 0 || t.N < 0 || t.Off > int64(len(mem)) || t.N > int64(len(mem))-t.Off {
		return nil, fmt.Errorf("btltest: bytes [%d,+%d) lie outside of the %d registered", t.Off, t.N, len(mem))
	}
	return mem[t.Off : t.Off+t.N], nil
}
