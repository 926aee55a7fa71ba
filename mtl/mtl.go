// Package mtl is the matching transport layer framework: MPI's matching done by the transport itself. pml/cm turns MPI's calls into
// requests and hands them to the one MTL of the instance. Components are sub-folders. All methods are called with the engine's token
// held unless a comment says otherwise, and all upcalls hold it.
package mtl

import (
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
)

func init() {
	mca.RegisterFramework(mca.Framework{Name: "mtl", Help: "matching transport layer: transports that match MPI messages themselves"})
}

// Component is what registers with mca under framework "mtl".
type Component interface {
	mca.Component
	// Open makes the component's module for one instance; priority decides between those that can. The token is not held. It may be
	// called before the job's first Fence only.
	Open(env *btl.Env) (m Module, priority int, err error)
}

// PairTags is the first of the tags that no wildcard matches (pml.PairTags). An MTL maps them to match bits of its own.
const PairTags = 1 << 30

// Wildcards in Request.Peer and Tag.
const (
	AnySource = core.AnySource
	AnyTag    = core.AnyTag
)

// Request is one send or receive. It is part of a request of the PML, which lives long, and never allocated per message.
type Request struct {
	Owner Completer
	Ch    *core.Channel
	Buf   core.Buffer // alive until Done
	Peer  int         // rank that messages on Ch name (core.Comm.Procs), or AnySource
	Tag   int         // or AnyTag
	Sync  bool        // of a send: Done only when it was matched
	Priv  any         // the MTL's state of it, while it is under way
}

// Completer is told about the end of a request.
type Completer interface {
	// Done: the request is over and belongs to its owner again. st is that of a receive; err a *core.Error, such as ErrTruncate, with which
	// st is set as well. It may be called from inside the call that began the request.
	Done(r *Request, st core.Status, err error)
}

// Message is a matched message that Improbe has taken out of the queues.
type Message interface {
	Status() core.Status
}

// Termed is a Module with more than its limits that must be the same in all ranks of the job: Terms says it in a few words, such as a
// split of match bits. Ranks whose words differ do not start.
type Termed interface{ Terms() string }

// Module is an open MTL. Ranks are those of the channel's communicator. ProcNull was handled above.
type Module interface {
	Name() string
	// MaxTag is the largest tag of users, MaxContext the largest channel number, MaxRank the largest rank of a communicator.
	MaxTag() int
	MaxContext() uint32
	MaxRank() int

	// Send and Recv begin a request; its end is told to its owner.
	Send(r *Request)
	Recv(r *Request)
	// TrySend sends a small message at once if that is possible without a request: the buffer may be used again. It reports false when it
	// has done nothing.
	TrySend(ch *core.Channel, buf core.Buffer, dest, tag int) bool
	// Cancel takes a receive back that nothing has matched, and reports whether it could; its owner is told nothing then.
	Cancel(r *Request) bool
	// Iprobe looks for a message that waits (MPI-3.1 §3.8.1); Improbe takes it. nil: there is none.
	Iprobe(ch *core.Channel, source, tag int) (core.Status, bool)
	Improbe(ch *core.Channel, source, tag int) (Message, core.Status, bool)
	// RecvMessage begins the receive of a message that Improbe has taken. The message is no more.
	RecvMessage(m Message, r *Request)

	// AddComm and DelComm tell of communicators. No request is pending when one goes; messages that nobody has received are dropped with it:
	// the next communicator may have the same channel numbers.
	AddComm(c *core.Comm) error
	DelComm(c *core.Comm)
	// Flushed reports whether every message sent on the P2P channel of c has come to its receiver, matched or not: none is on the way any
	// more. Those for processes that have died do not count.
	Flushed(c *core.Comm) bool

	// ProcFailed ends what is under way with p, which has died: sends to it, and receives that have matched a message of it whose rest will
	// not come. CommFailed, when c's fault is fatal, ends likewise what is under way on c. The errors are those of the fault (core.Proc.Failed,
	// core.Comm.Fault). Receives that nothing has matched may be left to the PML: it takes those back with Cancel that never will be, such
	// as those from any source, and begins nothing on what has failed but the receive of messages that had come. Messages that came whole
	// before their sender died can still be received.
	ProcFailed(p *core.Proc)
	CommFailed(c *core.Comm)
	// Pending says in a few words what is under way; nothing when nothing is.
	Pending() string
	Quiet() bool
	Close() error
}
