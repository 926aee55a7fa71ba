package portals4

import (
	"fmt"
	"strings"

	"github.com/ompi-go/ompi-go/core"
)

// ProcFailed implements mtl.Module: sends to the process end, and receives of its messages whose rest will not come. What it had put
// whole can still be received.
func (m *module) ProcFailed(p *core.Proc) {
	if m.closed || m.broken != nil {
		return
	}
	m.iface.ProcFailed(p)
	m.drain()
	dead := m.peers[p.Rank]
	m.endSends(func(s *sendReq) *core.Error {
		if s.p == dead {
			return s.x.ch.Comm.DeathOf(p)
		}
		return nil
	})
	m.endGets(func(q *recvReq) *core.Error {
		if q.p == dead {
			return q.x.ch.Comm.DeathOf(p)
		}
		return nil
	})
	if dead.starving {
		dead.starving = false
		m.credit.begged--
	}
	m.rec.gone = dead
	if m.rec.state != recIdle {
		m.breakDown(m.rec.broken())
	}
}

// CommFailed implements mtl.Module.
func (m *module) CommFailed(c *core.Comm) {
	f := c.Fault()
	if f == nil || !f.Fatal || m.closed || m.broken != nil {
		return
	}
	m.drain()
	m.endSends(func(s *sendReq) *core.Error {
		if s.x.ch.Comm == c {
			return f.Err
		}
		return nil
	})
	m.endGets(func(q *recvReq) *core.Error {
		if q.x.ch.Comm == c {
			return f.Err
		}
		return nil
	})
}

// endSends ends the sends that why has a reason for. One whose put reads its user's memory ends when that is over.
func (m *module) endSends(why func(*sendReq) *core.Error) {
	for i := len(m.sends) - 1; i >= 0; i-- {
		if i >= len(m.sends) {
			continue
		}
		s := m.sends[i]
		err := why(s)
		switch {
		case err == nil || s.over:
		case s.flying && s.buf == nil && len(s.data) > 0 && s.p.proc.Failed() == nil:
			s.err = err
		default:
			m.endSend(s, err)
		}
	}
}

// endGets ends the receives of messages under way that why has a reason for: when nothing is written into their memory any more.
func (m *module) endGets(why func(*recvReq) *core.Error) {
	for _, q := range m.recvs {
		if q.p != nil && q.err == nil {
			q.err = why(q)
		}
	}
	m.pumpGets()
}

// breakDown ends everything: the interface refuses what it must not, or events were lost.
func (m *module) breakDown(err *core.Error) {
	if m.broken != nil {
		return
	}
	m.broken = err
	for len(m.sends) > 0 {
		s := m.sends[len(m.sends)-1]
		s.flying = false
		m.hide(s)
		s.exposed, s.keyed = false, false // no event is looked at any more
		m.endSend(s, err)
	}
	for len(m.recvs) > 0 {
		q := m.recvs[len(m.recvs)-1]
		if q.posted {
			_ = q.entry.Unlink()
		}
		q.err = err
		m.endRecv(q)
	}
	m.gets, m.notes, m.flying, m.slots = getQueue{}, noteQueue{}, 0, m.opt.SendSlots
	m.rec.state = recIdle
}

// Pending implements mtl.Module.
func (m *module) Pending() string {
	var say []string
	count := func(n int, what string) {
		if n > 0 {
			say = append(say, fmt.Sprintf("%s: %d", what, n))
		}
	}
	queued, unmatched, posted, getting := 0, 0, 0, 0
	for _, s := range m.sends {
		switch {
		case s.queued:
			queued++
		case s.come:
			unmatched++
		}
	}
	for _, q := range m.recvs {
		if q.posted {
			posted++
		} else {
			getting++
		}
	}
	count(len(m.sends)-queued-unmatched, "puts under way")
	count(queued, "sends that wait for credit or a slot")
	count(unmatched, "sends that wait for their receives")
	count(posted, "receives that wait for their messages")
	count(getting, "messages that are got")
	if m.rec.state != recIdle {
		say = append(say, "recovery from overflow")
	}
	return strings.Join(say, ", ")
}
