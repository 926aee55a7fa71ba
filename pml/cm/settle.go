package cm

import "github.com/ompi-go/ompi-go/core"

// Settling a communicator before it is forgotten: what its members have sent must have come, or it would turn up in the next communicator
// of the same context. An MTL does not count the messages of a pair, but knows when its own have come. So each rank waits for that before the
// members exchange their numbers, which are nought: who has everybody's number has everybody's messages.

// SentOn implements pml.Module.
func (o *module) SentOn(c *core.Comm) []int32 {
	o.engine.Lock()
	defer o.engine.Unlock()
	for !o.mtl.Flushed(c) && !fatal(&c.P2P) {
		o.engine.PollAll()
		o.engine.Lend()
	}
	return make([]int32, c.Peers())
}

// Settle implements pml.Module.
func (o *module) Settle(c *core.Comm, _ []int32) {
	o.engine.Lock()
	defer o.engine.Unlock()
	gone := core.NewError(core.ErrComm, "the communicator was freed, and nobody had sent this message")
	o.engine.PollAll() // what has come to the interface is matched
	for o.endUnmatched(c, gone) != 0 {
		o.engine.PollAll()
		o.engine.Lend()
	}
	o.failProbes(func(ch *core.Channel, _ int) *core.Error {
		if ch != &c.P2P {
			return nil
		}
		return gone
	})
}

// endUnmatched ends the receives on c that nothing has matched, and gives the number of those that something has.
func (o *module) endUnmatched(c *core.Comm, gone *core.Error) int {
	n := 0
	o.eachRecv(func(q *request) {
		if q.m.Ch != &c.P2P {
			return
		}
		if o.takeBack(q) {
			q.finishErr(gone)
		} else if o.recvs.has(q) { // the look for events may have ended it
			n++
		}
	})
	return n
}
