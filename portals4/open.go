package portals4

import (
	"errors"
	"fmt"
	"os"
	"time"

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
	Hub      *shm.Hub           // of goroutine ranks; nil between processes
	Runnable *progress.Runnable // likewise
	UID      *uint32            // user id that peers see; nil: that of the process
}

// sleepAfter is how long who waits polls before it sleeps, agentInterval the time between looks of the agent.
const (
	sleepAfter    = 5 * time.Millisecond
	agentInterval = 100 * time.Microsecond
)

// Open makes an interface for a program that has no instance: with an engine, and an agent that moves it when the program does not (parameter
// portals4_application_bypass). It is collective over the job. The program joins the job, and finalizes it.
func Open(cfg Config) (*Interface, error) {
	job := cfg.Job
	e := progress.New(progress.Config{Cores: rte.HostCores(), LocalRanks: len(job.LocalRanks()), Job: cfg.Runnable, SleepAfter: sleepAfter})
	env := &btl.Env{Params: cfg.Params, Engine: e, Job: job, Dispatch: &btl.Dispatch{}, Registry: cfg.Registry, Hub: cfg.Hub, Services: &btl.Services{}, Fenced: true}
	env.Arch = datatype.ArchNative.Resolve()
	for r := range job.Size() {
		env.Procs = append(env.Procs, &core.Proc{Rank: r, Locality: core.Locality(job.Locality(r))})
	}
	env.Upcalls = alone{}
	i := newInterface(env)
	if cfg.UID != nil {
		i.uid = *cfg.UID
	}
	err := i.start()
	if err == nil {
		i.nals.LookUp()
	}
	if err == nil && env.Bypass {
		err = e.StartAsync(progress.AsyncAgent, agentInterval, 0)
	}
	if err != nil {
		if i.nals != nil {
			e.Lock()
			err = errors.Join(err, i.shut())
			e.Unlock()
		}
		return nil, errors.Join(err, e.Close())
	}
	i.own = func() error { return i.end() }
	job.OnFailure(func(rank int, _ error) {
		e.Lock()
		if rank >= 0 && rank < len(env.Procs) {
			i.ProcFailed(env.Procs[rank])
		}
		e.Unlock()
	})
	return i, nil
}

// end closes an interface of Open: what is under way gets its time.
func (i *Interface) end() error {
	deadline := time.Now().Add(quietTime)
	until := func(done func() bool) {
		for over := false; !over && time.Now().Before(deadline); {
			i.engine.Lock()
			i.engine.PollAll()
			over = done()
			i.engine.Unlock()
			if !over {
				time.Sleep(50 * time.Microsecond)
			}
		}
	}
	until(i.Quiet)
	// Others may not be as far: until all are quiet, this process serves them. Only then it says BYE.
	all := make(chan error, 1)
	go func() { all <- i.env.Job.Fence() }()
	deadline = deadline.Add(quietTime) // theirs, too
	var err error
	until(func() bool {
		select {
		case err = <-all:
			all = nil
		default:
		}
		return all == nil
	})
	if all != nil {
		err = <-all
	}
	until(func() bool { return i.Quiet() && i.nals.Flush() })
	// The last messages may lie in memory of a rank that is done: it must not go before all have read them.
	err = errors.Join(err, i.env.Job.Fence())
	i.engine.StopAsync()
	i.engine.Lock()
	err = errors.Join(err, i.shut())
	i.engine.Unlock()
	return errors.Join(err, i.engine.Close())
}

// quietTime bounds how long Close waits for peers.
const quietTime = 30 * time.Second

// alone are the upcalls of an interface without an instance.
type alone struct{}

func (alone) EndpointFailed(btl.Module, *core.Proc, bool, error) {}

func (alone) Say(_, message string) { fmt.Fprintln(os.Stderr, "portals4:", message) }
