package ob1

import "github.com/ompi-go/ompi-go/core"

// Settling a communicator before it is forgotten: what its members have sent must have come, or it would turn up in the next
// communicator of the same context.

// SentOn implements pml.Module.
func (o *module) SentOn(c *core.Comm) []int32 {
	o.engine.Lock()
	defer o.engine.Unlock()
	m := o.chans[c.P2P.ID]
	out := make([]int32, len(m.ranks))
	for r := range m.ranks {
		out[r] = int32(m.ranks[r].sendSeq)
	}
	return out
}

// settled is the condition that all that was sent to a channel has come.
type settled struct {
	m    *channel
	sent []int32
}

// Done implements progress.Cond. The fields that it reads are the token's: it is waited for with the token held.
func (s *settled) Done() bool {
	if s.m.fault != nil {
		return true
	}
	for r := range s.m.ranks {
		rs := &s.m.ranks[r]
		if (rs.expected != uint16(s.sent[r]) || rs.placing != nil || len(rs.cut) > 0) && s.m.comm.Procs[r].Failed() == nil {
			return false
		}
	}
	return true
}

// Settle implements pml.Module.
func (o *module) Settle(c *core.Comm, sent []int32) {
	o.engine.Lock()
	defer o.engine.Unlock()
	s := &settled{m: o.chans[c.P2P.ID], sent: sent}
	s.m.settling = true
	o.credit.wake()
	for !s.Done() {
		o.engine.PollAll()
		o.engine.Lend()
	}
	gone := core.NewError(core.ErrComm, "the communicator was freed, and nobody had sent this message")
	o.failPosted(s.m, func(*recvReq) *core.Error { return gone })
	o.failProbes(s.m, func(*probe) *core.Error { return gone })
}
