package tcp

import (
	"encoding/binary"
	"fmt"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/datatype"
)

// With several links a break is not an end. Each end that notices it, or is told of it, stops reading the broken link for good and
// tells over another link (frameDown) the last message it has received; what the other end sent after that is sent again over a
// link that works. Nothing is lost or delivered twice, since "received" is final when it is said. So that it can be sent again,
// every message is kept until it is acknowledged.
//
// A large message that was cut in the middle of its payload keeps its place in the handler's memory: it is the first to arrive
// again of those that began on the broken link, because what is sent again keeps its order and travels over one link at a time.

// windowSize is how many messages of a link may be unacknowledged; a power of two.
const windowSize = 64

// kept is a message that may have to be sent again.
type kept struct {
	frag   *btl.Frag // nil: an inline one
	conv   datatype.Convertor
	packed bool
	from   uint8  // the link on which it was first sent, plus 1; 0: the one that keeps it
	inline []byte // the whole frame of an inline one
}

// window holds what a link has sent and the peer has not acknowledged: sequence numbers acked+1 to link.sent.
type window struct {
	acked uint32
	ring  [windowSize]kept
}

func newWindow() *window {
	w := &window{}
	mem := make([]byte, windowSize*(inlineMin+maxInline))
	for i := range w.ring {
		n := inlineMin + maxInline
		w.ring[i].inline = mem[i*n : i*n : (i+1)*n]
	}
	return w
}

func (w *window) room(sent uint32) bool  { return sent-w.acked < windowSize }
func (w *window) empty(sent uint32) bool { return sent == w.acked }

func (w *window) keepInline(seq uint32, b []byte) {
	k := &w.ring[seq%windowSize]
	k.frag, k.from = nil, 0
	k.inline = append(k.inline[:0], b...)
}

// keepFrag keeps a fragment before its convertor moves.
func (w *window) keepFrag(seq uint32, f *btl.Frag, packed bool) {
	k := &w.ring[seq%windowSize]
	k.frag, k.from, k.packed = f, 0, packed
	if packed {
		k.conv = *f.Conv
	}
}

func (w *window) abandon(owned []kept, sent uint32) []kept {
	for w.acked != sent {
		w.acked++
		k := &w.ring[w.acked%windowSize]
		owned = append(owned, *k)
		k.frag = nil
	}
	return owned
}

// acknowledged is told by the peer that it has received the messages up to ack; it reports whether the link still stands.
func (l *link) acknowledged(ack uint32) bool {
	w := l.win
	most := l.sent - w.acked
	if l.tx == txFrag {
		most-- // what is only partly sent cannot be there
	}
	if ack-w.acked > most {
		l.violated("an acknowledgement of message %d; %d were sent", ack, l.sent)
		return false
	}
	for w.acked != ack && l.state == linkUp { // who is told may send more, and may find the link broken
		w.acked++
		k := &w.ring[w.acked%windowSize]
		if f := k.frag; f != nil {
			k.frag = nil
			k.conv = datatype.Convertor{}
			f.Owner.FragDone(f, nil)
		}
	}
	return l.state == linkUp
}

// retire gives a broken link up; others will do its work. Should they break too, the first cause is what counts.
func (l *link) retire(cause error, dead bool) {
	l.m.stats.Retired++
	if l.ep.cause == nil {
		l.ep.cause, l.ep.causeDead = cause, dead
	}
	l.shut()
	l.clearFrag()
	if l.bulk.active() {
		cut := l
		if l.bulk.from != 0 {
			cut = l.ep.links[l.bulk.from-1] // cut once more: it still belongs to where it began
		}
		cut.cut = l.bulk
		l.bulk.dst, l.bulk.placer = nil, nil
	}
	for _, o := range l.ep.links {
		if o.toldBy == l {
			o.toldBy = nil // it may not have been heard
		}
	}
	l.m.attend(l.ep)
}

// resume continues in b the large message that was cut on the link number from-1, if there is one.
func (ep *endpoint) resume(from uint8, b *bulk) bool {
	if int(from) > len(ep.links) {
		return false
	}
	l := ep.links[from-1]
	if !l.cut.active() {
		return false
	}
	*b = l.cut
	ep.m.stats.Resumed++
	l.cut.dst, l.cut.placer = nil, nil
	return true
}

