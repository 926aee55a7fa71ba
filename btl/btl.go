// Package btl is the byte transfer layer framework: what a BTL component offers to the floor above (bml/r2 and through it
// pml/ob1), and nothing of how. A component is a sub-folder; outside ones register with mca the same way.
//
// A BTL moves active messages: a tag, a small header and a payload, delivered to the Handler that the upper layer put in the
// Dispatch table under that tag. Delivery is reliable. Order between messages to one peer is kept by some BTLs but promised by
// none: the upper layer numbers what must be ordered. Everything a BTL can do beyond that is an optional interface (InlineSender,
// Getter, Putter, Registrar); r2 asks once, when processes are added, and keeps the answer.
//
// All methods are called with the engine's token held unless a comment says otherwise, and all upcalls hold it. Back-pressure is
// the return value ErrAgain: nothing was taken, the caller keeps the message and offers it again from its next progress pass.
// No BTL queues behind the caller's back.
package btl

import (
	"errors"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

func init() {
	mca.RegisterFramework(mca.Framework{Name: "btl", Help: "byte transfer layer: moves active messages and bytes between two processes", Many: true})
}

// ErrAgain: no room now, nothing was taken; offer it again later.
var ErrAgain = errors.New("btl: no room, try again")

// ErrUnavailable is what Open returns, wrapped with the reason, when the component cannot work here; it is left out quietly.
var ErrUnavailable = errors.New("btl: not available")

// ErrNotSupported is what Get or Put returns when this transfer cannot be done that way; the caller copies instead.
var ErrNotSupported = errors.New("btl: transfer not supported")

// Component is what registers with mca under framework "btl".
type Component interface {
	mca.Component
	// Open makes the component's modules for one instance: usually one. It publishes business cards with env.Job.Put. The
	// token is not held.
	Open(env *Env) ([]Module, error)
}

// Env is what an instance gives its BTLs.
type Env struct {
	Params   *mca.Params
	Engine   *progress.Engine
	Job      rte.Job
	Arch     datatype.Arch // in which this rank packs what it sends
	Mixed    bool          // ranks may pack in different ones
	Procs    []*core.Proc  // by job rank
	Shm      *shm.Domain   // memory shared with the ranks of this host; nil when there is none, with the reason in ShmErr
	ShmErr   error
	Refused  []string // why components that are allowed do not work here, each behind its name; complete when the BML is opened
	Dispatch *Dispatch
	Upcalls  Upcalls

	Registry *mca.Registry // for who opens components itself
	Hub      *shm.Hub      // nil between processes
	Services *Services
	Fenced   bool // all business cards are written: who writes more fences the job itself
	Bypass   bool // set while components are opened: the engine is to move though the program computes
}

// Upcalls is what the instance does for its BTLs.
type Upcalls interface {
	// EndpointFailed: the connection to a process broke and cannot be mended by this BTL. From now on Send returns an error, and what
	// the BTL owns is given back with an error, if it was not before. Called with the token held.
	//
	// dead tells that the process counts as failed: it is known to have died, it cannot be trusted, or a message that either end had
	// completed may have been lost. Without it the BTL vouches that each end got what the other's BTL completed without an error, so
	// that other BTLs can go on with the process.
	//
	// The PML calls it, too, with no module, of a peer that it gives up.
	EndpointFailed(m Module, proc *core.Proc, dead bool, cause error)
	// Say reports something the user should know once per job, such as a fallback: key identifies it. It is counted too.
	Say(key, message string)
}

// Tag selects the handler of an active message.
type Tag uint8

// TagPML is the first of the 32 tags of the point-to-point layer.
const TagPML Tag = 0x40

// HeaderMax is the largest header of an active message in bytes; a Frag has room for it.
const HeaderMax = 64

// InlineHeader is the size of the header of an inline message: two 64-bit words, little-endian on the wire.
const InlineHeader = 16

// Handler receives the active messages of a tag. peer is the sender's job rank, vouched for by the transport. hdr and payload
// are valid during the call only and may lie in memory that the peer can write: look at each field once.
type Handler interface {
	Receive(peer int, hdr, payload []byte)
}

// Placer is an optional ability of a Handler: it tells where the payload of a large message belongs, so that a BTL that reads
// from a descriptor reads straight into the user's buffer.
type Placer interface {
	// Place is asked when the header is known and n bytes of payload are still to come. It returns where they go (exactly n bytes,
	// alive until Placed), or nil for the ordinary way.
	Place(peer int, hdr []byte, n int) []byte
	// Placed: all bytes are in place, or err tells that the connection broke before.
	Placed(peer int, hdr []byte, n int, err error)
}

// Reclaimer is an optional ability of a Handler: it takes back inline messages, which no fragment of the upper layer stands for.
type Reclaimer interface {
	// Reclaim is called with an inline message to peer, which SendInline took, when the endpoint fails without the process and it is not
	// known whether the message came. hdr and payload are valid during the call only.
	Reclaim(peer int, hdr, payload []byte)
}

// Diverter is an optional ability of a module whose peers may stop in the middle of a payload that goes to a Placer's memory. Divert
// has it let go of that memory at once, telling the Placers err; what is still to come is thrown away. Transfers that wait for a peer end
// with err, too. It is called when the instance has been cancelled: a peer may never send the rest, and who receives is to get the
// buffer back.
type Diverter interface{ Divert(err error) }

// Dispatch is an instance's table of handlers by tag, shared by its BTLs.
type Dispatch struct{ Handlers [256]Handler }

// Limits are facts of a module that are not abilities. Sizes in bytes.
type Limits struct {
	Eager       int64 // largest message (header included) sent before the receiver has matched
	RndvEager   int64 // payload that travels with a rendezvous header
	MaxSend     int64 // largest fragment (header included)
	MinGet      int64 // messages from this size on are fetched by Get when both ends allow it
	MinPut      int64 // likewise written by Put
	MinShared   int64 // Gets from this size on can be shared between both ends (Transfer.Shared); 0: none can
	MinPipeline int64 // messages from this size on may go by the pipeline protocol; 0: none, unless the user asks for it
	PipeSend    int64 // of those, what travels by fragments while the first registrations are made
	PipeFrag    int64 // the piece that is registered and transferred at once; 0: the whole
	Pinned      bool  // registrations are kept for later messages: no pipeline is needed to hide them
	Latency     int   // µs, for choosing the eager list
	Bandwidth   int   // Mbit/s, for weights
	Exclusivity int   // only the most exclusive reachable BTLs are used for a peer
}

// Module is an open BTL of one instance.
type Module interface {
	Name() string // component's name, also the metrics label
	Limits() Limits
	// AddProcs gives an endpoint for each process, by position; nil where it cannot be reached through this BTL, with the reason
	// in the second list. Connections may be made lazily.
	AddProcs(procs []*core.Proc) ([]Endpoint, []error)
	// Flush pushes out what was taken but not sent, and tells peers that the end is intended (BYE). It is called by Finalize after
	// the last message; it reports whether everything is out.
	Flush() bool
	// Close releases everything. The token is held.
	Close() error
}

// Endpoint is the way to one process through one module.
type Endpoint interface {
	// Send takes a fragment: header, then payload. done means that payload and fragment may be reused at once and no completion
	// follows; otherwise f belongs to the BTL until f.Owner.FragDone. err is ErrAgain (nothing taken) or the endpoint's failure.
	Send(f *Frag) (done bool, err error)
}

// InlineSender is an endpoint that copies a small message with a 16-byte header at once. It is the fast path: no Frag, no
// completion.
type InlineSender interface {
	MaxInline() int // bytes of payload
	// SendInline reports false when there is no room or n is too large: nothing was taken. h0 and h1 are the header's two words.
	SendInline(tag Tag, h0, h1 uint64, data unsafe.Pointer, n int) bool
}

// Voucher is an endpoint that can be told to keep what it sends until the peer has it, which costs something. Where there are other paths
// to the process, Vouch is called before the endpoint is used: when it fails then, EndpointFailed comes without dead, fragments that may not have come
// have been given back with an error, and inline messages through Reclaimer. Endpoints without it can always tell, or never fail alone.
type Voucher interface{ Vouch() }

// Completer is told about the end of a fragment or transfer that was not done at once.
type Completer interface {
	FragDone(f *Frag, err error)
}

// Frag describes an active message to send. It is part of a long-lived object of the upper layer and never allocated per message.
// The payload is either Len bytes at Data or Len bytes packed from Conv at its position; when both are set, Data is wanted.
type Frag struct {
	Owner  Completer
	Tag    Tag
	HdrLen uint8
	Hdr    [HeaderMax]byte
	Len    int
	Data   unsafe.Pointer
	Conv   *datatype.Convertor
	Next   *Frag // for whoever owns the fragment now
	Sent   int   // for the BTL that owns it
}

// Header is the fragment's header.
func (f *Frag) Header() []byte { return f.Hdr[:f.HdrLen] }

// MemHandle is a registered piece of memory as a peer names it. It travels in headers.
type MemHandle struct{ A, B uint64 }

// MemHandleSize is a MemHandle on the wire.
const MemHandleSize = 16

// Registrar is a module whose Get or Put need memory to be registered, at both ends. The registration keeps the memory alive.
// Registering the same memory often may be cheap: what it costs is the module's business (package rcache helps).
type Registrar interface {
	Register(mem unsafe.Pointer, n int64) (MemHandle, error)
	Deregister(h MemHandle)
}

// Sharer is a Registrar some of whose memory its peers can reach even if Get and Put are refused otherwise.
type Sharer interface {
	Registrar
	IsShared(h MemHandle) bool
}

// Transfer describes a read (Get) or write (Put) of a peer's registered memory. It is part of a long-lived object of the upper layer
// and never allocated per message.
type Transfer struct {
	Owner  Transferrer
	Local  unsafe.Pointer // of N bytes, alive until the transfer is over
	Mem    MemHandle      // registration of the local memory; zero: none, which modules may refuse with ErrNotSupported
	MemOff int64          // where Local lies in Mem
	N      int64
	Remote MemHandle // the peer's memory, as the peer registered it
	Off    int64     // from the beginning of Remote
	Shared bool      // Get only: the peer is to copy a part of it, see Limits.MinShared
	Next   *Transfer // for whoever owns the transfer now
	State  uint64    // for the BTL that owns it
}

// Transferrer is told about the end of a transfer that was not done at once.
type Transferrer interface {
	TransferDone(t *Transfer, err error)
}

// Getter is an endpoint that can read a peer's memory.
type Getter interface {
	// Get copies t.N bytes of the peer's memory to t.Local. done: it is over, and no completion follows; otherwise t belongs to the
	// BTL until t.Owner.TransferDone. ErrAgain: nothing was taken, no room now. ErrNotSupported: not this way, copy instead; any
	// other error: the peer or its memory is gone. TransferDone tells the same errors, but ErrAgain.
	Get(t *Transfer) (done bool, err error)
}

// Putter is an endpoint that can write a peer's memory; the rules are Get's. When it is over, the bytes are in place.
type Putter interface {
	Put(t *Transfer) (done bool, err error)
}
