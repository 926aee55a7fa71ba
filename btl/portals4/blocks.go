package portals4

import (
	"errors"

	"github.com/ompi-go/ompi-go/portals4"
)

// blocks are the memory for messages. Those that are linked are filled one after the other; a message's event says where in its block it
// is. A block that a message has come behind is not filled any more: another is linked at once, though a long message may still be on its way
// into the old one, whose own event tells only after that. It is used again when it has unlinked itself and everything in it was delivered.
type blocks struct {
	m      *module
	linked []*block // in the order in which they are filled; the first may be in use
	idle   []*block
	target int // how many are to be linked
}

type block struct {
	mem      []byte
	entry    portals4.Entry
	past     bool // not among the linked ones any more
	unlinked bool
	end      uint64 // of what has come that lies farthest behind
	got      uint64 // bytes that have come
}

// blocksFor is how many blocks must be linked so that messages of so many bytes find memory. A block unlinks itself when the largest message
// has no room in it, so that much of each may be lost; the first may be full but for one message, and the one before it not linked again yet.
func (o *Options) blocksFor(bytes, most int64) int {
	usable := o.RecvSize - most
	return max(o.RecvNum, int((bytes+usable-1)/usable)+2)
}

// provide sees to it that so many blocks are linked.
func (q *blocks) provide(n int) error {
	q.target = max(q.target, n)
	for len(q.linked) < q.target {
		var b *block
		if k := len(q.idle) - 1; k >= 0 {
			b, q.idle[k] = q.idle[k], nil
			q.idle = q.idle[:k]
			b.past, b.unlinked, b.end, b.got = false, false, 0, 0
		} else {
			b = &block{mem: make([]byte, q.m.opt.RecvSize)}
		}
		e, err := q.m.am.MEAppend(&portals4.ME{Start: b.mem, UID: q.m.uid, MatchID: portals4.AnyProcess, IgnoreBits: ^uint64(0), MinFree: uint64(q.m.most),
			Options: portals4.OpPut | portals4.MEManageLocal | portals4.EventLinkDisable | portals4.AckDisable}, portals4.PriorityList, b)
		if err != nil {
			q.idle = append(q.idle, b)
			return err
		}
		b.entry = e
		q.linked = append(q.linked, b)
		q.m.stats.blocks++
	}
	return nil
}

// passed: a message has come in b, so that blocks before it are full.
func (q *blocks) passed(b *block) {
	if b.past || q.linked[0] == b { // what is not past is linked
		return
	}
	q.drop(b, false)
}

// unlinked: b is full.
func (q *blocks) unlinked(b *block) {
	b.unlinked = true
	if !b.past {
		q.drop(b, true)
	}
	q.reuse(b)
}

// drop takes those before b, and b itself if so wished, from the linked ones, and links others.
func (q *blocks) drop(b *block, itself bool) {
	k := 0
	for ; q.linked[k] != b; k++ {
		q.linked[k].past = true
	}
	if itself {
		b.past = true
		k++
	}
	n := copy(q.linked, q.linked[k:])
	clear(q.linked[n:])
	q.linked = q.linked[:n]
	if err := q.provide(q.target); err != nil {
		q.m.failAll(err)
	}
}

// delivered: the message of an event was delivered.
func (b *block) delivered(ev *portals4.Event) {
	b.got += ev.MLength
	b.end = max(b.end, ev.Offset+ev.MLength)
}

// reuse puts b aside for the next that must be linked, if nothing comes into it any more. Blocks that nobody will need go.
func (q *blocks) reuse(b *block) {
	if b.unlinked && b.got == b.end && len(q.idle) < q.target {
		b.unlinked = false // once
		q.idle = append(q.idle, b)
	}
}

// close unlinks all. One in use keeps its memory until the interface is closed.
func (q *blocks) close() {
	for _, b := range q.linked {
		if err := b.entry.Unlink(); err != nil && !errors.Is(err, portals4.ErrInUse) {
			continue // it has unlinked itself, of which the event was not looked at
		}
	}
	q.linked, q.idle = nil, nil
}
