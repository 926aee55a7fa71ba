package portals4

// Code is a return code of the specification. It is an error itself, for errors.Is.
type Code int

// Return codes.
const (
	ErrArgInvalid Code = iota + 1
	ErrCTNoneReached
	ErrEQDropped // an event was delivered, and at least one before it was lost
	ErrEQEmpty
	ErrFail
	ErrIgnored
	ErrInUse
	ErrInterrupted
	ErrListTooLong
	ErrNoInit
	ErrNoSpace
	ErrPIDInUse
	ErrPTFull
	ErrPTEQNeeded
	ErrPTInUse
)

var codeNames = [...]string{ErrArgInvalid: "PTL_ARG_INVALID", ErrCTNoneReached: "PTL_CT_NONE_REACHED", ErrEQDropped: "PTL_EQ_DROPPED", ErrEQEmpty: "PTL_EQ_EMPTY",
	ErrFail: "PTL_FAIL", ErrIgnored: "PTL_IGNORED", ErrInUse: "PTL_IN_USE", ErrInterrupted: "PTL_INTERRUPTED", ErrListTooLong: "PTL_LIST_TOO_LONG",
	ErrNoInit: "PTL_NO_INIT", ErrNoSpace: "PTL_NO_SPACE", ErrPIDInUse: "PTL_PID_IN_USE", ErrPTFull: "PTL_PT_FULL", ErrPTEQNeeded: "PTL_PT_EQ_NEEDED", ErrPTInUse: "PTL_PT_IN_USE"}

func (c Code) Error() string { return codeNames[c] }

// Error is an error of a call: what was called, its return code, and why. errors.Is finds the code.
type Error struct {
	Op   string // such as "PtlMEAppend"
	Code Code
	Why  string
}

func (e *Error) Error() string { return "portals4: " + e.Op + ": " + e.Code.Error() + ": " + e.Why }

// Unwrap gives the code.
func (e *Error) Unwrap() error { return e.Code }
