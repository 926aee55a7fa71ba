package ob1

import "fmt"

// What comes before its turn is kept: messages of communicators that this rank has not made yet, and messages that overtook others of
// their sender. A peer in order has few of them, or as many as it can send while this rank makes a communicator; one that is not
// could eat the memory. So they are bounded for each peer; who keeps to its credit (credit.go) never comes to the bound, since it
// is no less than the credit.

// early counts what is kept of one peer.
type early struct {
	messages int
	bytes    int64
}

// keepEarly accounts for a message with n bytes that is to be kept, or gives its sender up.
func (o *module) keepEarly(peer, n int) bool {
	e := &o.early[peer]
	var limit string
	switch {
	case o.opt.EarlyMessages > 0 && e.messages >= max(o.opt.EarlyMessages, int(o.credit.mayHold(peer)/smallCost)):
		limit = fmt.Sprintf("pml_ob1_early_messages is %d", o.opt.EarlyMessages)
	case o.opt.EarlyBytes > 0 && e.bytes+int64(n) > max(o.opt.EarlyBytes, o.credit.mayHold(peer)):
		limit = fmt.Sprintf("pml_ob1_early_bytes is %d", o.opt.EarlyBytes)
	default:
		e.messages++
		e.bytes += int64(n)
		return true
	}
	o.refuse(peer)
	if p := o.procs[peer]; p.Failed() == nil {
		o.env.Upcalls.EndpointFailed(nil, p, true, fmt.Errorf("rank %d has sent too much before its time: %d messages with %d bytes, for communicators that this "+
			"rank has not made or ahead of messages that have not come, are kept (%s); a communicator is made by all its members", peer, e.messages, e.bytes, limit))
	}
	return false
}

// due takes a kept message off the account: its turn has come, or never will.
func (o *module) due(s *message) {
	e := &o.early[s.from]
	e.messages--
	e.bytes -= int64(len(s.payload))
}
