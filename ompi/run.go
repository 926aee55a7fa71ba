package ompi

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

// Main is a whole program: Init, body, Finalize, exit status (0, or the error's code after reporting it once).
func Main(body func(world *Comm) error) {
	job, err := rte.Join(rte.Options{})
	if err != nil {
		say("%v", err)
		os.Exit(1)
	}
	exit := func(err error) {
		msg := err.Error()
		if r, ok := job.(rte.Reporter); !ok || !r.Report(msg) {
			if s, ok := job.(rte.Sayer); !ok || !s.SayOnce(reportKey(msg), msg) {
				say("rank %d: %s", job.Rank(), msg)
			}
			if e, ok := job.(rte.Ender); ok {
				e.End(exitCode(err))
			}
		}
		os.Exit(exitCode(err))
	}
	i, err := newInstance(place{job: job}, options{})
	if err != nil {
		exit(err)
	}
	if err := body(i.World()); err != nil {
		exit(err)
	}
	if i.finalized.Load() {
		return
	}
	if err := i.Finalize(); err != nil {
		exit(err)
	}
}

// reportKey is the same for ranks that end with the same error, most likely a wrong parameter.
func reportKey(msg string) string {
	h := fnv.New64a()
	h.Write([]byte(msg)) // never fails
	return fmt.Sprintf("report-%x", h.Sum64())
}

// Init joins the job this process was started in (a PMI launcher's), or makes a job of one.
func Init(opts ...Option) (*Instance, error) {
	var o options
	for _, f := range opts {
		f(&o)
	}
	job, err := rte.Join(rte.Options{})
	if err != nil {
		return nil, &core.Error{Class: ErrOther, Op: "Init", Peer: Undefined, Index: -1, Err: err}
	}
	return newInstance(place{job: job}, o)
}

// Run runs n ranks as goroutines of this process. Cancelling ctx fails every pending operation with ctx's cause. A panic or
// Abort in one rank ends the job, not the process: Run returns an *Error with rank, code and, for a panic, the stack.
func Run(ctx context.Context, n int, body func(world *Comm) error, opts ...Option) error {
	if n < 1 {
		return core.NewError(ErrArg, "Run with %d ranks", n)
	}
	var o options
	for _, f := range opts {
		f(&o)
	}
	if err := ctx.Err(); err != nil {
		return &core.Error{Class: ErrProcAborted, Op: "Run", Peer: Undefined, Index: -1, Err: context.Cause(ctx)}
	}
	j := &localJob{hub: rte.NewHub(n), memory: shm.NewHub(n), opt: o, body: body, ranks: make([]*Instance, n)}
	j.bodies.Store(int32(n))
	var wg sync.WaitGroup
	for r := range n {
		wg.Add(1)
		j.runnable.Enter()
		go func() {
			defer wg.Done()
			defer j.runnable.Leave()
			j.rank(ctx, r)
		}()
	}
	over := make(chan struct{})
	watch := make(chan struct{})
	go func() {
		defer close(watch)
		select {
		case <-ctx.Done():
			j.cancel(&core.Error{Class: ErrProcAborted, Peer: Undefined, Index: -1, Err: context.Cause(ctx)})
			j.hub.Job(0).Abort(1, context.Cause(ctx).Error())
		case <-j.hub.Done():
			j.cancel(&core.Error{Class: ErrProcAborted, Peer: Undefined, Index: -1, Err: j.reason()})
		case <-over:
		}
	}()
	wg.Wait()
	close(over)
	<-watch
	for _, i := range j.ranks { // ranks that failed have not finalized
		if i != nil && i.wedged.Load() {
			i.engine.Abandon()
			i.narrow()
			continue
		}
		if i != nil && i.finalized.CompareAndSwap(false, true) {
			_ = i.teardown() // the failure is the error to tell
			_ = i.writeTrace()
		}
	}
	written := j.writeTraces()
	if err := j.result(ctx); err != nil || written == nil {
		return err
	}
	return &core.Error{Class: ErrOther, Op: "Finalize", Peer: Undefined, Index: -1, Err: written}
}

// localJob is a job of goroutine ranks.
type localJob struct {
	hub      *rte.Hub
	memory   *shm.Hub
	runnable progress.Runnable
	bodies   atomic.Int32 // ranks that have not ended
	opt      options
	body     func(*Comm) error

	mu        sync.Mutex
	ranks     []*Instance
	cancelled *core.Error
	first     *core.Error // what ended the job
}

func (j *localJob) cancel(err *core.Error) {
	j.mu.Lock()
	j.cancelled = err
	all := append([]*Instance(nil), j.ranks...)
	j.mu.Unlock()
	for _, i := range all {
		if i != nil {
			i.cancel(err)
		}
	}
}

