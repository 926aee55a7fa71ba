// Package nal is the network abstraction layer of package portals4: how its messages travel. A NAL is a BTL, opened once more for the
// interface alone, with business cards, shared memory, connections and a dispatch table of its own: every BTL that there is can carry
// Portals, and nothing is written twice. Which NAL serves a peer is decided by where the peer is (parameter nal). Only portals4 uses this.
package nal

import (
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
)

// Listener hears of connections that broke for good. The token is held.
type Listener interface {
	Failed(p *core.Proc, cause error)
}

// Set is the open NALs of one interface.
type Set struct {
	Dispatch *btl.Dispatch // for the interface's handlers
}

// Link is the way to one process.
type Link struct {
	Name      string // of the NAL
	Module    btl.Module
	Limits    btl.Limits
	Send      btl.Endpoint
	Inline    btl.InlineSender // nil: cannot
	MaxInline int
	Get       btl.Getter    // nil: cannot
	Put       btl.Putter    // nil: cannot
	Reg       btl.Registrar // nil: no registration needed or possible
}

// Open opens the NALs that parameters allow. Cards are written, so that Connect works after the job's next Fence. The token is not held.
func Open(env *btl.Env, l Listener) (*Set, error) { panic("to come") }

// Connect gives the way to a process that is not this one; the error says, NAL by NAL, why there is none. The token is held.
func (s *Set) Connect(p *core.Proc) (*Link, error) { panic("to come") }

// Names are the open NALs.
func (s *Set) Names() []string { panic("to come") }

// Flush pushes out what was taken, and says BYE; it reports whether everything is out (btl.Module.Flush). The token is held.
func (s *Set) Flush() bool { panic("to come") }

// Close releases everything. The token is held.
func (s *Set) Close() error { panic("to come") }
