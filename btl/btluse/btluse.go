// Package btluse opens the BTLs of a process for a program or a library that wants active messages and nothing above them: no
// matching, no communicators, no package ompi. It does what an MPI instance does for its BTLs (engine, shared memory, business
// cards, the choice among several, the end) and adds sends and waits that block; endpoints and modules stay in reach for the rest.
//
//	job, err := rte.Join(rte.Options{})
//	reg, err := mca.NewRegistry()
//	params, err := mca.Load(reg, mca.DefaultInput())
//	s, err := btluse.Open(btluse.Config{Job: job, Params: params, Registry: reg, Handlers: ...})
//	defer s.Close()
//
// Which BTLs there are is the program's choice by import (btl/sm, btl/tcp), which of them are used the user's, by the parameter btl. The
// program joins the job and finalizes it.
package btluse

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

// Config is what Open needs.
type Config struct {
	Job      rte.Job
	Registry *mca.Registry
	Params   *mca.Params
	// Handlers get the active messages, by tag, with the token held by whoever drives the engine. They must not call Send or Wait,
	// which may wait for what only the driver does: they note what came, and who waits for it goes on.
	Handlers map[btl.Tag]btl.Handler
	// SleepAfter is how long a wait polls before it sleeps; 0: for ever.
	SleepAfter time.Duration
}

// Session is the open BTLs of one rank.
type Session struct {
	Engine  *progress.Engine
	Env     *btl.Env
	Modules []btl.Module

	peers    []Peer
	services btl.Services
	said     map[string]bool
	failure  atomic.Pointer[error]
	closing  bool // guarded by the token
	send     send
}

// Peer is the way to one rank: the endpoint of the most exclusive module that reaches it, with what it can do.
type Peer struct {
	Module   btl.Module
	Endpoint btl.Endpoint
	Inline   btl.InlineSender // nil: cannot
	Get      btl.Getter       // nil: cannot
	Put      btl.Putter       // nil: cannot
	why      []error          // there is none
}

// Open opens the BTLs that the parameter btl allows and finds the way to every rank. It is collective over the job.
func Open(cfg Config) (s *Session, err error) {
	job := cfg.Job
	local := job.LocalRanks()
	s = &Session{said: map[string]bool{}}
	s.Engine = progress.New(progress.Config{Cores: rte.HostCores(), LocalRanks: len(local), SleepAfter: cfg.SleepAfter})
	s.send.e = s.Engine
	s.Env = &btl.Env{Params: cfg.Params, Engine: s.Engine, Job: job, Dispatch: &btl.Dispatch{}, Upcalls: (*upcalls)(s),
		Registry: cfg.Registry, Services: &s.services}
	s.Env.Arch = datatype.ArchNative.Resolve()
	for tag, h := range cfg.Handlers {
		s.Env.Dispatch.Handlers[tag] = h
	}
	for r := range job.Size() {
		s.Env.Procs = append(s.Env.Procs, &core.Proc{Rank: r, Locality: core.Locality(job.Locality(r))})
	}
	defer func() {
		if err != nil {
			_ = s.release() // the first error is the one to tell
		}
	}()
	if err := s.open(cfg.Registry, len(local)); err != nil {
		return nil, err
	}
	if job.Size() > 1 {
		if err := job.Fence(); err != nil { // all cards are written
			return nil, err
		}
	}
	s.Env.Fenced = true
	s.connect()
	job.OnFailure(func(rank int, cause error) {
		s.Engine.Lock()
		(*upcalls)(s).EndpointFailed(nil, s.Env.Procs[rank], true, cause)
		s.Engine.Unlock()
	})
	return s, nil
}

func (s *Session) open(reg *mca.Registry, local int) error {
	params, allowed := s.Env.Params, s.Env.Params.Selection("btl")
	if local > 1 && allowed.Allows("sm") {
		var so shm.Options
		if err := params.Decode("shm", "", &so); err != nil {
			return err
		}
		s.Env.Shm, s.Env.ShmErr = shm.Open(shm.Config{Job: s.Env.Job, Engine: s.Engine, Options: so})
	}
	for _, c := range reg.Components("btl") {
		if !allowed.Allows(c.Name()) {
			continue
		}
		mods, err := c.(btl.Component).Open(s.Env)
		if errors.Is(err, btl.ErrUnavailable) {
			s.Env.Refused = append(s.Env.Refused, c.Name()+": "+err.Error())
			continue
		}
		if err != nil {
			return fmt.Errorf("btl %s: %w", c.Name(), err)
		}
		s.Modules = append(s.Modules, mods...)
	}
	return nil
}

// connect asks every module for its endpoints and keeps the best.
func (s *Session) connect() {
	s.Engine.Lock()
	defer s.Engine.Unlock()
	s.peers = make([]Peer, len(s.Env.Procs))
	for _, m := range s.Modules {
		eps, why := m.AddProcs(s.Env.Procs)
		for r, ep := range eps {
			p := &s.peers[r]
			if ep == nil {
				p.why = append(p.why, why[r])
				continue
			}
			if p.Module != nil && p.Module.Limits().Exclusivity >= m.Limits().Exclusivity {
				continue
			}
			p.Module, p.Endpoint = m, ep
			p.Inline, _ = ep.(btl.InlineSender)
			p.Get, _ = ep.(btl.Getter)
			p.Put, _ = ep.(btl.Putter)
		}
	}
}

