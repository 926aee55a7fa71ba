package portals4

import "math"

// Process names a process: by its rank on a logical interface, by NID and PID on a physical one (PtlProcess). The fields of the other
// form are ignored.
type Process struct{ Rank, NID, PID uint32 }

// Rank is the process of a rank on a logical interface.
func Rank(r int) Process { return Process{Rank: uint32(r), NID: AnyNID, PID: AnyPID} }

// Physical is the process pid of node nid.
func Physical(nid, pid uint32) Process { return Process{Rank: AnyRank, NID: nid, PID: pid} }

// AnyProcess is what an entry that takes operations of every process has as MatchID.
var AnyProcess = Process{AnyRank, AnyNID, AnyPID}

// Wildcards.
const (
	AnyRank = math.MaxUint32 // PTL_RANK_ANY
	AnyNID  = math.MaxUint32 // PTL_NID_ANY
	AnyPID  = math.MaxUint32 // PTL_PID_ANY
	AnyUID  = math.MaxUint32 // PTL_UID_ANY
	AnyPT   = math.MaxUint32 // PTL_PT_ANY
)

// NIOptions choose one of the four flavours of an interface: Matching or NoMatching, Logical or Physical.
type NIOptions uint32

// Flavours.
const (
	Matching NIOptions = 1 << iota
	NoMatching
	Logical
	PhysicalAddresses // PTL_NI_PHYSICAL
)

// Features of an interface (Limits.Features).
type Features uint32

// Features.
const (
	TargetBindInaccessible Features = 1 << iota
	TotalDataOrdering
	CoherentAtomics
)

// Limits are what an NI can do (PtlNILimits). Sizes in bytes; MaxPTIndex is inclusive.
type Limits struct {
	MaxEntries           int
	MaxUnexpectedHeaders int
	MaxMDs               int
	MaxCTs               int
	MaxEQs               int
	MaxPTIndex           int
	MaxIovecs            int
	MaxListSize          int
	MaxTriggeredOps      int
	MaxMsgSize           uint64
	MaxAtomicSize        uint64
	MaxFetchAtomicSize   uint64
	MaxWAWOrderedSize    uint64
	MaxWAROrderedSize    uint64
	MaxVolatileSize      uint64
	Features             Features
}

// StatusRegister names a counter of an NI (PtlNIStatus).
type StatusRegister int

// Status registers.
const (
	DropCount StatusRegister = iota
	PermissionViolations
	OperationViolations
	WastedBytes // ours: payload that travelled and found no memory
	statusRegisters
)

// PTOptions are options of a portal table entry.
type PTOptions uint32

// Options of a portal table entry.
const (
	PTOnlyUseOnce PTOptions = 1 << iota
	PTOnlyTruncate
	PTFlowCtrl
	ptOptionsEnd
)

// MDOptions are options of a memory descriptor.
type MDOptions uint32

// Options of a memory descriptor.
const (
	MDEventSuccessDisable MDOptions = 1 << iota
	MDEventSendDisable
	MDEventCTSend
	MDEventCTReply
	MDEventCTAck
	MDEventCTBytes
	MDUnordered
	MDVolatile
	mdOptionsEnd
)

// EntryOptions are options of list and match list entries. Those that begin with ME are for match list entries alone.
type EntryOptions uint32

// Options of an entry.
const (
	OpPut EntryOptions = 1 << iota
	OpGet
	UseOnce
	AckDisable
	UnexpectedHdrDisable
	IsAccessible
	EventLinkDisable
	EventCommDisable
	EventFlowCtrlDisable
	EventSuccessDisable
	EventOverDisable
	EventUnlinkDisable
	EventCTComm
	EventCTOverflow
	EventCTBytes
	MEManageLocal
	MENoTruncate
	MEMayAlign
	AckSoon // ours: acknowledgements do not wait for a request to the initiator that would take them along
	entryOptionsEnd
)

// List is one of the lists of a portal table entry.
type List uint8

// Lists.
const (
	PriorityList List = iota
	OverflowList
)

func (l List) String() string {
	if l == OverflowList {
		return "PTL_OVERFLOW_LIST"
	}
	return "PTL_PRIORITY_LIST"
}

// SearchOp is what a search does with what it finds.
type SearchOp uint8

// Search operations.
const (
	SearchOnly SearchOp = iota
	SearchDelete
)

// AckReq is the acknowledgement that a put or an atomic operation asks for.
type AckReq uint8

// Acknowledgements.
const (
	NoAck AckReq = iota
	Ack          // PTL_ACK_REQ: an event, and the count
	CTAck        // PTL_CT_ACK_REQ: the count alone
	OCAck        // PTL_OC_ACK_REQ: the count, when the target has processed the operation, successfully or not
)

// LE describes a list entry (PtlLE). Memory is Start, or the pieces of Iovec one behind the other.
type LE struct {
	Start   []byte
	Iovec   [][]byte
	CT      *CT // nil: none
	UID     uint32
	Options EntryOptions

	Space    *Space   // ours: the memory by address, instead of Start and Iovec
	Operator Operator // ours: carries out User
}

// ME describes a match list entry (PtlME). Ignore bits that are set are not compared.
type ME struct {
	Start      []byte
	Iovec      [][]byte
	CT         *CT // nil: none
	UID        uint32
	Options    EntryOptions
	MatchID    Process
	MatchBits  uint64
	IgnoreBits uint64
	MinFree    uint64

	Space    *Space   // ours: the memory by address, instead of Start and Iovec
	Operator Operator // ours: carries out User
}

// MD describes a memory descriptor (PtlMD): Start, or the pieces of Iovec, or with Anywhere whatever memory each operation brings itself
// (Transfer.Mem), which is the typed form of a descriptor of all memory.
type MD struct {
	Start    []byte
	Iovec    [][]byte
	Anywhere bool
	Options  MDOptions
	EQ       *EQ // nil: none
	CT       *CT // nil: none
}

// Transfer is what the data movement calls have in common. Local memory is [Offset, Offset+Length) of the memory descriptor, or Mem when
// that is of memory anywhere. A transfer is not kept: it may be used again when the call has returned.
type Transfer struct {
	Offset, Length uint64
	Mem            []byte // with MD.Anywhere: the local memory; Offset and Length are ignored
	Ack            AckReq // put and atomic
	Target         Process
	PT             uint32 // portal table index at the target
	MatchBits      uint64
	RemoteOffset   uint64
	UserPtr        any // comes back in the events
	HdrData        uint64
}

// Into is where FetchAtomic and Swap put what they fetch: the length of the transfer from Offset of MD, or Mem.
type Into struct {
	MD     *MDHandle
	Offset uint64
	Mem    []byte
}
