package ompi_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/elem"
	"github.com/ompi-go/ompi-go/progress"
)

// plainOSC is a one-sided component for goroutine ranks, in which everything happens under one lock: what the tests of windows compare with. All ranks
// have the same value of it.
type plainOSC struct {
	name     string
	priority int
	lazy     bool // operations wait for a flush
	mapped   bool // windows are osc.Mappers
	query    func(w *osc.Win) error
	enable   func(w *osc.Win) error

	mu      sync.Mutex
	meeting map[string]*plainShared // windows that not all members have come to
	log     []string
}

func (p *plainOSC) Framework() string                      { return "osc" }
func (p *plainOSC) Name() string                           { return p.name }
func (p *plainOSC) Options() any                           { return nil }
func (p *plainOSC) Open(env *osc.Env) (osc.Factory, error) { return &plainFactory{p, env}, nil }

func (p *plainOSC) said(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, what)
}

type plainFactory struct {
	p   *plainOSC
	env *osc.Env
}

func (f *plainFactory) Query(w *osc.Win) (int, error) {
	if f.p.query != nil {
		if err := f.p.query(w); err != nil {
			return 0, err
		}
	}
	return f.p.priority, nil
}

func (f *plainFactory) Close() error { return nil }

// plainShared is a window as all members see it.
type plainShared struct {
	mu      sync.Mutex
	mods    []*plainModule
	joined  int
	holders []int // of each member's lock; -1: exclusive
	posts   map[[2]int]int
	ends    map[[2]int]int
	locks   elem.Locks
	memory  []byte // of a shared window
}

func (f *plainFactory) Enable(w *osc.Win) (osc.Module, error) {
	if f.p.enable != nil {
		if err := f.p.enable(w); err != nil {
			return nil, err
		}
	}
	n := w.Comm.Size()
	key := fmt.Sprint(w.Comm.Context(), w.Comm.Group().JobRanks())
	f.p.mu.Lock()
	s := f.p.meeting[key]
	if s == nil {
		s = &plainShared{mods: make([]*plainModule, n), holders: make([]int, n), posts: map[[2]int]int{}, ends: map[[2]int]int{}}
		if f.p.meeting == nil {
			f.p.meeting = map[string]*plainShared{}
		}
		f.p.meeting[key] = s
	}
	m := &plainModule{p: f.p, w: w, s: s}
	s.mods[w.Comm.MyRank] = m
	if s.joined++; s.joined == n {
		delete(f.p.meeting, key)
	}
	f.p.mu.Unlock()
	if err := m.makeMemory(f.env); err != nil {
		return nil, err
	}
	if f.p.mapped {
		return &plainMapper{m}, nil
	}
	return m, nil
}

func (m *plainModule) makeMemory(env *osc.Env) error {
	w := m.w
	if f := m.p; f.enable != nil {
		return nil // not all may come
	}
	if err := w.Coll.Barrier.Barrier(); err != nil {
		return err
	}
	switch {
	case w.Size > 0 && w.Flavor == osc.Allocate:
		r, err := env.Alloc(w.Size)
		if err != nil {
			return err
		}
		w.Memory = r
	case w.Flavor == osc.Shared:
		m.s.mu.Lock()
		at, all := int64(0), int64(0)
		for r, o := range m.s.mods {
			if r < w.Comm.MyRank {
				at += o.w.Size
			}
			all += o.w.Size
		}
		if m.s.memory == nil {
			m.s.memory = make([]byte, all+1)
		}
		w.Memory = core.NewRegion(core.RegionHeap, unsafe.Pointer(&m.s.memory[at]), w.Size, nil)
		m.s.mu.Unlock()
	}
	return w.Coll.Barrier.Barrier()
}

type plainModule struct {
	p        *plainOSC
	w        *osc.Win
	s        *plainShared
	waiting  []osc.Op
	to, from []int
	attached []*core.Region
}

type plainMapper struct{ *plainModule }

func (m *plainMapper) Mapped(rank int) unsafe.Pointer {
	if r := m.s.mods[rank].w.Memory; r != nil {
		return r.Base()
	}
	return nil
}

func (m *plainModule) Issue(op *osc.Op) (bool, error) {
	if m.p.lazy {
		m.waiting = append(m.waiting, *op)
		return false, nil
	}
	return true, m.do(op)
}

