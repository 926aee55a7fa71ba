package differ

import (
	"runtime"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

type message struct {
	from, to, mode, tag, sent, room int // elements of a, of b
	a, b                            *datatype.Type
	out, in                         area
	status                          ompi.Status
	send, receive                   ompi.Request
}

func (m *message) source(wild int) int {
	if wild == anySource || wild == anything {
		return ompi.AnySource
	}
	return m.from
}

func (m *message) match(wild int) int {
	if wild == anyTag || wild == anything {
		return ompi.AnyTag
	}
	return m.tag
}

func (m *message) sending() ompi.Buffer   { return m.out.of(m.a, m.sent) }
func (m *message) receiving() ompi.Buffer { return m.in.of(m.b, m.room) }

func (m *message) isend(c *ompi.Comm) {
	m.send = []func(ompi.Buffer, int, int) ompi.Request{c.Isend, c.Issend, c.Ibsend, c.Irsend}[m.mode](m.sending(), m.to, m.tag)
}

func (x *player) sayStatus(s ompi.Status, t *datatype.Type) {
	count, elements := s.Count(t), s.Elements(t)
	if count == ompi.Undefined {
		count = -1
	}
	if elements == ompi.Undefined {
		elements = -1
	}
	x.say(" %d,%d,%d %d", s.Source, s.Tag, count, elements)
}

// batch sends a number of messages at once.
func (x *player) batch(c *ompi.Comm) error {
	size := c.Size()
	way, wild, barrier := x.number(), x.number(), x.flag()
	ms := make([]*message, x.number())
	for i := range ms {
		m := &message{from: x.number() % size, to: x.number() % size, mode: x.number(), tag: x.number()}
		m.a, m.sent = x.typ(), x.number()
		m.b, m.room = x.typ(), x.number()
		m.out, m.in = x.area(m.a, m.sent, i*2), x.area(m.b, m.room, i*2+1)
		ms[i] = m
	}
	if wild == anything {
		if err := c.Barrier(); err != nil {
			return err
		}
	}
	if way == posted || way == persistent || way == completed {
		for _, m := range ms {
			switch {
			case m.to != c.Rank():
			case way == persistent:
				m.receive = c.RecvInit(m.receiving(), m.source(wild), m.match(wild))
			default:
				m.receive = c.Irecv(m.receiving(), m.source(wild), m.match(wild))
			}
		}
	}
	rounds := 1
	if way == persistent {
		rounds = 2
	}
	for round := range rounds {
		if err := x.sendBatch(c, ms, way, wild, round, barrier); err != nil {
			return err
		}
		if err := x.receiveBatch(c, ms, way, wild); err != nil {
			return err
		}
	}
	if wild == anything {
		if err := c.Barrier(); err != nil {
			return err
		}
	}
	for _, m := range ms {
		x.sayArea(m.out)
		x.sayArea(m.in)
		for _, r := range []ompi.Request{m.send, m.receive} {
			if way == persistent && r != (ompi.Request{}) {
				if err := r.Free(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (x *player) sendBatch(c *ompi.Comm, ms []*message, way, wild, round int, barrier bool) error {
	for _, m := range ms {
		if way == persistent && m.to == c.Rank() {
			if err := m.receive.Start(); err != nil {
				return err
			}
		}
	}
	if barrier {
		if err := c.Barrier(); err != nil {
			return err
		}
	}
	for _, m := range ms {
		var err error
		switch {
		case m.from != c.Rank():
		case way == persistent:
			if round == 0 {
				m.send = []func(ompi.Buffer, int, int) ompi.Request{c.SendInit, c.SsendInit, c.BsendInit, c.RsendInit}[m.mode](m.sending(), m.to, m.tag)
			}
			err = m.send.Start()
		case way == turns && m.to != c.Rank():
			err = []func(ompi.Buffer, int, int) error{c.Send, c.Ssend, c.Bsend, c.Rsend}[m.mode](m.sending(), m.to, m.tag)
		default:
			m.isend(c)
		}
		if err == nil && m.to == c.Rank() && way == turns {
			m.status, err = c.Recv(m.receiving(), m.source(wild), m.match(wild))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *player) receiveBatch(c *ompi.Comm, ms []*message, way, wild int) error {
	if way == completed {
		reqs := make([]ompi.Request, len(ms))
		for i, m := range ms {
			reqs[i] = m.receive
		}
		for {
			i, st, err := ompi.WaitAny(reqs...)
			if err != nil {
				return err
			}
			if i == ompi.Undefined {
				break
			}
			ms[i].status = st
		}
	}
	for k := range ms {
		i := k
		if way == late && wild != anyTag && wild != anything {
			i = len(ms) - 1 - k
		}
		m := ms[i]
		if m.to != c.Rank() {
			continue
		}
		var err error
		switch way {
		case posted, persistent:
			m.status, err = m.receive.WaitContext(x.ctx)
		case late:
			m.status, err = c.Recv(m.receiving(), m.source(wild), m.match(wild))
		case probed:
			err = x.probe(c, m, i, wild)
		case matched:
			err = x.mprobe(c, m, i, wild)
		}
		if err != nil {
			return err
		}
		x.say(" %d:", i)
		x.sayStatus(m.status, m.b)
	}
	for _, m := range ms {
		if _, err := m.send.WaitContext(x.ctx); err != nil {
			return err
		}
	}
	return nil
}

func (x *player) probe(c *ompi.Comm, m *message, i, wild int) (err error) {
	if i%2 == 1 {
		for there := false; !there; runtime.Gosched() {
			if m.status, there, err = c.Iprobe(m.source(wild), m.match(wild)); err != nil {
				return err
			}
		}
	} else if m.status, err = c.Probe(m.source(wild), m.match(wild)); err != nil {
		return err
	}
	x.sayStatus(m.status, m.b)
	m.status, err = c.Recv(m.receiving(), m.status.Source, m.status.Tag)
	return err
}

func (x *player) mprobe(c *ompi.Comm, m *message, i, wild int) (err error) {
	var h *ompi.Message
	if i%2 == 1 {
		for there := false; !there; runtime.Gosched() {
			if h, m.status, there, err = c.Improbe(m.source(wild), m.match(wild)); err != nil {
				return err
			}
		}
	} else if h, m.status, err = c.Mprobe(m.source(wild), m.match(wild)); err != nil {
		return err
	}
	x.sayStatus(m.status, m.b)
	if i%3 != 0 {
		m.status, err = h.Irecv(m.receiving()).WaitContext(x.ctx)
	} else {
		m.status, err = h.Recv(m.receiving())
	}
	return err
}

// exchange passes data to the rank that is by further; with edges there is no way round.
func (x *player) exchange(c *ompi.Comm) error {
	by, edges, tag := x.number()%c.Size(), x.flag(), x.number()
	a, fa := x.typ(), x.number()
	b, fb := x.typ(), x.number()
	n, rank := x.number(), c.Rank()
	out, in := x.area(a, n*fa, 1), x.area(b, n*fb, 2)
	to, from := (rank+by)%c.Size(), (rank-by+c.Size())%c.Size()
	if edges && rank+by >= c.Size() {
		to = ompi.ProcNull
	}
	if edges && rank-by < 0 {
		from = ompi.ProcNull
	}
	st, err := c.Sendrecv(out.of(a, n*fa), to, tag, in.of(b, n*fb), from, tag)
	if err != nil {
		return err
	}
	x.sayStatus(st, b)
	if st, err = c.SendrecvReplace(out.of(a, n*fa), to, tag, from, ompi.AnyTag); err != nil {
		return err
	}
	x.sayStatus(st, a)
	x.sayArea(out)
	x.sayArea(in)
	return nil
}
