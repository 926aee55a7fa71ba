package portals4

// sendQueue holds the sends to a peer that wait, in the order of their numbers: for a slot, for credit, or because messages before them were refused.
// Nothing overtakes it.
type sendQueue struct{ head, tail *sendReq }

// peerList holds the peers whose queues are not empty.
type peerList struct{ head, tail *peer }

func (m *module) enqueue(s *sendReq) {
	q := &s.p.q
	s.queued = true
	switch {
	case q.head == nil:
		q.head, q.tail = s, s
	case q.tail.seq < s.seq:
		q.tail.next, q.tail = s, s
	case s.seq < q.head.seq:
		s.next, q.head = q.head, s
	default: // refused, between others that were
		at := q.head
		for at.next != nil && at.next.seq < s.seq {
			at = at.next
		}
		if s.next = at.next; s.next == nil {
			q.tail = s
		}
		at.next = s
	}
	if p := s.p; !p.in {
		p.in = true
		if m.waiting.head == nil {
			m.waiting.head = p
		} else {
			m.waiting.tail.next = p
		}
		m.waiting.tail = p
	}
}

func (m *module) dequeue(s *sendReq) {
	q := &s.p.q
	var before *sendReq
	for at := q.head; at != s; at = at.next {
		before = at
	}
	if before == nil {
		q.head = s.next
	} else {
		before.next = s.next
	}
	if q.tail == s {
		q.tail = before
	}
	s.next, s.queued = nil, false
}

// pump begins what waited, as far as slots and credit go. It reports how much that was.
func (m *module) pump() int {
	n := m.pumpNotes() + m.pumpGets()
	if m.rec.state != recIdle || m.waiting.head == nil {
		return n
	}
	list := m.waiting
	m.waiting = peerList{}
	for p := list.head; p != nil; {
		next := p.next
		p.next, p.in = nil, false
		for s := p.q.head; s != nil && m.slots > 0 && p.ready() && m.rec.state == recIdle && m.credit.may(m, p); s = p.q.head {
			m.dequeue(s)
			m.launch(s)
			n++
		}
		if p.q.head != nil && !p.in {
			p.in = true
			if m.waiting.head == nil {
				m.waiting.head = p
			} else {
				m.waiting.tail.next = p
			}
			m.waiting.tail = p
		}
		p = next
	}
	return n
}
