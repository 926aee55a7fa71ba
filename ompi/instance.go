package ompi

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

// Instance is one rank's MPI: its parameters, components, progress engine and communicators. A process may hold many.
type Instance struct {
	job       rte.Job
	params    *mca.Params
	engine    *progress.Engine
	procs     []*core.Proc
	shm       *shm.Domain
	modules   []btl.Module
	services  btl.Services
	bml       bml.Manager
	pml       pml.Module
	coll      []coll.Factory
	osc       []osc.Opened
	tagUB     int
	intercept Interceptor
	errh      atomic.Pointer[Errhandler]

	world, self *Comm
	council     *council

	mu         sync.Mutex // guards comms, contexts, bsend
	comms      map[*Comm]struct{}
	contexts   contextSet
	bsend      bsendBuffer
	finalizing atomic.Bool
	finalized  atomic.Bool
	wedged     atomic.Bool                // see localJob.inquire
	fatal      atomic.Pointer[core.Error] // the instance is cancelled
	ops        pendingOps
	watches    sync.Pool // of *watch
	pairs      pairPool
	partWork   partWork
	said       map[string]uint64 // fallbacks by key; guarded by the token
	news       deathNews
	trace      tracing
	userErrors userErrors
	mem        memory
	metrics    func() prometheus.Gatherer // made when first called
	shared     *progress.Runnable         // of the goroutine ranks of this process; nil: this is the only one
	bypass     bool                       // a component wants progress while the program computes
	widened    bool                       // GOMAXPROCS is one more for the agent's sake
}

// place is what a launcher or Run knows about where an instance lives.
type place struct {
	job      rte.Job
	hub      *shm.Hub
	runnable *progress.Runnable
}

func newInstance(at place, opt options) (inst *Instance, err error) {
	reg, err := mca.NewRegistry(opt.components...)
	if err != nil {
		return nil, &core.Error{Class: ErrArg, Op: "Init", Peer: Undefined, Index: -1, Err: err}
	}
	in := mca.DefaultInput()
	in.Settings = append(in.Settings, opt.settings...)
	in.Warn = func(msg string) {
		if at.job.Rank() == 0 {
			say("%s", msg)
		}
	}
	params, err := mca.Load(reg, in)
	if err != nil {
		return nil, &core.Error{Class: ErrArg, Op: "Init", Peer: Undefined, Index: -1, Err: err}
	}
	i := &Instance{job: at.job, params: params, intercept: opt.interceptor, shared: at.runnable, comms: make(map[*Comm]struct{}), said: make(map[string]uint64)}
	i.metrics = sync.OnceValue(i.newMetrics)
	var mpi mpiOptions
	if err := params.Decode("mpi", "", &mpi); err != nil {
		return nil, err
	}
	i.trace = newTracing(&mpi, at.job.Rank())
	local := at.job.LocalRanks()
	i.news.init(at.job)
	i.engine = progress.New(progress.Config{Cores: rte.HostCores(), LocalRanks: len(local), Job: at.runnable, Yield: mpi.yield(), SleepAfter: sleepAfter(mpi.SleepAfter)})
	if err := i.watchOptions(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = i.teardown() // the first error is the one to tell
		}
	}()
	i.procs = make([]*core.Proc, at.job.Size())
	for r := range i.procs {
		i.procs[r] = &core.Proc{Rank: r, Locality: core.Locality(at.job.Locality(r))}
	}
	arch, err := mpi.arch(at.job.Rank())
	if err != nil {
		return nil, err
	}
	if err := i.open(reg, at, len(local), arch, mpi.isMixed()); err != nil {
		return nil, initError(err)
	}
	if err := i.startAsync(&mpi); err != nil {
		return nil, initError(err)
	}
	i.job.OnScrape(i.scrape)
	if w, ok := i.job.(rte.Whereabouter); ok {
		w.OnWhere(i.underWay)
	}
	return i, nil
}

// initError is err as an error of Init.
func initError(err error) error {
	if e := itself(err); e != nil && e.Op == "" {
		full := *e // e may be shared
		full.Op = "Init"
		return &full
	}
	return &core.Error{Class: core.ClassOf(err), Op: "Init", Peer: Undefined, Index: -1, Err: err}
}

func sleepAfter(d time.Duration) time.Duration {
	if d < 0 {
		return 0
	}
	return d
}

