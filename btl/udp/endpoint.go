package udp

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/inet"
	"github.com/ompi-go/ompi-go/core"
)

// endpoint is the way to one rank.
type endpoint struct {
	m    *module
	proc *core.Proc
	card *inet.Card // nil until read

	live *conn // the connection while frames may flow
	conn *conn // the connection, also while it is being made and when it is over; nil before
	call call

	err  error // why nothing can be sent any more: the peer failed, or left
	dead bool
	told bool // the upper layer knows
	busy bool // among module.busy
}

// MaxInline is the largest payload of SendInline.
func (ep *endpoint) MaxInline() int { return maxInline }

// SendInline copies a small message into a packet.
func (ep *endpoint) SendInline(tag btl.Tag, h0, h1 uint64, data unsafe.Pointer, n int) bool {
	if n > maxInline {
		return false
	}
	if ep.live == nil {
		_ = ep.idle() // the caller's next offer goes through Send, which tells errors
		return false
	}
	return ep.live.sendInline(tag, h0, h1, data, n)
}

// Send takes a fragment. Small ones are done at once, others when all of them has come.
func (ep *endpoint) Send(f *btl.Frag) (done bool, err error) {
	if ep.live == nil {
		return false, ep.idle()
	}
	return ep.live.push(f)
}

// idle is Send's answer without a connection: the endpoint's failure, or to try again while it is being made.
func (ep *endpoint) idle() error {
	switch {
	case ep.err != nil:
		return ep.err
	case ep.m.leaving:
		return fmt.Errorf("btl udp: sending to rank %d after BYE", ep.proc.Rank)
	case !ep.call.on:
		ep.open()
	}
	return btl.ErrAgain
}

// readCard reads the peer's business card, once.
func (ep *endpoint) readCard() error {
	if ep.card != nil {
		return nil
	}
	b, err := ep.m.job.Get(ep.proc.Rank, cardKey)
	if err != nil {
		return fmt.Errorf("btl udp: rank %d has published no address, is the component left out there? %w", ep.proc.Rank, err)
	}
	c, err := inet.ParseCard(b)
	if err != nil {
		return fmt.Errorf("btl udp: rank %d: %w", ep.proc.Rank, err)
	}
	ep.card = &c
	return nil
}

// name is the peer for messages.
func (ep *endpoint) name() string {
	if ep.card != nil && ep.card.Host != "" {
		return fmt.Sprintf("rank %d on %s", ep.proc.Rank, ep.card.Host)
	}
	return fmt.Sprintf("rank %d", ep.proc.Rank)
}

// fail gives the peer up: everything it owns is given back with the error, and Poll tells the upper layer. Once there was a connection,
// messages that were done for this end may have been lost on the way, so that nobody can go on with the peer.
func (ep *endpoint) fail(cause error, dead bool) {
	if ep.err != nil {
		return
	}
	ep.err, ep.dead = cause, dead || ep.conn != nil
	ep.release(cause)
	ep.m.attend(ep)
}

// left is the good end.
func (ep *endpoint) left() {
	if ep.err == nil {
		ep.err, ep.told = fmt.Errorf("btl udp: %s has left the job (it said BYE)", ep.name()), true
		ep.release(ep.err)
	}
}

// release completes everything that the endpoint owns with err.
func (ep *endpoint) release(err error) {
	ep.live, ep.call.on = nil, false
	c := ep.conn
	if c == nil {
		return
	}
	ep.m.batch.flush() // it may refer to what is given back
	if c.bulk.dst != nil {
		c.bulk.abort(ep.proc.Rank, err)
	}
	c.end(func(f *btl.Frag) { f.Owner.FragDone(f, err) })
}

// attend is called from Poll, to tell of the failure.
func (ep *endpoint) attend() {
	if ep.err != nil && !ep.told {
		ep.told = true
		ep.m.env.Upcalls.EndpointFailed(ep.m, ep.proc, ep.dead, ep.err)
	}
}

// step does what is due. It reports whether there will be more.
func (ep *endpoint) step(now int64) bool {
	switch {
	case ep.err != nil:
		return false
	case ep.call.on:
		ep.calling(now)
		return ep.call.on
	case ep.live == nil:
		return false
	}
	c := ep.live
	c.step(now)
	if c.closing && (c.got >= c.closeNo || now-c.closeAt > closeWait) {
		ep.closed()
		return false
	}
	if t := ep.m.opts.Timeout.Microseconds(); t > 0 && c.silence(now) >= t {
		ep.silent()
		return false
	}
	return !c.idle() || c.closing
}

// closeWait is how long the last data packets may come after the peer has said that it closes, in microseconds.
const closeWait = 50_000

// silent gives up a peer that does not answer.
func (ep *endpoint) silent() {
	if ep.live.byeIn {
		ep.left()
		return
	}
	ep.fail(fmt.Errorf("btl udp: %s at %s has not answered %d packets in %v (btl_udp_timeout): the process has died or is stopped, or its host or the network to it is gone",
		ep.name(), addrOf(&ep.live.name), ep.live.probes, ep.m.opts.Timeout), true)
}

// closed is told that the peer has forgotten the connection.
func (ep *endpoint) closed() {
	if ep.live.byeIn {
		ep.left()
		return
	}
	ep.fail(fmt.Errorf("btl udp: %s at %s has given this process up, or ended without BYE", ep.name(), addrOf(&ep.live.name)), true)
}

// deadline is when step wants to be called; 0: at no time.
func (ep *endpoint) deadline() int64 {
	switch {
	case ep.call.on:
		return ep.call.at
	case ep.live == nil:
		return 0
	case ep.live.closing:
		return ep.live.closeAt + closeWait
	}
	return ep.live.deadline()
}

// lingering is how many times a peer is asked that has said BYE itself: it is driven until it goes, so it has gone if it does not answer.
const lingering = 5

func (ep *endpoint) flush() bool {
	if ep.err != nil {
		return true
	}
	c := ep.live
	if c == nil {
		ep.call.on = false
		return true
	}
	c.bye()
	return c.byeOut && c.una == c.next || c.byeOut && c.byeIn && c.probes >= lingering
}

// close says that the connection is over, and lets go of everything.
func (ep *endpoint) close() {
	if c := ep.conn; c != nil && ep.err == nil {
		if c.up {
			c.bye()
			c.pump(ep.m.now)
		}
		c.transmit(kindClose, c.sent, nil, nil, 0)
		ep.m.batch.flush()
	}
	if ep.err == nil {
		ep.err, ep.told = errClosed, true
	}
	ep.release(errClosed)
}

var errClosed = errors.New("btl udp: closed")
