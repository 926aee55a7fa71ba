// Package bml is the multiplexing layer's contract: it shows pml/ob1 each process as one Endpoint, with the ways to it (Paths)
// sorted by use. Components are sub-folders; r2 is the one we have.
package bml

import (
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
)

func init() {
	mca.RegisterFramework(mca.Framework{Name: "bml", Help: "multiplexes a process's traffic over several BTLs"})
}

// Component is what registers with mca under framework "bml".
type Component interface {
	mca.Component
	// Open takes the instance's open BTL modules. The token is not held.
	Open(env *btl.Env, modules []btl.Module) (Manager, error)
}

// Manager makes and keeps endpoints. The token is held in all calls.
type Manager interface {
	// Endpoint gives the way to a process, connecting it at the first call. The error says, BTL by BTL, why there is none.
	Endpoint(p *core.Proc) (*Endpoint, error)
	// Drop takes a failed module's paths out of a process's endpoint and reports whether others remain. The PML learns of it by
	// PathsChanged.
	Drop(m btl.Module, p *core.Proc) bool
	Modules() []btl.Module
}

// Quieter is a Manager that may hold messages back itself; it is quiet when it holds none.
type Quieter interface{ Quiet() bool }

// Path is one way to a process: an endpoint of a module with what it can do, asked once.
type Path struct {
	Module    btl.Module
	Limits    btl.Limits
	Send      btl.Endpoint
	Inline    btl.InlineSender // nil: cannot
	MaxInline int              // 0 when Inline is nil
	Get       btl.Getter       // nil: cannot
	Put       btl.Putter       // nil: cannot
	NoGet     bool             // the peer found that it cannot Get from us
	NoShared  bool             // likewise, of memory that Shares shares
	NoPut     bool             // Put was found not to work, at either end
	Reg       btl.Registrar    // nil: no registration needed or possible
	Shares    btl.Sharer       // nil: no memory is reached more easily than other
	Weight    float64          // share of bandwidth among the endpoint's send paths
	Counts    *Counts          // of the module and the peer's class
	Meter     *Meter           // nil: its bandwidth is not measured

	cost uint64 // of a byte, the more the less the weight
	due  uint64 // what it has carried beyond the one that has carried the least, in costs
}

// Counts are what the PML moved over a module to and from peers of one class; written with the token held. What arrives is not
// here: a BTL's handlers are not told which module brought it.
type Counts struct {
	BTL, Peer string
	Sent      uint64 // active messages that the module took: first fragments, further ones, control messages
	Bytes     uint64 // their payload
	Gets      uint64 // reads of peers' memory that succeeded
	GetBytes  uint64 // what they brought
	Puts      uint64 // writes to peers' memory that succeeded
	PutBytes  uint64 // what they took there
}

// Endpoint is all ways to one process.
type Endpoint struct {
	Proc  *core.Proc
	Eager []*Path // lowest latency: first fragments and control
	Bulk  []*Path // all, by bandwidth: fragments
	RDMA  []*Path // those that read or write memory, by bandwidth
	// Reduced tells that a path was lost. The two ends need not learn of that at once, and what one offers to be read may then be
	// memory that another BTL's handle names: nothing is fetched any more.
	Reduced bool
	// Twice tells that messages may come twice though no path was lost.
	Twice bool
	next  int
}

// First is the path for first fragments and control messages.
func (e *Endpoint) First() *Path { return e.Eager[0] }

// Measured gives the bulk paths weights by what their meters say, once all of them do.
func (e *Endpoint) Measured() {
	for _, p := range e.Bulk {
		if p.Meter == nil || p.Meter.Rate == 0 {
			return
		}
	}
	e.Weigh(func(p *Path) int { return p.Meter.Rate })
}

// Arranger is an optional ability of a Component, for tools: it sorts paths, of which Limits are set, into an endpoint as Endpoint does.
type Arranger interface {
	Arrange(ep *Endpoint, paths []*Path)
}
