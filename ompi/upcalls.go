package ompi

import (
	"fmt"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/trace"
)

// upcalls is an instance as its components see it: what they call is not for programs.
type upcalls Instance

var _ btl.Upcalls = (*upcalls)(nil)

// BML is for the PML.
func (u *upcalls) BML() bml.Manager { return u.bml }

// Trace and OfUsers are for the PML, too.
func (u *upcalls) Trace() *trace.Ring { return u.trace.ring }

// OfUsers tells messages of the program from those of collectives and of the council.
func (u *upcalls) OfUsers(channel uint32) bool { return channel%2 == 0 && channel != 2*contextCouncil }

// Say implements btl.Upcalls: each fallback is counted, and told once a job by the lowest rank concerned.
func (u *upcalls) Say(key, message string) {
	u.said[key]++
	if u.said[key] > 1 {
		return
	}
	if r, ok := u.job.(rte.Sayer); !ok || !r.SayOnce(key, message) {
		say("rank %d: %s", u.job.Rank(), message)
	}
}

// EndpointFailed implements btl.Upcalls.
func (u *upcalls) EndpointFailed(m btl.Module, p *core.Proc, dead bool, cause error) {
	if u.finalizing.Load() {
		return // everybody has said goodbye already
	}
	if !dead && u.bml != nil && u.bml.Drop(m, p) {
		u.Say("btl-path", fmt.Sprintf("btl %s has lost its connection to rank %d, others go on without it: %v", m.Name(), p.Rank, cause))
		if u.pml != nil {
			u.pml.PathsChanged(p)
		}
		return
	}
	(*Instance)(u).procFailed(p, cause)
}
