package nal

import (
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
)

// sayPrefix begins the keys of what carriers say: their fallbacks are counted beside those of the instance's own BTLs.
const sayPrefix = "portals4-"

// upcalls is a Set as its carriers see it.
type upcalls Set

// EndpointFailed implements btl.Upcalls. There is one way to a process: its end is the process's, dead or not.
func (u *upcalls) EndpointFailed(_ btl.Module, p *core.Proc, _ bool, cause error) {
	if u.leaving || u.failed[p.Rank] {
		return
	}
	u.failed[p.Rank] = true
	u.listener.Failed(p, cause)
}

// Say implements btl.Upcalls.
func (u *upcalls) Say(key, message string) { u.env.Upcalls.Say(sayPrefix+key, message) }
