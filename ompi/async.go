package ompi

import (
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
)

// async is the value of mpi_async_progress.
func (o *mpiOptions) async() progress.Async {
	switch o.AsyncProgress {
	case "agent":
		return progress.AsyncAgent
	case "core":
		return progress.AsyncCore
	}
	return progress.AsyncNone
}

// startAsync has the engine driven also while the program computes. The agent gets a processor of the Go scheduler besides those that the program
// may keep busy: waiting for one of these to fall free would take up to 10 ms.
func (i *Instance) startAsync(o *mpiOptions) error {
	mode := o.async()
	if mode == progress.AsyncNone && i.bypass {
		mode = progress.AsyncAgent
	}
	if mode == progress.AsyncNone {
		return nil
	}
	local := max(0, slices.Index(i.job.LocalRanks(), i.job.Rank()))
	cpu := 0
	if mode == progress.AsyncCore {
		var err error
		if cpu, err = rte.SpareCore(local); err != nil {
			return fmt.Errorf("mpi_async_progress core: %w; give it more cores, or set mpi_async_progress to agent", err)
		}
	}
	if mode == progress.AsyncCore || i.shared == nil || local == 0 { // agents of goroutine ranks share one, as they are brief
		i.widened = true
		processors.widen(1)
	}
	if mode == progress.AsyncAgent && i.shared == nil {
		mode = progress.AsyncThread
	}
	if err := i.engine.StartAsync(mode, o.AsyncInterval, cpu); err != nil {
		i.stopAsync()
		return fmt.Errorf("mpi_async_progress %s: %w", o.AsyncProgress, err)
	}
	return nil
}

// stopAsync ends what startAsync began, and may be called in any case.
func (i *Instance) stopAsync() {
	i.engine.StopAsync()
	i.narrow()
}

// narrow gives back the agent's processor.
func (i *Instance) narrow() {
	if i.widened {
		i.widened = false
		processors.widen(-1)
	}
}

// gomaxprocs is the number of processors of the Go scheduler, of which there is one for all instances of the process.
type gomaxprocs struct {
	mu sync.Mutex // between a look and a change
}

var processors = gomaxprocs{mu: sync.Mutex{}}

// widen changes the number.
func (p *gomaxprocs) widen(by int) {
	p.mu.Lock()
	runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)+by))
	p.mu.Unlock()
}
