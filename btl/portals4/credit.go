package portals4

import (
	"errors"
	"fmt"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/portals4"
)

// Credit. A sender has none until it asks (ASK), with its first message. The receiver then promises it so many bytes and messages, links blocks
// for them, and says so (CREDIT); what it has delivered it gives back in halves. What is promised to all has room in the blocks and in the
// event queue at any time, so that neither runs out, whoever does not poll for however long. A promise is at least two of the largest messages: a
// sender whose largest message finds no room has half of it under way, which comes back once it is delivered.
//
// ASK and CREDIT have no bytes and need none themselves, but events. The queue has room for those of all ranks: of one there is an ASK, the first
// CREDIT, and at most four that give back, since its sender cannot send more than its credit without having seen them.

// leastMsgs is the least promise, in messages.
const leastMsgs = 8

// mayTake reports whether there is credit for a message of n bytes.
func (l *link) mayTake(n int) bool {
	if l.count > 0 && l.room >= int64(n) {
		return true
	}
	l.m.stats.waits++
	if !l.asked && l.put(l.m.quick, words{meta: kindAsk << 60, match: cardVersion}, nil, nil) == nil {
		l.asked = true
	}
	return false
}

// took pays for a message of n bytes.
func (l *link) took(n int) {
	l.room -= int64(n)
	l.count--
}

// came: a PUT event of a block.
func (m *module) came(b *block, ev *portals4.Event) {
	m.recv.passed(b)
	if rank := int(ev.Initiator.Rank); uint64(ev.Initiator.Rank) < uint64(len(m.links)) && rank != m.env.Job.Rank() {
		if l := m.link(rank); l.dead == nil {
			l.receive(ev)
		}
	}
	b.delivered(ev)
	m.recv.reuse(b)
}

func (l *link) receive(ev *portals4.Event) {
	w := words{ev.RemoteOffset, ev.MatchBits, ev.HdrData}
	switch {
	case ev.NIFail != portals4.OK:
		l.fail(fmt.Errorf("a message has not come: %v", ev.NIFail))
	case ev.MLength != ev.RLength:
		l.refuse("a message of %d bytes", ev.RLength)
	case w.meta>>60 == kindAsk:
		l.grant(w, ev.MLength)
	case w.meta>>60 == kindCredit:
		l.earn(w, ev.MLength)
	default:
		l.deliver(w, ev.Start)
	}
}

// refuse gives up a peer that sends what no peer of ours would.
func (l *link) refuse(format string, args ...any) {
	l.fail(fmt.Errorf("it sends what makes no sense: "+format, args...))
}

// deliver hands a message to its handler.
func (l *link) deliver(w words, body []byte) {
	m := l.m
	n := int64(len(body))
	if l.expect -= n; l.expect < 0 {
		l.refuse("more bytes than it was granted")
		return
	}
	if l.expectN--; l.expectN < 0 {
		l.refuse("more messages than it was granted")
		return
	}
	tag, hdr, payload, ok := unpack(w, body, &m.hdr)
	if !ok {
		l.refuse("words %#x", w)
		return
	}
	h := m.env.Dispatch.Handlers[tag]
	if h == nil {
		l.refuse("tag %#x, which nobody handles", uint8(tag))
		return
	}
	h.Receive(l.proc.Rank, hdr, payload)
	l.done += n
	l.doneN++
	if l.done > l.window/2 || l.doneN > l.windowN/2 {
		l.giveCredit()
	}
}

// grant answers an ASK.
func (l *link) grant(w words, n uint64) {
	m := l.m
	if l.granted || n != 0 || w != (words{meta: kindAsk << 60, match: cardVersion}) {
		l.refuse("an ASK of %d bytes, granted %v, words %#x", n, l.granted, w)
		return
	}
	o := &m.opt
	bytes := min(o.Window, max(2*m.most, (o.RecvMemory-m.promised)/4))
	events := o.EQSize - eqSpare - o.Slots - o.MaxPending - rankEvents*len(m.links) // beyond the least
	more := min(o.WindowMsgs-leastMsgs, max(0, (events-m.promisedMsgs)/4))
	msgs := leastMsgs + more
	m.promised += bytes
	m.promisedMsgs += more
	if err := m.recv.provide(o.blocksFor(m.promised, m.most)); err != nil {
		l.fail(fmt.Errorf("no blocks for its messages: %w", err))
		return
	}
	l.granted = true
	l.window, l.windowN = bytes, msgs
	l.done, l.doneN = bytes, msgs
	l.giveCredit()
}

// giveCredit gives back what was delivered.
func (l *link) giveCredit() {
	m := l.m
	if l.dead != nil || l.owes {
		return
	}
	err := l.put(m.quick, words{kindCredit << 60, uint64(l.done), uint64(l.doneN)}, nil, nil)
	if errors.Is(err, btl.ErrAgain) {
		l.owes = true
		m.debtors = append(m.debtors, l)
		m.engine.Busy(1)
		m.later()
		return
	}
	if err != nil {
		return // the peer is given up soon
	}
	m.stats.credits++
	l.expect += l.done
	l.expectN += l.doneN
	l.done, l.doneN = 0, 0
}

// earn takes a CREDIT.
func (l *link) earn(w words, n uint64) {
	const most = 1 << 40
	if !l.asked || n != 0 || w.meta != kindCredit<<60 || w.match > most || w.data > most || l.room > most || l.count > most {
		l.refuse("a CREDIT of %d bytes, asked %v, words %#x", n, l.asked, w)
		return
	}
	l.room += int64(w.match)
	l.count += int(w.data)
}
