package osc

import (
	"errors"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
)

// Win is a window at one of its members. What a component may look at is exported.
type Win struct {
	Comm   *core.Comm  // the window's own, a duplicate of the one that it was made over; its Context names the window among all members
	Coll   *coll.Table // collectives on Comm
	Engine *progress.Engine
	Flavor Flavor
	Info   *core.Info
	Hints  Hints

	// Memory is this member's: the program's, or what Enable made (of Size bytes). Nil in a dynamic window, and where Size is 0.
	Memory *core.Region
	Size   int64 // in bytes
	Unit   int64 // displacement unit in bytes

	// SameSize and SameUnit tell that those of all members are alike.
	SameSize, SameUnit bool
	// OneHost tells that all members run on this host, OneProcess that they are goroutines of this process.
	OneHost, OneProcess bool

	module    Module
	component string
	layout    layout
	epochs    epochs // guarded by the token, as is all below
	mapper    Mapper // nil: the module is none
	atomic    Atomic // likewise
	mapped    []mapping
	issued    uint64 // operations that were not done at once, and how many of them are known to be complete at their targets
	complete  uint64
	underWay  uint32 // atomic: whether those differ
	flushes   uint32 // atomic: those without anything to do
	spare     *scratch
	reqs      requests
	segments  segments
}

// scratch is an Op for the length of one Issue. There is more than one when goroutines issue at the same time.
type scratch struct {
	Op
	next *scratch
}

// Component is the name of the component that serves the window.
func (w *Win) Component() string { return w.component }

// Spec is what a window is made of.
type Spec struct {
	Comm   *core.Comm // the window's own
	Coll   *coll.Table
	Flavor Flavor
	Info   *core.Info
	Memory *core.Region // of Create; it is the window's from now on
	Size   int64
	Unit   int64
}

// New makes a window, collectively over spec.Comm. An error on one member is one on all. Say tells of fallbacks, with the token held; nil: nobody listens.
func New(list []Opened, say func(key, message string), spec Spec) (*Win, error) {
	w := &Win{Comm: spec.Comm, Coll: spec.Coll, Engine: spec.Comm.Engine, Flavor: spec.Flavor, Info: spec.Info, Memory: spec.Memory, Size: spec.Size, Unit: spec.Unit}
	w.epochs.init(w.Comm.MyRank)
	w.reqs.win = w
	w.OneHost, w.OneProcess = true, true
	for _, p := range w.Comm.Procs {
		w.OneHost = w.OneHost && p.Locality <= core.LocalHost
		w.OneProcess = w.OneProcess && p.Locality <= core.LocalProcess
	}
	hints, err := ParseHints(w.Info)
	w.Hints = hints
	if err == nil {
		err = w.agree()
	}
	if err == nil {
		err = w.enable(list, say)
	}
	if err != nil {
		return nil, errors.Join(err, w.dropMemory())
	}
	if err = w.spread(); err != nil {
		return nil, errors.Join(err, w.undo(w.module), w.dropMemory())
	}
	w.mapper, _ = w.module.(Mapper)
	w.atomic, _ = w.module.(Atomic)
	if w.mapper != nil {
		w.mapped = make([]mapping, w.Comm.Size())
	}
	w.Info = w.Hints.inForce(w.Info, w.Flavor)
	return w, nil
}

// dropMemory lets go of the window's memory.
func (w *Win) dropMemory() error {
	r := w.Memory
	if w.Memory = nil; r == nil {
		return nil
	}
	return r.Unref()
}

// Leave begins to free the window at this member: ErrRMASync, and the window stays, when an epoch is open. Stay takes it back, Free goes on.
func (w *Win) Leave() error {
	w.Engine.Lock()
	defer w.Engine.Unlock()
	return orNil(w.epochs.free())
}

// Stay is for who cannot go after Leave.
func (w *Win) Stay() {
	w.Engine.Lock()
	w.epochs.stay()
	w.Engine.Unlock()
}

// Free ends the window, collectively, after Leave.
func (w *Win) Free() error {
	// Nobody's operations are under way when all have come.
	first := w.Coll.Barrier.Barrier()
	own := w.module.Free()
	if first != nil && core.ClassOf(own) == core.ErrProcFailed {
		own = nil // the same death again
	}
	return errors.Join(first, own, w.segments.drop(), w.dropMemory())
}

// Drop lets go of the memory of a window that was never freed, when its component has been closed.
func (w *Win) Drop() error { return errors.Join(w.segments.drop(), w.dropMemory()) }
