package udp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
)

// Describe implements btl.Describer. The bandwidth is that of this machine's interfaces.
func (component) Describe(p *mca.Params, peer core.Locality) (*btl.Description, error) {
	var m module
	if err := p.Decode("btl", "udp", &m.opts); err != nil {
		return nil, err
	}
	switch {
	case peer == core.LocalSelf:
		return nil, errors.New("it reaches other ranks only")
	case !slices.Contains(p.Selection("btl").Names(), "udp"):
		return nil, errors.New("it is open only when the parameter btl names it")
	}
	ifaces, err := systemIfaces()
	if err != nil {
		return nil, fmt.Errorf("listing network interfaces: %w", err)
	}
	if m.locals, err = choose(ifaces, &m.opts); err != nil {
		return nil, err
	}
	inside := func(l local) bool { return l.loopback }
	if peer != core.LocalRemote && slices.ContainsFunc(m.locals, inside) {
		m.locals = slices.DeleteFunc(m.locals, func(l local) bool { return !l.loopback })
	}
	if len(m.locals) == 0 {
		return nil, errors.New(noAddress(ifaces, &m.opts))
	}
	d := &btl.Description{Limits: m.Limits(), MaxInline: maxInline}
	if peer == core.LocalRemote && !slices.ContainsFunc(m.locals, func(l local) bool { return !l.loopback }) {
		d.Notes = []string{"this machine has only its loopback interface, by which nobody else is reached"}
	}
	return d, nil
}

var _ btl.Describer = component{}
