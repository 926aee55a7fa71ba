package ompi

import (
	"time"

	"github.com/ompi-go/ompi-go/pml"
)

// underWayWait is how long underWay waits for the engine's token: less than mpirun waits for the answer.
const underWayWait = 300 * time.Millisecond

// underWay says what messages this rank has under way, for mpirun --timeout.
func (i *Instance) underWay() string {
	p, ok := i.pml.(pml.Pender)
	if !ok {
		return ""
	}
	said := make(chan string, 1)
	go func() { // it ends when the token is free
		i.engine.Lock()
		defer i.engine.Unlock()
		said <- p.Pending()
	}()
	select {
	case s := <-said:
		return s
	case <-time.After(underWayWait):
		return "its engine is busy"
	}
}