// downed is told by the peer that it has given l up after message got.
func (ep *endpoint) downed(l *link, got uint32) {
	if l.state == linkUp {
		l.retire(fmt.Errorf("btl tcp: %s has given up link %d", ep.name(), l.index), false)
	}
	if l.downIn || l.win == nil {
		return // told again, because the first telling may have been lost
	}
	l.downIn = true
	w := l.win
	if got-w.acked > l.sent-w.acked {
		ep.fail(fmt.Errorf("btl tcp: %s says that it has received message %d on a broken link; %d were sent", ep.name(), got, l.sent), true)
		return
	}
	ep.cause, ep.causeDead = nil, false // the peer lives
	ep.m.env.Upcalls.Say("btl_tcp_retired", fmt.Sprintf("btl tcp: link %d to %s broke; its traffic goes over the others", l.index, ep.name()))
	for w.acked != got {
		w.acked++
		if f := w.ring[w.acked%windowSize].frag; f != nil {
			f.Owner.FragDone(f, nil)
		}
	}
	var lost []kept
	for w.acked != l.sent {
		w.acked++
		k := w.ring[w.acked%windowSize]
		if k.from == 0 {
			k.from = uint8(l.index + 1)
		}
		lost = append(lost, k)
	}
	// What l was carrying for another broken link comes before the rest of that.
	ep.resend = append(lost, ep.resend...)
	l.win = nil
	ep.m.attend(ep)
}

// pump tells the peer of broken links and sends again what they have lost.
func (ep *endpoint) pump() {
	c := ep.pickCarrier()
	for _, l := range ep.links {
		if c != nil && l.state == linkDown && l.hadTraffic() && l.toldBy == nil {
			if c.controlFrame(&frame{kind: frameDown, tag: btl.Tag(l.index), seq: l.got, ack: c.got}) {
				l.toldBy = c
			}
		}
	}
	for c != nil && !ep.waitsForDown() && len(ep.resend) != 0 && c.tx == txIdle && c.win.room(c.sent) {
		if c.sendAgain(&ep.resend[0]) {
			ep.resend = ep.resend[1:]
		}
	}
	if len(ep.resend) == 0 {
		ep.resend, ep.carrier = nil, nil
	}
	if ep.untold() {
		ep.m.attend(ep) // again in the next pass
	}
}

// hadTraffic reports whether the link was up once, and did not end in good order.
func (l *link) hadTraffic() bool { return l.cache != nil && !l.finished }

// untold reports whether pump has more to do.
func (ep *endpoint) untold() bool {
	if ep.err != nil {
		return false
	}
	for _, l := range ep.links {
		if l.state == linkDown && l.hadTraffic() && l.toldBy == nil {
			return true
		}
	}
	return len(ep.resend) != 0
}

// waitsForDown reports whether the peer has yet to say how far a broken link got. What that link was carrying must go first.
func (ep *endpoint) waitsForDown() bool {
	for _, l := range ep.links {
		if l.state == linkDown && l.hadTraffic() && !l.downIn {
			return true
		}
	}
	return false
}

// pickCarrier gives the link that resends: the same one until everything is out or it breaks, so that the order is kept.
func (ep *endpoint) pickCarrier() *link {
	if ep.carrier != nil && ep.carrier.state == linkUp {
		return ep.carrier
	}
	ep.carrier = nil
	for _, l := range ep.links {
		if l.state == linkUp && l.win != nil {
			ep.carrier = l
			break
		}
	}
	return ep.carrier
}

// sendAgain sends a kept message. The link is idle and has room.
func (l *link) sendAgain(k *kept) bool {
	var n int
	if k.frag != nil {
		l.conv = k.conv
		l.begin(k.frag, k.packed, k.from)
		if !l.push() && l.tx == txBroken {
			l.clearFrag()
			return false
		}
		n = int(k.frag.HdrLen) + k.frag.Len
		l.win.ring[(l.sent+1)%windowSize].keepAgain(k)
	} else {
		b := l.small[:copy(l.small, k.inline)]
		b[3] = k.from
		binary.LittleEndian.PutUint32(b[8:], l.sent+1)
		binary.LittleEndian.PutUint32(b[12:], l.got)
		if !l.pushSmall(0, len(b)) {
			return false
		}
		n = len(b) - frameSize
		l.win.ring[(l.sent+1)%windowSize].keepAgain(k)
	}
	l.took(n)
	l.m.stats.Resent++
	return true
}

// keepAgain keeps a message that is sent a second time.
func (k *kept) keepAgain(old *kept) {
	room := k.inline[:0]
	*k = *old
	k.inline = append(room, old.inline...)
}