// do carries an operation out.
func (m *plainModule) do(op *osc.Op) error {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	t := m.s.mods[op.Rank]
	var base unsafe.Pointer
	if m.w.Flavor == osc.Dynamic {
		first := uintptr(op.Off + op.Low)
		i := slices.IndexFunc(t.attached, func(r *core.Region) bool {
			b := uintptr(r.Base())
			return first >= b && first < b+uintptr(r.Size()) && uintptr(op.Off+op.High) <= b+uintptr(r.Size())
		})
		if i < 0 {
			err := core.NewError(core.ErrRMARange, "no memory is attached at %#x", op.Off)
			err.Peer = op.Rank
			return err
		}
		base = t.attached[i].Base()
		inside := *op
		inside.Off -= int64(uintptr(base))
		op = &inside
	} else {
		base = t.w.Memory.Base()
	}
	var p, q osc.Pieces
	code, ok := elem.Of(op.Acc, op.Type)
	switch op.Kind {
	case osc.Put, osc.Get:
		p.Init(op.Origin, op.Off, op.Count, op.Type)
		for mem, off, n := p.Next(1 << 30); n > 0; mem, off, n = p.Next(1 << 30) {
			at := unsafe.Slice((*byte)(unsafe.Add(base, off)), n)
			if op.Kind == osc.Put {
				copy(at, unsafe.Slice((*byte)(mem), n))
			} else {
				copy(unsafe.Slice((*byte)(mem), n), at)
			}
		}
		return nil
	case osc.CompareAndSwap:
		code, ok = elem.Swap(op.Type)
		if ok {
			code.CompareSwap(unsafe.Add(base, op.Off), op.Compare.Addr(), op.Origin.Addr(), op.Result.Addr(), &m.s.locks)
		}
	case osc.Accumulate:
		p.Init(op.Origin, op.Off, op.Count, op.Type)
		for mem, off, n := p.Next(code.Size()); ok && n > 0; mem, off, n = p.Next(code.Size()) {
			code.Apply(unsafe.Add(base, off), mem, n/code.Size(), &m.s.locks)
		}
	case osc.GetAccumulate:
		p.Init(op.Result, op.Off, op.Count, op.Type)
		if op.Acc != core.NoOp {
			q.Init(op.Origin, op.Off, op.Count, op.Type)
		}
		for mem, off, n := p.Next(code.Size()); ok && n > 0; mem, off, n = p.Next(code.Size()) {
			var operand unsafe.Pointer
			if op.Acc != core.NoOp {
				operand, _, _ = q.Next(code.Size())
			}
			code.Fetch(unsafe.Add(base, off), operand, mem, n/code.Size(), &m.s.locks)
		}
	}
	if !ok {
		return errors.New("no such operation")
	}
	return nil
}

func (m *plainModule) Flush(target int) error {
	list := m.waiting
	m.waiting = m.waiting[:0]
	var first error
	for i := range list {
		if target != osc.AllTargets && list[i].Rank != target {
			m.waiting = append(m.waiting, list[i])
			continue
		}
		err := m.do(&list[i])
		if r := list[i].Request; r != nil {
			r.FinishErr(err)
		} else if first == nil {
			first = err
		}
	}
	return first
}

func (m *plainModule) FlushLocal(target int) error { return m.Flush(target) }

func (m *plainModule) flush() error {
	m.w.Engine.Lock()
	defer m.w.Engine.Unlock()
	return m.Flush(osc.AllTargets)
}

// plainCond is a condition on what the members share.
type plainCond struct {
	m     *plainModule
	holds func() bool
}

func (c plainCond) Done() bool {
	if c.m.w.Comm.Fault() != nil {
		return true
	}
	c.m.s.mu.Lock()
	defer c.m.s.mu.Unlock()
	return c.holds()
}

// await waits until holds, which may change things when it does.
func (m *plainModule) await(holds func() bool) error {
	met := false
	m.w.Engine.Wait(plainCond{m, func() bool {
		met = met || holds()
		return met
	}})
	if f := m.w.Comm.Fault(); f != nil && !met {
		return f.Err
	}
	m.changed()
	return nil
}