func (j *localJob) reason() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.first != nil {
		return j.first
	}
	return j.hub.Err()
}

// fail records the first failure and ends the job.
func (j *localJob) fail(rank, code int, err *core.Error) {
	j.mu.Lock()
	if j.first == nil && j.cancelled == nil {
		j.first = err
	}
	j.mu.Unlock()
	j.hub.Job(rank).Abort(code, err.Error())
}

func (j *localJob) result(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.first != nil {
		return j.first
	}
	if j.cancelled != nil {
		if err := ctx.Err(); err != nil {
			return &core.Error{Class: ErrProcAborted, Op: "Run", Peer: Undefined, Index: -1, Err: context.Cause(ctx)}
		}
		if err := j.hub.Err(); err != nil {
			return abortOf(err) // it was noticed before the rank that aborted had ended
		}
		return j.cancelled
	}
	if err := j.hub.Err(); err != nil {
		return abortOf(err)
	}
	return nil
}

func abortOf(err error) *core.Error {
	var a *rte.AbortError
	if errors.As(err, &a) {
		return &core.Error{Class: ErrProcAborted, Op: "Run", Peer: a.Rank, Index: -1, Err: &abortError{a.Rank, a.Code, a.Msg}}
	}
	return &core.Error{Class: ErrProcAborted, Op: "Run", Peer: Undefined, Index: -1, Err: err}
}

// rank is the life of one goroutine rank.
func (j *localJob) rank(_ context.Context, r int) {
	defer j.serve(r)
	normal := false
	defer func() {
		if normal {
			return
		}
		if p := recover(); p != nil {
			stack := debug.Stack()
			j.inquire(r)
			j.fail(r, 2, &core.Error{Class: ErrProcAborted, Op: "Run", Peer: r, Index: -1, Err: fmt.Errorf("panic in rank %d: %v\n%s", r, p, stack)})
			return
		}
		// Goexit: Abort has spoken already; a body that calls runtime.Goexit itself has not.
		j.fail(r, 1, abortOf(j.abortReason(r)))
	}()
	at := place{job: j.hub.Job(r), hub: j.memory, runnable: &j.runnable}
	i, err := newInstance(at, j.opt)
	if err != nil {
		normal = true
		j.fail(r, 1, asError(err, r))
		return
	}
	j.mu.Lock()
	j.ranks[r] = i
	cancelled := j.cancelled
	j.mu.Unlock()
	if cancelled != nil {
		i.cancel(cancelled)
	}
	err = j.body(i.World())
	if err == nil && !i.finalized.Load() {
		err = i.Finalize()
	}
	if err != nil {
		j.fail(r, exitCode(err), asError(err, r))
	}
	normal = true
}

// serve is the end of a rank. One that has ended without finalizing goes on with what it has under way until all have ended: others may
// wait for the rest of a payload of it, or for room that it makes by taking what they have sent.
func (j *localJob) serve(r int) {
	j.bodies.Add(-1)
	j.mu.Lock()
	i := j.ranks[r]
	j.mu.Unlock()
	for i != nil && !i.wedged.Load() && !i.finalized.Load() && j.bodies.Load() > 0 && i.engine.LockFor(wedgedAfter) {
		i.engine.PollAll()
		i.engine.Unlock()
		time.Sleep(100 * time.Microsecond)
	}
}

// wedgedAfter is how long the token of a rank that has panicked must be taken for it to be gone.
const wedgedAfter = time.Second

// inquire finds out whether the panic of a rank came in the middle of an operation, such as one on memory that there is not, and has left
// the engine's token taken for ever. Then nobody touches the instance any more: what it was doing is half done.
func (j *localJob) inquire(r int) {
	j.mu.Lock()
	i := j.ranks[r]
	j.mu.Unlock()
	if i == nil {
		return
	}
	if i.engine.LockFor(wedgedAfter) {
		i.engine.Unlock()
		return
	}
	i.wedged.Store(true)
}

func (j *localJob) abortReason(r int) error {
	if err := j.hub.Err(); err != nil {
		return err
	}
	return &rte.AbortError{Rank: r, Code: 1, Msg: "the rank's goroutine exited"}
}

func asError(err error, rank int) *core.Error {
	return &core.Error{Class: core.ClassOf(err), Op: "Run", Peer: rank, Index: -1, Err: err}
}

// abortGoroutine ends the calling goroutine after Abort: the job is over, nothing more may run in this rank.
func abortGoroutine() { runtime.Goexit() }
