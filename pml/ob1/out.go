package ob1

import (
	"errors"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/progress"
)

// What could not be sent for want of room waits in a queue per peer, in order, and is offered again in each progress pass. While
// any waits the engine does not sleep.

// outItem is a place in a peer's queue: a send or a control message.
type outItem struct {
	prev, next *outItem
	list       *outList
	s          *sendReq
	c          *ctl
	r          *recvReq // the read of a sender's memory
	w          *writing // a write to a receiver's memory
}

type outList struct {
	head, tail *outItem
	active     bool // among outQueue.peers
	starving   bool // of a peer that gives no credit; nothing here waits for room
}

type outQueue struct {
	o      *module
	source *progress.Source // on while something waits
	n      int
	peers  []*peer
	moves  outList // reads and writes, apart from the messages: the room that they wait for is another
	moving int     // in moves
}

// add queues an item behind the others for p.
func (q *outQueue) add(p *peer, it *outItem) {
	l := &p.queue
	q.put(l, it)
	q.o.stats.Retries++
	if !l.active {
		l.active = true
		q.peers = append(q.peers, p)
	}
}

// hold queues a read or write; first tells that it has not been here before.
func (q *outQueue) hold(it *outItem, first bool) {
	q.put(&q.moves, it)
	q.moving++
	if first {
		q.o.stats.Retries++
	}
}

func (q *outQueue) put(l *outList, it *outItem) {
	l.push(it)
	q.n++
	q.o.engine.Busy(1)
	q.source.On()
}

func (l *outList) push(it *outItem) {
	it.list, it.prev, it.next = l, l.tail, nil
	if l.tail == nil {
		l.head = it
	} else {
		l.tail.next = it
	}
	l.tail = it
}

// drop takes an item out, if it is queued.
func (q *outQueue) drop(it *outItem) {
	l := it.list
	if l == nil {
		return
	}
	if it.prev == nil {
		l.head = it.next
	} else {
		it.prev.next = it.next
	}
	if it.next == nil {
		l.tail = it.prev
	} else {
		it.next.prev = it.prev
	}
	if l == &q.moves {
		q.moving--
	}
	it.list, it.prev, it.next = nil, nil, nil
	if l.starving {
		q.o.starveds--
		return
	}
	if q.n--; q.n == 0 {
		q.source.Off()
	}
	q.o.engine.Busy(-1)
}

// Poll implements progress.Poller.
func (q *outQueue) Poll() int {
	if q.n == 0 {
		return 0
	}
	n := 0
	for i := 0; i < len(q.peers); i++ {
		p := q.peers[i]
		for p.queue.head != nil {
			it := p.queue.head
			done, err := it.push()
			if err == nil && !done {
				break
			}
			n++
			queued := it.list != nil // else the peer's death, found by this push, has ended it already
			if queued {
				q.drop(it)
			}
			if err != nil && queued {
				it.failed(q.o, err)
			}
		}
		if p.queue.head == nil {
			p.queue.active = false
			q.peers = append(q.peers[:i], q.peers[i+1:]...)
			i--
		}
	}
	return n + q.offerMoves()
}

// offerMoves offers each waiting read and write again, once: none waits for another.
func (q *outQueue) offerMoves() (n int) {
	for k := q.moving; k > 0 && q.moves.head != nil; k-- {
		it := q.moves.head
		q.drop(it)
		if it.r != nil {
			it.r.get(false)
		} else {
			it.w.begin(false)
		}
		if q.moves.tail != it {
			n++
		}
	}
	return n
}

func (it *outItem) push() (bool, error) {
	if it.s != nil {
		return it.s.push()
	}
	return it.c.push()
}

func (it *outItem) failed(o *module, err error) {
	if it.s != nil {
		o.sendFailed(it.s, err)
		return
	}
	o.giveBack(it.c)
}

// ctl is a control frame: ACK, FIN, PUT, DONE, CREDIT or STARVE.
type ctl struct {
	frag btl.Frag
	item outItem
	o    *module
	peer *peer
	path *bml.Path // to which it was offered last
	next *ctl
}

func (o *module) newCtl(p *peer) *ctl {
	c := o.ctls
	if c == nil {
		c = &ctl{o: o}
		c.frag.Owner = c
		c.item.c = c
	} else {
		o.ctls = c.next
	}
	c.peer = p
	o.nFree.ctls++
	return c
}

func (o *module) freeCtl(c *ctl) {
	c.peer, c.path = nil, nil
	c.next = o.ctls
	o.ctls = c
	o.nFree.ctls--
}

// sendCtl sends a filled control frame; it does not overtake what waits for room, since order among frames does not matter, only
// room does.
func (o *module) sendCtl(c *ctl) {
	done, err := c.push()
	switch {
	case err != nil:
		o.giveBack(c)
	case !done:
		o.out.add(c.peer, &c.item)
	}
}

func (c *ctl) push() (bool, error) {
	path := c.peer.path
	c.path = path
	sent, err := path.Send.Send(&c.frag)
	if err != nil {
		if errors.Is(err, btl.ErrAgain) {
			err = nil
		}
		return false, err
	}
	path.Counts.Sent++
	if sent {
		c.o.freeCtl(c)
	}
	return true, nil
}

// FragDone implements btl.Completer.
func (c *ctl) FragDone(_ *btl.Frag, err error) {
	if err != nil {
		c.o.giveBack(c)
		return
	}
	c.o.freeCtl(c)
}