// Peer is the way to a rank. The error says, BTL by BTL, why there is none.
func (s *Session) Peer(rank int) (*Peer, error) {
	if rank < 0 || rank >= len(s.peers) {
		return nil, fmt.Errorf("btluse: rank %d of a job of %d ranks", rank, len(s.peers))
	}
	p := &s.peers[rank]
	if p.Endpoint != nil {
		return p, nil
	}
	reasons := append([]string(nil), s.Env.Refused...)
	for _, err := range p.why {
		reasons = append(reasons, err.Error())
	}
	return nil, fmt.Errorf("btluse: no BTL reaches rank %d (%s); check the parameter btl", rank, strings.Join(reasons, "; "))
}

// send is the session's own fragment: Send uses one at a time.
type send struct {
	progress.Completion
	e   *progress.Engine
	f   btl.Frag
	err error
}

// FragDone implements btl.Completer.
func (o *send) FragDone(_ *btl.Frag, err error) {
	o.err = err
	o.e.Complete(&o.Completion)
}

// Send sends an active message and returns when data may be reused, which need not mean that it has arrived. The header has at most
// btl.HeaderMax bytes, header and data together at most the module's Limits().MaxSend or Eager, whichever is more. The caller holds the
// token, which may be given away meanwhile; one goroutine sends at a time.
func (s *Session) Send(rank int, tag btl.Tag, hdr, data []byte) error {
	p, err := s.Peer(rank)
	if err != nil {
		return err
	}
	ptr := unsafe.Pointer(unsafe.SliceData(data))
	if p.Inline != nil && len(hdr) == btl.InlineHeader && len(data) <= p.Inline.MaxInline() {
		h0, h1 := binary.LittleEndian.Uint64(hdr), binary.LittleEndian.Uint64(hdr[8:])
		if p.Inline.SendInline(tag, h0, h1, ptr, len(data)) {
			return nil
		}
	}
	l := p.Module.Limits()
	if most := max(l.MaxSend, l.Eager); len(hdr) > btl.HeaderMax || int64(len(hdr)+len(data)) > most {
		return fmt.Errorf("btluse: a message of %d+%d bytes to rank %d, btl %s takes %d at most, %d of them header", len(hdr), len(data), rank, p.Module.Name(), most, btl.HeaderMax)
	}
	o := &s.send
	o.Reset()
	o.f = btl.Frag{Owner: o, Tag: tag, HdrLen: uint8(len(hdr)), Len: len(data), Data: ptr}
	copy(o.f.Hdr[:], hdr)
	for {
		done, err := p.Endpoint.Send(&o.f)
		if err == nil && done {
			return nil
		}
		if err == nil {
			s.Engine.WaitLocked(&o.Completion) // it ends with an error when the peer is gone
			return o.err
		}
		if !errors.Is(err, btl.ErrAgain) {
			return err
		}
		if f := s.failure.Load(); f != nil {
			return *f
		}
		s.Engine.Poll()
		s.Engine.Lend()
	}
}

// until is a condition that a failure ends.
type until struct {
	c progress.Cond
	s *Session
}

// Done implements progress.Cond.
func (u *until) Done() bool { return u.c.Done() || u.s.failure.Load() != nil }

// Wait drives the engine until c, which handlers make true, is done. It fails when a peer does. The caller holds the token, which may be
// given away meanwhile.
func (s *Session) Wait(c progress.Cond) error {
	s.Engine.WaitLocked(&until{c, s})
	if f := s.failure.Load(); f != nil && !c.Done() {
		return *f
	}
	return nil
}

// closeTime bounds how long Close waits for the last messages to leave.
const closeTime = 30 * time.Second

// Close sends what is left, waits for the other ranks to have done so, too, and closes everything but the job. It is collective; the
// caller does not hold the token.
func (s *Session) Close() error {
	var err error
	if s.failure.Load() == nil {
		s.Engine.Lock()
		s.closing = true
		s.Engine.Unlock()
		if err = s.flush(); err == nil && s.Env.Job.Size() > 1 {
			err = s.Env.Job.Fence() // what was sent may lie in memory of this rank
		}
	}
	return errors.Join(err, s.release())
}

func (s *Session) flush() error {
	for deadline := time.Now().Add(closeTime); ; time.Sleep(50 * time.Microsecond) {
		s.Engine.Lock()
		s.Engine.PollAll()
		out := true
		for _, m := range s.Modules {
			out = m.Flush() && out
		}
		for _, v := range s.services.All() {
			out = out && v.Quiet() && v.Flush()
		}
		s.Engine.Unlock()
		if out {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("btluse: rank %d gave up on messages that nobody receives", s.Env.Job.Rank())
		}
	}
}

func (s *Session) release() error {
	var errs []error
	s.Engine.Lock()
	s.closing = true
	for _, m := range s.Modules {
		errs = append(errs, m.Close())
	}
	for _, v := range slices.Backward(s.services.All()) {
		errs = append(errs, v.Close())
	}
	if s.Env.Shm != nil {
		errs = append(errs, s.Env.Shm.Close())
	}
	s.Engine.Unlock()
	return errors.Join(append(errs, s.Engine.Close())...)
}

// upcalls is the session as its BTLs see it.
type upcalls Session

// EndpointFailed implements btl.Upcalls: a session has one way to each peer, and ends with it.
func (u *upcalls) EndpointFailed(_ btl.Module, p *core.Proc, _ bool, cause error) {
	if u.closing {
		return // everybody has said goodbye already
	}
	err := fmt.Errorf("btluse: rank %d: %w", p.Rank, cause)
	u.failure.CompareAndSwap(nil, &err)
	u.Engine.Kick()
}

// Say implements btl.Upcalls.
func (u *upcalls) Say(key, message string) {
	if u.said[key] {
		return
	}
	u.said[key] = true
	if j, ok := u.Env.Job.(rte.Sayer); !ok || !j.SayOnce(key, message) {
		fmt.Fprintf(os.Stderr, "rank %d: %s\n", u.Env.Job.Rank(), message)
	}
}
