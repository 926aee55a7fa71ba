package cm

import (
	"slices"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mtl"
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/progress"
)

// An MTL does not tell of messages that wait, so that probes ask again in every pass, in which it also looks for what has come: a sleeping
// driver is woken by that, not by us.

// probe is a Probe or Mprobe that waits.
type probe struct {
	progress.Completion
	next   *probe // pool
	ch     *core.Channel
	source int
	tag    int
	take   bool // Mprobe
	m      mtl.Message
	st     core.Status
	err    error
}

// message is one that a matched probe has taken.
type message struct {
	m    mtl.Message
	st   core.Status
	ch   *core.Channel
	next *message // pool
}

// Status implements pml.Message.
func (s *message) Status() core.Status { return s.st }

func (o *module) newMessage(m mtl.Message, st core.Status, ch *core.Channel) *message {
	s := o.messages
	if s == nil {
		s = new(message)
	} else {
		o.messages = s.next
	}
	*s = message{m: m, st: st, ch: ch}
	return s
}

func (o *module) giveMessage(s *message) {
	*s = message{next: o.messages}
	o.messages = s
}

// look asks whether a probe's message is there.
func (o *module) look(p *probe) (ok bool) {
	if p.take {
		p.m, p.st, ok = o.mtl.Improbe(p.ch, p.source, p.tag)
	} else {
		p.st, ok = o.mtl.Iprobe(p.ch, p.source, p.tag)
	}
	return ok
}

// Poll implements progress.Poller: it serves waiting probes in the order they came.
func (o *module) Poll() int {
	before := len(o.probes)
	o.sift(o.look)
	return before - len(o.probes)
}

// failProbes ends the probes for which why gives an error.
func (o *module) failProbes(why func(ch *core.Channel, source int) *core.Error) {
	o.sift(func(p *probe) bool {
		if err := why(p.ch, p.source); err != nil {
			p.err = err
			return true
		}
		return false
	})
}

// sift completes the probes that are over. The MTL may find out while it looks that a process has died, which comes here again and completes others.
func (o *module) sift(over func(*probe) bool) {
	for i := 0; i < len(o.probes); {
		p := o.probes[i]
		end := over(p)
		at := slices.Index(o.probes, p)
		if at < 0 {
			continue // it is complete, and another stands in its place
		}
		if i = at + 1; end {
			o.probes = slices.Delete(o.probes, at, i)
			o.engine.Complete(&p.Completion)
			i = at
		}
	}
	if len(o.probes) == 0 {
		o.source.Off()
	}
}

// probe waits for a message; the caller holds the token.
func (o *module) probe(ch *core.Channel, source, tag int, take bool) (m mtl.Message, st core.Status, err error) {
	p := o.freeProbes
	if p == nil {
		p = new(probe)
	} else {
		o.freeProbes = p.next
	}
	p.ch, p.source, p.tag, p.take = ch, source, tag, take
	if !o.look(p) {
		if err := o.cannotCome(ch, source); err != nil {
			p.err = err
		} else {
			o.probes = append(o.probes, p)
			o.source.On()
			o.engine.WaitLocked(&p.Completion)
		}
	}
	if m, st, err = p.m, p.st, p.err; m != nil {
		err = nil // it was taken just when its sender was found dead
	}
	*p = probe{next: o.freeProbes}
	o.freeProbes = p
	return m, st, err
}

// Probe implements pml.Module.
func (o *module) Probe(ch *core.Channel, source, tag int) (core.Status, error) {
	o.engine.Lock()
	defer o.engine.Unlock()
	_, st, err := o.probe(ch, source, tag, false)
	return st, err
}

// Mprobe implements pml.Module.
func (o *module) Mprobe(ch *core.Channel, source, tag int) (pml.Message, error) {
	o.engine.Lock()
	defer o.engine.Unlock()
	m, st, err := o.probe(ch, source, tag, true)
	if err != nil {
		return nil, err
	}
	return o.newMessage(m, st, ch), nil
}

// Iprobe implements pml.Module.
func (o *module) Iprobe(ch *core.Channel, source, tag int) (core.Status, bool, error) {
	o.engine.Lock()
	st, ok := o.mtl.Iprobe(ch, source, tag)
	if !ok {
		o.engine.TryPoll()
		st, ok = o.mtl.Iprobe(ch, source, tag)
	}
	err := o.unless(ok, ch, source)
	o.engine.Unlock()
	if ok {
		return st, true, nil
	}
	if err == nil {
		o.engine.Yield()
	}
	return core.EmptyStatus(), false, err
}

// Improbe implements pml.Module.
func (o *module) Improbe(ch *core.Channel, source, tag int) (pml.Message, error) {
	o.engine.Lock()
	m, st, ok := o.mtl.Improbe(ch, source, tag)
	if !ok {
		o.engine.TryPoll()
		m, st, ok = o.mtl.Improbe(ch, source, tag)
	}
	var out pml.Message
	if ok {
		out = o.newMessage(m, st, ch)
	}
	err := o.unless(ok, ch, source)
	o.engine.Unlock()
	if out == nil && err == nil {
		o.engine.Yield()
	}
	return out, err
}

// unless gives, unless a message was found, the reason why none will come.
func (o *module) unless(found bool, ch *core.Channel, source int) error {
	if !found {
		if err := o.cannotCome(ch, source); err != nil {
			return err
		}
	}
	return nil
}