// open opens the components floor by floor, meeting the other ranks when all business cards are written.
func (i *Instance) open(reg *mca.Registry, at place, local int, arch datatype.Arch, mixed bool) error {
	if err := rte.PutArch(i.job, arch); err != nil {
		return err
	}
	if err := i.announceTrace(); err != nil {
		return err
	}
	env := &btl.Env{Params: i.params, Engine: i.engine, Job: i.job, Arch: arch, Mixed: mixed, Procs: i.procs, Dispatch: &btl.Dispatch{}, Upcalls: (*upcalls)(i),
		Registry: reg, Hub: at.hub, Services: &i.services}
	if local > 1 && (i.params.Selection("btl").Allows("sm") || slices.Contains(i.params.Selection("btl").Names(), "unimem") || i.params.Selection("coll").Allows("sm")) {
		var so shm.Options
		if err := i.params.Decode("shm", "", &so); err != nil {
			return err
		}
		d, err := shm.Open(shm.Config{Job: i.job, Engine: i.engine, Options: so, Hub: at.hub})
		if err != nil {
			env.ShmErr = err
		}
		i.shm, env.Shm = d, d
	}
	if err := i.mem.open(i); err != nil {
		return err
	}
	for _, c := range reg.Components("btl") {
		if !i.params.Selection("btl").Allows(c.Name()) {
			continue
		}
		mods, err := c.(btl.Component).Open(env)
		if errors.Is(err, btl.ErrUnavailable) {
			env.Refused = append(env.Refused, c.Name()+": "+strings.TrimPrefix(err.Error(), btl.ErrUnavailable.Error()+": "))
			continue
		}
		if err != nil {
			return fmt.Errorf("btl %s: %w", c.Name(), err)
		}
		i.modules = append(i.modules, mods...)
	}
	if env.ShmErr != nil {
		if err := i.withoutShm(env.ShmErr); err != nil {
			return err
		}
	}
	if err := i.openBML(reg, env); err != nil {
		return err
	}
	if err := i.openPML(reg, env); err != nil {
		return err
	}
	if err := i.agreeOnPML(); err != nil {
		return err
	}
	env.Fenced = true
	i.job.OnFailure(i.launcherSaysDead)
	i.tagUB = i.pml.MaxTag()
	if err := i.openComms(reg, env); err != nil {
		return err
	}
	i.bypass = env.Bypass
	return nil
}

// withoutShm says that other transports do the work of shared memory, or that there are none.
func (i *Instance) withoutShm(cause error) error {
	var others []string
	for _, m := range i.modules {
		if m.Name() != "self" && !slices.Contains(others, m.Name()) {
			others = append(others, m.Name())
		}
	}
	if len(others) == 0 {
		return fmt.Errorf("no shared memory on this host, and the parameter btl allows nothing else between processes: %w", cause)
	}
	(*upcalls)(i).Say("shm", fmt.Sprintf("no shared memory on this host, using %s instead: %v", strings.Join(others, ", "), cause))
	return nil
}

// openBML opens the manager of the BTLs.
func (i *Instance) openBML(reg *mca.Registry, env *btl.Env) error {
	for _, c := range reg.Components("bml") {
		if i.params.Selection("bml").Allows(c.Name()) {
			m, err := c.(bml.Component).Open(env, i.modules)
			if err != nil {
				return fmt.Errorf("bml %s: %w", c.Name(), err)
			}
			i.bml = m
			break
		}
	}
	return nil
}

func (i *Instance) openComms(reg *mca.Registry, env *btl.Env) error {
	var err error
	i.coll, err = coll.Open(reg, i.params, &coll.Env{Params: i.params, Job: i.job, PML: i.pml, Shm: i.shm, Trace: i.trace.ring, Say: (*upcalls)(i).Say, Mixed: env.Mixed, Env: env})
	if err != nil {
		return err
	}
	if i.osc, err = osc.Open(reg, i.params, &osc.Env{Params: i.params, Job: i.job, PML: i.pml, BML: i.bml, Shm: i.shm, Btl: env, Alloc: func(n int64) (*core.Region, error) { return i.newRegion(max(n, 1)) }, Say: (*upcalls)(i).Say}); err != nil {
		return err
	}
	all := make([]int, i.job.Size())
	for r := range all {
		all[r] = r
	}
	for k := range uint32(contextsTaken) {
		i.contexts.take(k)
	}
	me := i.job.Rank()
	self, world := i.prepare(core.NewGroup([]int{me}, me), "MPI_COMM_SELF"), i.prepare(core.NewGroup(all, me), "MPI_COMM_WORLD")
	if err := i.enable(self, []uint32{contextSelf}); err != nil {
		return err
	}
	if err := i.enable(world, []uint32{contextWorld}); err != nil {
		return err
	}
	i.self, i.world = self, world
	i.compareClocks()
	return i.openCouncil()
}

