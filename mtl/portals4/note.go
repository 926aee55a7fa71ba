package portals4

import ptl "github.com/ompi-go/ompi-go/portals4"

// note is a put or get without data that one rank owes another: a receiver tells a synchronous send that it has matched, or a long one that it
// wants nothing more; it claims a message that it will get itself (triggered.go); a rank that overflowed calls for recovery.
type note struct {
	p     *peer
	pt    uint32
	bits  uint64
	drain bool // a drain waits for it
	get   bool
	from  int      // of a get
	x     *channel // of a claim that is not made yet: counted in unarmed
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

// claim uses up what a message was exposed under for a receive that would have armed its get. Claims are made in the order of matching.
func (m *module) claim(x *channel, p *peer, bits uint64) {
	n := m.newNote(p, m.flowPT.Index(), triggerKey(bits))
	n.get, n.x = true, x
	x.unarmed++
	m.putNote(n)
}

func (m *module) putNote(n *note) {
	if m.slots == 0 || m.notes.head != nil {
		m.notes.add(n)
		return
	}
	m.beginNote(n)
}

func (m *module) beginNote(n *note) {
	if n.x != nil {
		n.x.unarmed--
		n.x = nil
	}
	t := &m.xfer
	*t = ptl.Transfer{Ack: ptl.Ack, Target: n.p.id, PT: n.pt, MatchBits: n.bits, RemoteOffset: uint64(n.from), UserPtr: n}
	m.slots--
	var err error
	if n.get {
		err = m.md.Get(t)
	} else {
		err = m.md.Put(t)
	}
	if err != nil {
		m.breakDown(interfaceError("PtlPut or PtlGet of a note", err))
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
	for m.notes.head != nil && m.slots > 0 {
		n := m.notes.head
		if m.notes.head = n.next; m.notes.head == nil {
			m.notes.tail = nil
		}
		n.next = nil
		m.beginNote(n)
		k++
	}
	return k
}
