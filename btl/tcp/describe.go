package tcp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/inet"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
)

// Describe implements btl.Describer. The bandwidth is that of this machine's interfaces.
func (component) Describe(p *mca.Params, peer core.Locality) (*btl.Description, error) {
	var m module
	if err := p.Decode("btl", "tcp", &m.opts); err != nil {
		return nil, err
	}
	switch {
	case peer == core.LocalSelf:
		return nil, errors.New("it reaches other ranks only")
	case peer == core.LocalProcess && p.Selection("btl").Allows("sm"):
		return nil, errors.New("goroutine ranks of one process share its memory")
	}
	ifaces, err := inet.Ifaces()
	if err != nil {
		return nil, fmt.Errorf("listing network interfaces: %w", err)
	}
	if m.locals, err = inet.Choose(ifaces, m.opts.choice()); err != nil {
		return nil, err
	}
	inside := func(l inet.Local) bool { return l.Loopback }
	if peer != core.LocalRemote && slices.ContainsFunc(m.locals, inside) {
		m.locals = slices.DeleteFunc(m.locals, func(l inet.Local) bool { return !l.Loopback })
	}
	if len(m.locals) == 0 {
		return nil, errors.New(inet.NoAddress(ifaces, m.opts.choice()))
	}
	d := &btl.Description{Limits: m.Limits(), MaxInline: maxInline}
	if peer == core.LocalRemote && !slices.ContainsFunc(m.locals, func(l inet.Local) bool { return !l.Loopback }) {
		d.Notes = []string{"this machine has only its loopback interface, by which nobody else is reached"}
	}
	return d, nil
}

var _ btl.Describer = component{}