// World is the communicator of all ranks of the job.
func (i *Instance) World() *Comm { return i.world }

// Self is the communicator of this rank alone.
func (i *Instance) Self() *Comm { return i.self }

// procFailed makes a process's failure known to everything that waits for it. The token is held.
func (i *Instance) procFailed(p *core.Proc, cause error) {
	if !p.Fail(cause) {
		return
	}
	i.engine.Alarm()
	i.mu.Lock()
	for c := range i.comms {
		if c.c.Has(p.Rank) {
			c.c.SetFault(&core.Fault{Err: c.c.DeathOf(p)})
		}
	}
	i.mu.Unlock()
	if i.pml != nil {
		i.pml.ProcFailed(p)
	}
	i.tellCollectives(func(c *core.Comm) bool { return c.Has(p.Rank) })
	if i.council != nil {
		i.council.died++
	}
	i.engine.Kick()
}

// tellCollectives tells the collective and the one-sided components of the communicators that have got a fault. The token is held.
func (i *Instance) tellCollectives(faulty func(c *core.Comm) bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	tell := func(l interface{ CommFailed(c *core.Comm) }) {
		for c := range i.comms {
			if faulty(c.c) {
				l.CommFailed(c.c)
			}
		}
	}
	for _, f := range i.coll {
		if l, ok := f.(coll.FaultListener); ok {
			tell(l)
		}
	}
	for _, o := range i.osc {
		if l, ok := o.Factory.(osc.FaultListener); ok {
			tell(l)
		}
	}
}

func (i *Instance) launcherSaysDead(rank int, cause error) {
	if rank == i.job.Rank() || rank < 0 || rank >= len(i.procs) {
		return
	}
	defer i.news.tell(rank)
	i.engine.Lock()
	for n := 0; n < 1000 && i.engine.PollAll() > 0; n++ {
		// what it had sent is delivered first
	}
	i.procFailed(i.procs[rank], cause)
	i.engine.Unlock()
}

// cancel fails everything pending and everything to come with err.
func (i *Instance) cancel(err *core.Error) {
	if !i.fatal.CompareAndSwap(nil, err) {
		return
	}
	i.engine.Alarm()
	for !i.engine.LockFor(wedgedAfter / 4) {
		if i.wedged.Load() {
			return
		}
	}
	i.mu.Lock()
	for c := range i.comms {
		c.c.SetFault(&core.Fault{Err: err, Fatal: true})
		i.pml.CommFailed(c.c)
	}
	i.mu.Unlock()
	if m, ok := i.pml.(pml.Canceller); ok {
		m.Cancelled(err)
	}
	i.tellCollectives(func(*core.Comm) bool { return true })
	i.ops.cancel(err)
	if i.council != nil {
		i.council.cancelled(err)
	}
	i.engine.Unlock()
	i.engine.Kick()
}

// Abort ends the job; its launcher reports code as exit status. In a process it does not return; in a goroutine rank it ends the
// calling goroutine.
func (i *Instance) Abort(code int) { i.abort(code, "") }

func (i *Instance) abort(code int, msg string) {
	i.job.Abort(code, msg)
	abortGoroutine()
}

// finalizeQuiet bounds how long Finalize waits for the last messages to leave once all ranks have come to it.
const finalizeQuiet = 30 * time.Second

// Finalize ends the instance (MPI-3.1 §8.7). It is collective: it returns when all ranks have called it. Attributes of Self are
// deleted first, while everything still works, the one set last first (MPI-3.1 §8.7.1).
func (i *Instance) Finalize() error { return i.call("Finalize", i.finalize) }

