package portals4

import "github.com/ompi-go/ompi-go/core"

// Reaches says why a process cannot be reached; nil: it can, as far as one knows without a message. Components ask it when processes are
// added, so that others may serve the process instead. The token is held.
func (i *Interface) Reaches(p *core.Proc) error {
	if p.Rank == i.rank {
		return nil
	}
	return i.to(p.Rank).dead
}

// Meet implements btl.Meeter: whoever speaks to this process gets an answer.
func (s service) Meet(p *core.Proc) {
	if p.Rank != s.i.rank {
		s.i.to(p.Rank)
	}
}
