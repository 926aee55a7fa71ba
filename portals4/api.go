package portals4

import (
	"time"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

// Config is what Open needs.
type Config struct {
	Job      rte.Job
	Registry *mca.Registry
	Params   *mca.Params
	Hub      *shm.Hub // of goroutine ranks; nil between processes
	UID      *uint32  // user id that peers see; nil: that of the process
}

// Open makes an interface of its own for a program, with an engine and an agent. It is collective over the job.
func Open(cfg Config) (*Interface, error) { panic("to come") }

// Of gives the interface of an instance, opened at the first call; the instance closes it. All ranks of the job call it at the same point:
// while BTLs are opened, or later, when the job is fenced.
func Of(env *btl.Env) (*Interface, error) { panic("to come") }

// Interface is what one process has of the network: PtlInit and the physical interface.
type Interface struct{}

// Close is PtlFini: the end of all that was made with the interface. For who has it from Open.
func (i *Interface) Close() error { panic("to come") }

// OnFailure has f called, with the token held, when a process cannot be reached any more, after its operations have ended with
// Undeliverable.
func (i *Interface) OnFailure(f func(p *core.Proc, cause error)) { panic("to come") }

// ProcFailed ends all operations with a process that is known to have died. The token is held.
func (i *Interface) ProcFailed(p *core.Proc) { panic("to come") }

// Quiet reports whether nothing is under way that peers wait for: their requests are answered, and what was put is out. The token is held.
func (i *Interface) Quiet() bool { panic("to come") }

// NI is PtlNIInit: one of the four flavours of the interface. The first call for a flavour makes it, with limits as near to desired as they go (nil: the
// defaults); later ones give the same, and ignore pid and desired. pid is AnyPID or the wish of the caller.
func (i *Interface) NI(options NIOptions, pid uint32, desired *Limits) (*NI, error) { panic("to come") }

// NI is a network interface (ptl_handle_ni_t).
type NI struct{}

func (ni *NI) Limits() Limits                                         { panic("to come") }
func (ni *NI) Close() error                                           { panic("to come") } // PtlNIFini
func (ni *NI) Status(r StatusRegister) (uint64, error)                { panic("to come") }
func (ni *NI) SetMap(m []Process) error                               { panic("to come") }
func (ni *NI) SetJobMap() error                                       { panic("to come") } // SetMap where rank N is rank N of the job
func (ni *NI) Map() ([]Process, error)                                { panic("to come") } // PtlGetMap
func (ni *NI) ID() (Process, error)                                   { panic("to come") }
func (ni *NI) PhysID() (Process, error)                               { panic("to come") }
func (ni *NI) UID() (uint32, error)                                   { panic("to come") }
func (ni *NI) ProcessOf(jobRank int) Process                          { panic("to come") } // as this NI names a rank of the job
func (ni *NI) AtomicSync() error                                      { panic("to come") }
func (ni *NI) StartBundle() error                                     { panic("to come") }
func (ni *NI) EndBundle() error                                       { panic("to come") }
func (ni *NI) PTAlloc(o PTOptions, eq *EQ, index uint32) (*PT, error) { panic("to come") }
func (ni *NI) MDBind(d *MD) (*MDHandle, error)                        { panic("to come") }
func (ni *NI) EQAlloc(count int) (*EQ, error)                         { panic("to come") }
func (ni *NI) CTAlloc() (*CT, error)                                  { panic("to come") }

// PT is a portal table entry.
type PT struct{}

func (pt *PT) Index() uint32  { panic("to come") }
func (pt *PT) Free() error    { panic("to come") }
func (pt *PT) Enable() error  { panic("to come") }
func (pt *PT) Disable() error { panic("to come") }

// MEAppend and LEAppend link an entry to one of the lists. d is not kept.
func (pt *PT) MEAppend(d *ME, list List, userPtr any) (Entry, error) { panic("to come") }
func (pt *PT) LEAppend(d *LE, list List, userPtr any) (Entry, error) { panic("to come") }
func (pt *PT) MESearch(d *ME, op SearchOp, userPtr any) error        { panic("to come") }
func (pt *PT) LESearch(d *LE, op SearchOp, userPtr any) error        { panic("to come") }

// Entry is the handle of a list entry or match list entry. It is a value; the zero Entry is none (PTL_INVALID_HANDLE).
type Entry struct {
	e   *entry
	gen uint32
}

type entry struct{}

func (e Entry) Unlink() error { panic("to come") }

// MDHandle is a bound memory descriptor.
type MDHandle struct{}

func (md *MDHandle) Release() error                                  { panic("to come") }
func (md *MDHandle) Put(t *Transfer) error                           { panic("to come") }
func (md *MDHandle) Get(t *Transfer) error                           { panic("to come") }
func (md *MDHandle) Atomic(t *Transfer, op AtomicOp, typ Type) error { panic("to come") }
func (md *MDHandle) FetchAtomic(t *Transfer, into *Into, op AtomicOp, typ Type) error {
	panic("to come")
}

// Swap is PtlSwap; operand is one datum, for CSwap and its kin and for MSwap, and ignored otherwise.
func (md *MDHandle) Swap(t *Transfer, into *Into, operand []byte, op AtomicOp, typ Type) error {
	panic("to come")
}

// Triggered operations begin when trig's success and failure together reach threshold; at once if they have.
func (md *MDHandle) TriggeredPut(t *Transfer, trig *CT, threshold uint64) error { panic("to come") }
func (md *MDHandle) TriggeredGet(t *Transfer, trig *CT, threshold uint64) error { panic("to come") }
func (md *MDHandle) TriggeredAtomic(t *Transfer, op AtomicOp, typ Type, trig *CT, threshold uint64) error {
	panic("to come")
}
func (md *MDHandle) TriggeredFetchAtomic(t *Transfer, into *Into, op AtomicOp, typ Type, trig *CT, threshold uint64) error {
	panic("to come")
}
func (md *MDHandle) TriggeredSwap(t *Transfer, into *Into, operand []byte, op AtomicOp, typ Type, trig *CT, threshold uint64) error {
	panic("to come")
}

// EQ is an event queue.
type EQ struct{}

func (q *EQ) Free() error          { panic("to come") }
func (q *EQ) Get(ev *Event) error  { panic("to come") } // makes progress; ErrEQEmpty
func (q *EQ) Take(ev *Event) error { panic("to come") } // Get without progress, for pollers of the engine
func (q *EQ) Wait(ev *Event) error { panic("to come") }

// EQPoll waits until one of the queues has an event, which it takes, or timeout is over (0: looks once; negative: for ever).
func EQPoll(qs []*EQ, timeout time.Duration, ev *Event) (which int, err error) { panic("to come") }

// CT is a counting event.
type CT struct{}

func (c *CT) Free() error                                              { panic("to come") }
func (c *CT) Get() (CTEvent, error)                                    { panic("to come") } // makes no progress: see Wait and CTPoll
func (c *CT) Wait(test uint64) (CTEvent, error)                        { panic("to come") } // until success+failure >= test
func (c *CT) Set(v CTEvent) error                                      { panic("to come") }
func (c *CT) Inc(v CTEvent) error                                      { panic("to come") }
func (c *CT) CancelTriggered() error                                   { panic("to come") }
func (c *CT) TriggeredInc(v CTEvent, trig *CT, threshold uint64) error { panic("to come") } // c grows when trig reaches threshold
func (c *CT) TriggeredSet(v CTEvent, trig *CT, threshold uint64) error { panic("to come") }

// OnReach has f called, with the token held, once the sum reaches test: for components, whose requests end with a count. One at a time.
func (c *CT) OnReach(test uint64, f CTListener) error { panic("to come") }

// CTListener is told of a count that was reached.
type CTListener interface{ Reached(c *CT) }

// CTPoll waits until one of the counting events reaches its test.
func CTPoll(cs []*CT, tests []uint64, timeout time.Duration) (which int, v CTEvent, err error) {
	panic("to come")
}
