// Package pml is the point-to-point messaging layer framework: MPI's matching and ordering rules over whatever moves bytes. One
// PML component serves an instance; collectives and the public API use it through Module. Arguments were checked above (package
// ompi): ranks are inside the communicator, tags inside their range, buffers well-formed, types committed.
package pml

import (
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
)

func init() {
	mca.RegisterFramework(mca.Framework{Name: "pml", Help: "point-to-point messaging layer: matching, ordering, protocols"})
}

// Mode is the send mode (MPI-3.1 §3.4). Buffered sends are made above the PML, out of standard ones. Ready is taken as Standard.
type Mode uint8

// Send modes.
const (
	Standard Mode = iota
	Synchronous
	Ready
)

// PairTags is the first of the tags for internal traffic between two ranks on &comm.P2P, such as partitioned messages: MaxTag lies below
// them. Only a receive that names its source and such a tag matches them; no wildcard does.
const PairTags = 1 << 30

// Component is what registers with mca under framework "pml".
type Component interface {
	mca.Component
	// Priority decides between those that can be opened: the highest wins.
	Priority(params *mca.Params) (int, error)
	// Open makes the component's module for one instance, before the job's first Fence, when no component of a higher priority works. It
	// does not Fence: ranks may choose differently, which is found out at that Fence. The token is not held.
	Open(env *btl.Env) (Module, error)
}

// Termed is a Module with more than its name and limits that must be the same in all ranks of the job: Terms says it in a few words, such as
// the transport under it. Ranks whose words differ do not start.
type Termed interface{ Terms() string }

// Limiter is a Module whose limits may be more than those of other ranks. Limit lowers what MaxTag and MaxContext say to what the job has
// agreed on, before any communicator is made.
type Limiter interface {
	Limit(maxTag int, maxContext uint32)
}

// Message is a matched message that a matched probe has taken out of the queues (MPI-3.1 §3.8.2).
type Message interface {
	Status() core.Status
}

// LimitsUser is a Module that keeps what BTLs say of themselves (btl.Limits). LimitsChanged is called when a parameter has changed
// that at run time, with the token held.
type LimitsUser interface{ LimitsChanged() }

// Canceller is a Module whose operations may outlive their communicator. Cancelled ends those with err, with the token held: the whole
// instance is cancelled.
type Canceller interface{ Cancelled(err *core.Error) }

// Finisher is a Module that tells peers things which they do not wait for. Finishing ends that, with the token held: the instance begins
// to finalize.
type Finisher interface{ Finishing() }

// Pender is a Module that says in a few words what it has under way, for a launcher whose job hangs; nothing when there is nothing. The
// token is held.
type Pender interface{ Pending() string }

// Module is an open PML. A channel is a communicator's message space: &comm.P2P or &comm.Inner. ProcNull is handled above.
// Errors are *core.Error with their class; what they concern (Op, Comm) is filled in above.
//
// Methods take the engine's token themselves unless they say otherwise, so callers must not hold it.
type Module interface {
	Name() string
	// MaxTag is the largest tag, MaxContext the largest context number (of a channel).
	MaxTag() int
	MaxContext() uint32

	// AddComm makes a communicator's channels known; messages that came before are matched now.
	AddComm(c *core.Comm) error
	// DelComm forgets them. Nothing may be pending on them.
	DelComm(c *core.Comm)

	// SentOn gives, for each rank, how many of this rank's messages on c have been sent to it; a number that wraps. Settle waits
	// until as many messages of each rank's as sent says have come, and ends receives that wait for more: before DelComm.
	SentOn(c *core.Comm) []int32
	Settle(c *core.Comm, sent []int32)

	// Send returns when buf may be reused (Synchronous: when the receiver has matched).
	Send(ch *core.Channel, buf core.Buffer, dest, tag int, mode Mode) error
	// Isend starts a send. The request is never nil; errors come with its completion.
	Isend(ch *core.Channel, buf core.Buffer, dest, tag int, mode Mode) *core.Request
	Recv(ch *core.Channel, buf core.Buffer, source, tag int) (core.Status, error)
	Irecv(ch *core.Channel, buf core.Buffer, source, tag int) *core.Request
	// BeginSend and BeginRecv are Isend (Standard) and Irecv for who holds the token: a poller, not a Hook.
	BeginSend(ch *core.Channel, buf core.Buffer, dest, tag int) *core.Request
	BeginRecv(ch *core.Channel, buf core.Buffer, source, tag int) *core.Request
	// SendInit and RecvInit make inactive persistent requests, started through their Owner.
	SendInit(ch *core.Channel, buf core.Buffer, dest, tag int, mode Mode) *core.Request
	RecvInit(ch *core.Channel, buf core.Buffer, source, tag int) *core.Request
	// RecvInitHeld is RecvInit for who holds the token, such as a core.Hook.
	RecvInitHeld(ch *core.Channel, buf core.Buffer, source, tag int) *core.Request

	Probe(ch *core.Channel, source, tag int) (core.Status, error)
	Iprobe(ch *core.Channel, source, tag int) (core.Status, bool, error)
	Mprobe(ch *core.Channel, source, tag int) (Message, error)
	Improbe(ch *core.Channel, source, tag int) (Message, error) // nil: nothing there
	Imrecv(m Message, buf core.Buffer) *core.Request

	// PathsChanged takes a process's paths anew: some of them broke, others remain. Messages from now on go over those, and so does
	// what the broken BTL gives back. The token is held.
	PathsChanged(p *core.Proc)
	// ProcFailed completes what can no longer happen because the process died. The token is held.
	ProcFailed(p *core.Proc)
	// CommFailed completes everything pending on c with c's fault. The token is held.
	CommFailed(c *core.Comm)
	// Quiet reports whether nothing is pending or under way; Finalize progresses until it is. The token is held.
	Quiet() bool
	// Close releases everything. The token is held.
	Close() error
}
