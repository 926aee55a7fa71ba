// Package nal is the network abstraction layer of package portals4: how its messages travel. A NAL is a BTL, opened once more for the
// interface alone, with business cards, shared memory, connections and a dispatch table of its own: every BTL that there is can carry
// Portals, and nothing is written twice. Which NAL serves a peer is decided by where the peer is (parameter portals4_nal). Only portals4
// uses this.
//
//	NAL    carried by             reaches
//	local  sm, over the Go heap   goroutine ranks of the process
//	shm    sm, in mapped memory   the ranks of the host
//	tcp    tcp                    every other rank
//	udp    udp                    every other rank
//
// A carrier has the parameters of its BTL (btl_sm_..., btl_tcp_..., btl_udp_...); the parameter btl does not concern it.
package nal

import (
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
)

// Listener hears of connections that broke for good, once a process, unless the end is intended (Set.Flush). The token is held.
type Listener interface {
	Failed(p *core.Proc, cause error)
}

// Link is the way to one process. The other end chooses its own: the two directions of a pair may go by different NALs where a rank
// could not have the better one, so that handles of memory mean something to a Getter and a Putter of the same Name alone.
type Link struct {
	Name      string // of the NAL
	Module    btl.Module
	Limits    btl.Limits // of the module, as they were when the link was made
	Send      btl.Endpoint
	Inline    btl.InlineSender // nil: cannot
	MaxInline int
	Get       btl.Getter    // nil: cannot
	Put       btl.Putter    // nil: cannot
	Reg       btl.Registrar // nil: no registration needed or possible
}

// newLink asks a module and its endpoint for what they can do.
func newLink(name string, m btl.Module, ep btl.Endpoint) *Link {
	l := &Link{Name: name, Module: m, Limits: m.Limits(), Send: ep}
	if i, ok := ep.(btl.InlineSender); ok {
		l.Inline, l.MaxInline = i, i.MaxInline()
	}
	l.Get, _ = ep.(btl.Getter)
	l.Put, _ = ep.(btl.Putter)
	l.Reg, _ = m.(btl.Registrar)
	return l
}
