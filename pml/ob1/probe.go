package ob1

import (
	"slices"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/progress"
)

// probe is a Probe or Mprobe that waits.
type probe struct {
	progress.Completion
	source, tag int32
	take        bool // Mprobe
	msg         *message
	st          core.Status
	err         error
}

func (s *message) status() core.Status {
	return core.MakeStatus(int(s.source), int(s.tag), s.length)
}

// Status implements pml.Message.
func (s *message) Status() core.Status { return s.status() }

// look finishes a probe if its message is there.
func (o *module) look(m *channel, p *probe) bool {
	s := m.unexp.find(p.source, p.tag)
	if s == nil {
		return false
	}
	p.st = s.status()
	if p.take {
		m.unexp.remove(s)
		p.msg = s
		if s.frame != typeMatch {
			m.taken = append(m.taken, s)
		}
	}
	return true
}

// tellProbes serves waiting probes in the order they came.
func (o *module) tellProbes(m *channel) {
	rest := m.probes[:0]
	for _, p := range m.probes {
		if o.look(m, p) {
			o.engine.Complete(&p.Completion)
		} else {
			rest = append(rest, p)
		}
	}
	clear(m.probes[len(rest):])
	m.probes = rest
}

func (o *module) probe(ch *core.Channel, p *probe) {
	o.engine.Lock()
	m := o.chans[ch.ID]
	if !o.look(m, p) {
		if err := o.cannotCome(m, p.source); err != nil {
			p.err = err
		} else {
			m.probes = append(m.probes, p)
			if len(o.credit.starved) != 0 {
				o.credit.wake()
			}
			o.engine.WaitLocked(&p.Completion)
		}
	}
	o.engine.Unlock()
}

// Probe implements pml.Module.
func (o *module) Probe(ch *core.Channel, source, tag int) (core.Status, error) {
	p := &probe{source: int32(source), tag: int32(tag)}
	o.probe(ch, p)
	return p.st, p.err
}

// Mprobe implements pml.Module.
func (o *module) Mprobe(ch *core.Channel, source, tag int) (pml.Message, error) {
	p := &probe{source: int32(source), tag: int32(tag), take: true}
	o.probe(ch, p)
	if p.err != nil {
		return nil, p.err
	}
	return p.msg, nil
}

func (o *module) iprobe(ch *core.Channel, p *probe) (bool, error) {
	o.engine.Lock()
	ok, err := o.iprobeLocked(ch, p)
	o.engine.Unlock()
	if !ok && err == nil {
		o.engine.Yield()
	}
	return ok, err
}

func (o *module) iprobeLocked(ch *core.Channel, p *probe) (bool, error) {
	m := o.chans[ch.ID]
	if o.look(m, p) {
		return true, nil
	}
	o.engine.TryPoll()
	if o.look(m, p) {
		return true, nil
	}
	if err := o.cannotCome(m, p.source); err != nil {
		return false, err
	}
	if len(o.credit.starved) != 0 {
		o.credit.probedFor(m, p.source)
	}
	return false, nil
}

// Iprobe implements pml.Module.
func (o *module) Iprobe(ch *core.Channel, source, tag int) (core.Status, bool, error) {
	p := probe{source: int32(source), tag: int32(tag)}
	ok, err := o.iprobe(ch, &p)
	if !ok {
		return core.EmptyStatus(), false, err
	}
	return p.st, true, nil
}

// Improbe implements pml.Module.
func (o *module) Improbe(ch *core.Channel, source, tag int) (pml.Message, error) {
	p := probe{source: int32(source), tag: int32(tag), take: true}
	ok, err := o.iprobe(ch, &p)
	if !ok {
		return nil, err
	}
	return p.msg, nil
}

// Imrecv implements pml.Module.
func (o *module) Imrecv(msg pml.Message, buf core.Buffer) *core.Request {
	o.engine.Lock()
	defer o.engine.Unlock()
	s := msg.(*message)
	if i := slices.Index(s.ch.taken, s); i >= 0 {
		s.ch.taken = slices.Delete(s.ch.taken, i, i+1)
	}
	r := o.newRecv()
	r.Renew(s.ch.comm, "", int(s.source), buf)
	o.recvsOut.push(r)
	r.prepare(o, s.ch, buf, int(s.source), int(s.tag))
	o.stats.Matches++
	o.deliverMsg(r, s)
	return &r.Request
}
