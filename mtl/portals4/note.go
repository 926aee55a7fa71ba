package portals4

import ptl "github.com/ompi-go/ompi-go/portals4"

// note is a put without data that one rank owes another: a receiver tells a synchronous send that it has matched, a rank that overflowed
// calls for recovery.
type note struct {
	p     *peer
	pt    uint32
	bits  uint64
	drain bool // a drain waits for it
	next  *note
}

type noteQueue struct{ head, tail *note }

func (q *noteQueue) add(n *note) {
	n.next = nil
	if q.head == nil {
		q.head = n
	} else {
		q.tail.next = n
	}
	q.tail = n
}

// tell has a synchronous send end.
func (m *module) tell(p *peer, key uint64) {
	m.putNote(m.newNote(p, m.readPT.Index(), key))
}

func (m *module) newNote(p *peer, pt uint32, bits uint64) *note {
	n := m.free.notes
	if n == nil {
		n = new(note)
	} else {
		m.free.notes = n.next
	}
	*n = note{p: p, pt: pt, bits: bits}
	return n
}

func (m *module) putNote(n *note) {
	if m.slots == 0 {
		m.notes.add(n)
		return
	}
	t := &m.xfer
	*t = ptl.Transfer{Ack: ptl.Ack, Target: n.p.id, PT: n.pt, MatchBits: n.bits, UserPtr: n}
	m.slots--
	if err := m.md.Put(t); err != nil {
		m.breakDown(interfaceError("PtlPut", err))
	}
}

// noted: a note has come, or cannot come.
func (m *module) noted(n *note, ev *ptl.Event) {
	m.slots++
	if n.drain {
		m.flying--
	}
	if ev.NIFail == ptl.PTDisabled && n.p.proc.Failed() == nil {
		m.stats.retries++
		m.notes.add(n)
		return
	}
	n.p = nil // whoever waited for it has gone, if it did not come
	n.next, m.free.notes = m.free.notes, n
}

func (m *module) pumpNotes() int {
	k := 0
	list := m.notes
	m.notes = noteQueue{}
	for n := list.head; n != nil; k++ {
		next := n.next
		m.putNote(n)
		n = next
	}
	return k
}