// changed has all members look again.
func (m *plainModule) changed() {
	for _, o := range m.s.mods {
		o.w.Engine.Kick()
	}
}

func (m *plainModule) change(f func()) {
	m.s.mu.Lock()
	f()
	m.s.mu.Unlock()
	m.changed()
}

func (m *plainModule) Fence(osc.Assert) error {
	return errors.Join(m.flush(), m.w.Coll.Barrier.Barrier())
}

func (m *plainModule) Start(group []int, _ osc.Assert) error {
	m.to = group
	for _, t := range group {
		at := [2]int{t, m.w.Comm.MyRank}
		if err := m.await(func() bool {
			if m.s.posts[at] == 0 {
				return false
			}
			m.s.posts[at]--
			return true
		}); err != nil {
			return err
		}
	}
	return nil
}

func (m *plainModule) Complete() error {
	err := m.flush()
	m.change(func() {
		for _, t := range m.to {
			m.s.ends[[2]int{t, m.w.Comm.MyRank}]++
		}
	})
	return err
}

func (m *plainModule) Post(group []int, _ osc.Assert) error {
	m.from = group
	m.change(func() {
		for _, o := range group {
			m.s.posts[[2]int{m.w.Comm.MyRank, o}]++
		}
	})
	return nil
}

// over is the condition of Wait and Test.
func (m *plainModule) over() bool {
	for _, o := range m.from {
		if m.s.ends[[2]int{m.w.Comm.MyRank, o}] == 0 {
			return false
		}
	}
	for _, o := range m.from {
		m.s.ends[[2]int{m.w.Comm.MyRank, o}]--
	}
	return true
}

func (m *plainModule) Wait() error { return m.await(m.over) }

func (m *plainModule) Test() (bool, error) {
	m.w.Engine.Lock()
	m.w.Engine.TryPoll()
	m.w.Engine.Unlock()
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	return m.over(), nil
}

func (m *plainModule) Lock(t osc.LockType, target int, _ osc.Assert) error {
	return m.await(func() bool {
		h := &m.s.holders[target]
		switch {
		case t == osc.LockExclusive && *h == 0:
			*h = -1
		case t == osc.LockShared && *h >= 0:
			*h++
		default:
			return false
		}
		return true
	})
}

func (m *plainModule) Unlock(target int) error {
	err := m.flush()
	m.change(func() { m.s.holders[target] = max(m.s.holders[target]-1, 0) })
	return err
}

func (m *plainModule) LockAll(osc.Assert) error {
	for r := range m.s.mods {
		if err := m.Lock(osc.LockShared, r, 0); err != nil {
			return err
		}
	}
	return nil
}

func (m *plainModule) UnlockAll() error {
	err := m.flush()
	for r := range m.s.mods {
		err = errors.Join(err, m.Unlock(r))
	}
	return err
}

func (m *plainModule) Sync() error { return nil }

func (m *plainModule) Free() error { return m.w.Coll.Barrier.Barrier() }

func (m *plainModule) Undo() error {
	m.p.said("undo " + m.p.name)
	return nil
}

func (m *plainModule) Attach(r *core.Region) error {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	for _, o := range m.attached {
		if uintptr(o.Base()) < uintptr(r.Base())+uintptr(r.Size()) && uintptr(r.Base()) < uintptr(o.Base())+uintptr(o.Size()) {
			return core.NewError(core.ErrRMAAttach, "it overlaps what is attached")
		}
	}
	m.attached = append(m.attached, r)
	return nil
}

func (m *plainModule) Detach(base unsafe.Pointer) error {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	m.attached = slices.DeleteFunc(m.attached, func(r *core.Region) bool { return r.Base() == base })
	return nil
}

func (m *plainModule) SharedQuery(rank int) (unsafe.Pointer, int64, error) {
	o := m.s.mods[rank].w
	return o.Memory.Base(), o.Size, nil
}

var (
	_ osc.Module    = (*plainModule)(nil)
	_ osc.Attacher  = (*plainModule)(nil)
	_ osc.Sharer    = (*plainModule)(nil)
	_ osc.Undoer    = (*plainModule)(nil)
	_ osc.Mapper    = (*plainMapper)(nil)
	_ progress.Cond = plainCond{}
)
