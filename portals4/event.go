package portals4

import "fmt"

// Kind is the type of an event (PtlEvent's type).
type Kind uint8

// Events.
const (
	EventGet Kind = iota + 1
	EventGetOverflow
	EventPut
	EventPutOverflow
	EventAtomic
	EventAtomicOverflow
	EventFetchAtomic
	EventFetchAtomicOverflow
	EventReply
	EventSend
	EventAck
	EventPTDisabled
	EventAutoUnlink
	EventAutoFree
	EventSearch
	EventLink
)

var kindNames = [...]string{EventGet: "GET", EventGetOverflow: "GET_OVERFLOW", EventPut: "PUT", EventPutOverflow: "PUT_OVERFLOW",
	EventAtomic: "ATOMIC", EventAtomicOverflow: "ATOMIC_OVERFLOW", EventFetchAtomic: "FETCH_ATOMIC", EventFetchAtomicOverflow: "FETCH_ATOMIC_OVERFLOW",
	EventReply: "REPLY", EventSend: "SEND", EventAck: "ACK", EventPTDisabled: "PT_DISABLED", EventAutoUnlink: "AUTO_UNLINK",
	EventAutoFree: "AUTO_FREE", EventSearch: "SEARCH", EventLink: "LINK"}

func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return "PTL_EVENT_" + kindNames[k]
	}
	return fmt.Sprintf("PTL_EVENT(%d)", uint8(k))
}

// FailType says how an operation ended (ni_fail_type).
type FailType uint8

// Ends of operations.
const (
	OK FailType = iota
	Undeliverable
	Dropped
	PTDisabled
	PermViolation
	OpViolation
	NoMatch
	SegV
)

var failNames = [...]string{"OK", "UNDELIVERABLE", "DROPPED", "PT_DISABLED", "PERM_VIOLATION", "OP_VIOLATION", "NO_MATCH", "SEGV"}

func (f FailType) String() string {
	if int(f) < len(failNames) {
		return "PTL_NI_" + failNames[f]
	}
	return fmt.Sprintf("PTL_NI(%d)", uint8(f))
}

// Event is an entry of an event queue (PtlEvent). Which fields mean something depends on the type; Type, NIFail and UserPtr always do.
type Event struct {
	Type         Kind
	NIFail       FailType
	List         List // where a put was matched: at the target, and in ACK and REPLY at the initiator
	AtomicOp     AtomicOp
	AtomicType   Type
	PT           uint32
	UID          uint32
	Initiator    Process
	MatchBits    uint64
	RLength      uint64 // bytes asked for
	MLength      uint64 // bytes moved
	RemoteOffset uint64 // at the target as asked for, at the initiator as used
	Offset       uint64 // at the target: where in the entry's memory the bytes are
	Start        []byte // those bytes, MLength of them; nil when they lie in several pieces of an iovec
	HdrData      uint64
	UserPtr      any
}

func (e *Event) String() string {
	return fmt.Sprintf("%v %v pt %d bits %#x rlength %d mlength %d offset %d", e.Type, e.NIFail, e.PT, e.MatchBits, e.RLength, e.MLength, e.RemoteOffset)
}

// CTEvent is the value of a counting event (PtlCTEvent).
type CTEvent struct{ Success, Failure uint64 }
