package mca

import "fmt"

// Parameters that are set while the program runs. Only those declared as settable can be: a component that declares one watches it.

// watcher is a component that hears of changes.
type watcher struct {
	options *optionStruct
	check   func(into any) (apply func(), err error)
}

// Watch tells f of every change of the settable parameters of a component, or of a framework's own (component "" or "base"). f gets
// the option struct with all values as they will be, validated, and returns how to apply them, or why they cannot hold now:
// then nothing changes. Both run on the goroutine that calls Set; f must not call Set.
func (p *Params) Watch(framework, component string, f func(into any) (apply func(), err error)) error {
	s := p.reg.options(framework, component)
	if s == nil {
		return fmt.Errorf("watching parameters: %s registers no options", describePair(framework, component))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watchers = append(p.watchers, watcher{s, f})
	return nil
}

// Set changes a settable parameter at run time. The value is checked as at start: its form, its bounds, and whether it goes together
// with the others of its component; then whoever watches it may refuse. The caller makes sure that there is one Set at a
// time, and that watchers may run.
func (p *Params) Set(name, text string) error {
	d := p.reg.byName[name]
	if d == nil {
		return p.reg.unknown(name)
	}
	if d.opt == nil || !d.opt.settable {
		return fmt.Errorf("parameter %s cannot be set at run time, only before the program starts", name)
	}
	from := Setting{Name: name, Value: text, Layer: LayerRunTime, Where: LayerRunTime.String()}
	parsed, err := p.reg.parse(d, text)
	if err != nil {
		return fmt.Errorf("parameter %s: bad value %q (%s): %w", name, text, from.Source(), err)
	}
	next := p.with(d, value{parsed: parsed, source: from})
	if err := next.fill(d.owner, d.owner.fresh()); err != nil {
		return err
	}
	p.mu.RLock()
	watchers := p.watchers
	p.mu.RUnlock()
	var apply []func()
	for _, w := range watchers {
		if w.options != d.owner {
			continue
		}
		into := d.owner.fresh()
		if err := next.fill(d.owner, into); err != nil {
			return err
		}
		f, err := w.check(into)
		if err != nil {
			return fmt.Errorf("parameter %s: value %q (%s): %w", name, text, from.Source(), err)
		}
		apply = append(apply, f)
	}
	p.mu.Lock()
	p.values = next.values
	p.mu.Unlock()
	for _, f := range apply {
		if f != nil {
			f()
		}
	}
	return nil
}

// with is a copy of p in which one parameter has another value.
func (p *Params) with(d *param, v value) *Params {
	old := p.table()
	next := &Params{reg: p.reg, values: make(map[string]value, len(old))}
	for name, v := range old {
		next.values[name] = v
	}
	next.values[d.name] = v
	return next
}

// table gives the values; the table never changes, Set makes another.
func (p *Params) table() map[string]value {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.values
}