func (i *Instance) finalize() error {
	var refused error
	if !i.finalized.Load() {
		refused = i.self.attrs.Clear()
	}
	if !i.finalized.CompareAndSwap(false, true) {
		return &core.Error{Class: ErrOther, Op: "Finalize", Peer: Undefined, Index: -1, Err: errors.New("called twice")}
	}
	var err error
	if i.job.Size() > 1 && i.fatal.Load() == nil {
		if f, ok := i.pml.(pml.Finisher); ok {
			i.engine.Lock()
			f.Finishing()
			i.engine.Unlock()
		}
		err = i.world.coll.Finish.Finish()
		i.finalizing.Store(true)
		if errors.Is(err, ErrProcFailed) {
			err = i.finishWithoutDead()
		} else {
			i.drain()
			// The last messages may lie in memory of a rank that is done: it must not go before all have read them.
			if e := i.job.Fence(); err == nil && i.fatal.Load() == nil {
				err = e
			}
		}
	}
	if e := i.teardown(); err == nil && i.fatal.Load() == nil {
		err = e
	}
	if e := i.writeTrace(); err == nil {
		err = e
	}
	if e := i.job.Finalize(); err == nil {
		err = e
	}
	if err == nil && refused != nil {
		err = callbackError("Finalize", "delete", refused)
	}
	return i.world.explain("Finalize", err)
}

// finishWithoutDead waits for the living only; the death was reported where it mattered. This rank may have given up a
// collective that others are still in: it serves them until the launcher says that all have come. What it has left to send
// then, nobody wants.
func (i *Instance) finishWithoutDead() error {
	i.meetLiving()
	all := make(chan error, 1)
	go func() { all <- i.job.Fence() }()
	for {
		i.engine.Lock()
		i.engine.PollAll()
		i.engine.Unlock()
		select {
		case err := <-all:
			i.flush(time.Now().Add(flushTime))
			return err
		case <-time.After(50 * time.Microsecond):
		}
	}
}

// meetLiving has what serves others look them up as long as the job answers.
func (i *Instance) meetLiving() {
	i.engine.Lock()
	defer i.engine.Unlock()
	for _, s := range i.services.All() {
		if m, ok := s.(btl.Meeter); ok {
			for _, p := range i.procs {
				if p.Failed() == nil {
					m.Meet(p)
				}
			}
		}
	}
}

// flushTime bounds how long BYEs may take to leave when a rank has died.
const flushTime = 100 * time.Millisecond

// flush says BYE to whoever still listens.
func (i *Instance) flush(deadline time.Time) {
	for out := false; !out && time.Now().Before(deadline); time.Sleep(50 * time.Microsecond) {
		out = true
		i.engine.Lock()
		i.engine.PollAll()
		for _, m := range i.modules {
			out = m.Flush() && out
		}
		for _, s := range i.services.All() {
			out = s.Flush() && out
		}
		i.engine.Unlock()
	}
}

// drain moves until everything this rank has to send is out.
func (i *Instance) drain() {
	deadline := time.Now().Add(finalizeQuiet)
	for {
		i.engine.Lock()
		i.engine.PollAll()
		quiet := i.pml.Quiet()
		for _, m := range i.modules {
			quiet = quiet && m.Flush()
		}
		for _, s := range i.services.All() {
			quiet = quiet && s.Quiet() && s.Flush()
		}
		i.engine.Unlock()
		if quiet {
			return
		}
		if time.Now().After(deadline) {
			fmt.Fprintf(os.Stderr, "ompi: rank %d: Finalize gave up on messages that nobody receives\n", i.job.Rank())
			return
		}
		time.Sleep(50 * time.Microsecond)
	}
}

// teardown closes what was opened, in reverse order: also communicators that the program has not freed.
func (i *Instance) teardown() error {
	i.finalizing.Store(true)
	i.stopAsync()
	var errs []error
	if i.council != nil {
		i.council.close()
	}
	i.mu.Lock()
	comms := slices.Collect(maps.Keys(i.comms))
	i.mu.Unlock()
	for _, c := range comms {
		c.freed.Store(true) // the fast paths look at this alone
		if c.coll != nil {
			errs = append(errs, c.coll.Close())
		}
	}
	i.leaveWindows(comms)
	i.engine.Lock()
	for _, o := range slices.Backward(i.osc) {
		errs = append(errs, o.Factory.Close())
	}
	errs = append(errs, i.dropWindows(comms))
	if i.pml != nil {
		errs = append(errs, i.pml.Close())
	}
	for _, m := range slices.Backward(i.modules) {
		errs = append(errs, m.Close())
	}
	for _, s := range slices.Backward(i.services.All()) {
		errs = append(errs, s.Close())
	}
	errs = append(errs, i.mem.close())
	if i.shm != nil {
		errs = append(errs, i.shm.Close())
	}
	i.engine.Unlock()
	return errors.Join(append(errs, i.engine.Close())...)
}
