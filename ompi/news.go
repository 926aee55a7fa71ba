package ompi

import (
	"errors"
	"sync"
	"time"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/rte"
)

// newsGrace is how long a death that this rank has noticed by itself waits for the launcher's word.
const newsGrace = 3 * time.Second

// deathNews lets the launcher be the first to speak of a death. A rank sees a peer's end as soon as the kernel does, and may then
// end with an error of its own before the launcher has looked: the launcher would take it for the one that failed first, tell
// the user of consequences beside the cause, and exit with the wrong status. So an error that says that a process has failed
// leaves this library when the launcher has told of that death (mpirun --on-failure continue), or has ended the job (all others,
// commonly), or has done neither for a while.
type deathNews struct {
	launched bool // there is a launcher that watches

	mu     sync.Mutex
	told   []bool      // by job rank: the launcher has said so
	since  []time.Time // by job rank: when an error first had to wait; zero when none has
	change chan struct{}
}

func (n *deathNews) init(job rte.Job) {
	switch job.Launcher() {
	case "mpirun", "pmi":
		n.launched = true
	}
	n.told, n.since, n.change = make([]bool, job.Size()), make([]time.Time, job.Size()), make(chan struct{})
}

// tell notes the launcher's word.
func (n *deathNews) tell(rank int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told[rank] = true
	close(n.change)
	n.change = make(chan struct{})
}

// await returns when err, which says that a process has failed, may leave. The token is not held.
func (n *deathNews) await(c *Comm, err error) {
	var e *core.Error
	if !n.launched || !errors.As(err, &e) {
		return
	}
	rank := c.dead(e.Peer)
	if rank < 0 {
		return
	}
	for {
		n.mu.Lock()
		told, change := n.told[rank], n.change
		if n.since[rank].IsZero() {
			n.since[rank] = time.Now()
		}
		left := newsGrace - time.Since(n.since[rank])
		n.mu.Unlock()
		if told || left <= 0 {
			return
		}
		t := time.NewTimer(left)
		select {
		case <-change:
		case <-t.C:
		}
		t.Stop()
	}
}

// dead is the job rank of the dead process that an error of c names; -1 when it names none. A member of the local group of an
// intercommunicator has no rank in errors, so any dead one of them will do.
func (c *Comm) dead(peer int) int {
	if peer >= 0 && peer < len(c.c.Procs) {
		return c.c.Procs[peer].Rank
	}
	if c.local != nil && peer == Undefined {
		for _, p := range c.local.c.Procs {
			if p.Failed() != nil {
				return p.Rank
			}
		}
	}
	return -1
}
