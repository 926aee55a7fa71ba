package core

import (
	"errors"
	"fmt"
	"strings"
)

// ErrorClass is an MPI error class (MPI-3.1 §8.4). It is itself an error, so that errors.Is(err, ErrTruncate) works on
// whatever a call returned. Values are those of the MPI 5.0 ABI; ErrProcFailed and ErrRevoked lie above its LASTCODE.
type ErrorClass int

// The error classes.
const (
	ErrBuffer               ErrorClass = 1
	ErrCount                ErrorClass = 2
	ErrType                 ErrorClass = 3
	ErrTag                  ErrorClass = 4
	ErrComm                 ErrorClass = 5
	ErrRank                 ErrorClass = 6
	ErrRequest              ErrorClass = 7
	ErrRoot                 ErrorClass = 8
	ErrGroup                ErrorClass = 9
	ErrOp                   ErrorClass = 10
	ErrTopology             ErrorClass = 11
	ErrDims                 ErrorClass = 12
	ErrArg                  ErrorClass = 13
	ErrUnknown              ErrorClass = 14
	ErrTruncate             ErrorClass = 15
	ErrOther                ErrorClass = 16
	ErrIntern               ErrorClass = 17
	ErrPending              ErrorClass = 18
	ErrInStatus             ErrorClass = 19
	ErrAssert               ErrorClass = 22
	ErrBase                 ErrorClass = 24
	ErrDisp                 ErrorClass = 26
	ErrInfoKey              ErrorClass = 31
	ErrInfoNoKey            ErrorClass = 32
	ErrInfoValue            ErrorClass = 33
	ErrInfo                 ErrorClass = 34
	ErrKeyval               ErrorClass = 36
	ErrLockType             ErrorClass = 37
	ErrNoMem                ErrorClass = 39
	ErrRMAAttach            ErrorClass = 46
	ErrRMAConflict          ErrorClass = 47
	ErrRMARange             ErrorClass = 48
	ErrRMAShared            ErrorClass = 49
	ErrRMASync              ErrorClass = 50
	ErrUnsupportedOperation ErrorClass = 55
	ErrWin                  ErrorClass = 56
	ErrRMAFlavor            ErrorClass = 57
	ErrProcAborted          ErrorClass = 58
	ErrSession              ErrorClass = 60
	ErrProcFailed           ErrorClass = 16384
	ErrRevoked              ErrorClass = 16385
)

var classText = map[ErrorClass]string{
	ErrBuffer: "invalid buffer", ErrCount: "invalid count", ErrType: "invalid datatype", ErrTag: "invalid tag",
	ErrComm: "invalid communicator", ErrRank: "invalid rank", ErrRequest: "invalid request", ErrRoot: "invalid root",
	ErrGroup: "invalid group", ErrOp: "invalid operation", ErrTopology: "invalid topology", ErrDims: "invalid dimensions",
	ErrArg: "invalid argument", ErrUnknown: "unknown error", ErrTruncate: "message truncated", ErrOther: "error",
	ErrIntern: "internal error", ErrPending: "operation still pending", ErrInStatus: "error in status",
	ErrAssert: "invalid assertion", ErrBase: "invalid base address", ErrDisp: "invalid displacement",
	ErrInfoKey: "invalid info key", ErrInfoNoKey: "no such info key", ErrInfoValue: "invalid info value",
	ErrInfo: "invalid info", ErrKeyval: "invalid attribute key", ErrLockType: "invalid lock type",
	ErrNoMem: "out of memory", ErrRMAAttach: "memory cannot be attached", ErrRMAConflict: "conflicting window accesses",
	ErrRMARange: "outside of the window", ErrRMAShared: "memory cannot be shared", ErrRMASync: "wrong window synchronization",
	ErrUnsupportedOperation: "unsupported operation", ErrWin: "invalid window", ErrRMAFlavor: "wrong window flavor",
	ErrProcAborted: "process aborted", ErrSession: "invalid session", ErrProcFailed: "process failed", ErrRevoked: "communicator revoked",
}

// Error gives the class in words.
func (c ErrorClass) Error() string {
	if s, ok := classText[c]; ok {
		return s
	}
	return fmt.Sprintf("error class %d", int(c))
}

// Predefined reports whether c is a class of this package.
func (c ErrorClass) Predefined() bool {
	_, ok := classText[c]
	return ok
}

// ABIClass is the class as a number of the MPI ABI. Packages below core, which cannot name ErrorClass, match it through
// this method.
func (c ErrorClass) ABIClass() int { return int(c) }

// Error is what every failing call returns; errors.Is(err, ErrTruncate) compares classes, errors.Unwrap gives the cause.
type Error struct {
	Class ErrorClass
	Op    string // MPI's name of the call
	Comm  string // name of the communicator or window, if any
	Peer  int    // rank, or Undefined
	Index int    // position in a list of requests, or -1
	Err   error  // cause, may be nil
}

// NewError makes an error about no peer and no list position.
func NewError(class ErrorClass, format string, args ...any) *Error {
	return &Error{Class: class, Peer: Undefined, Index: -1, Err: fmt.Errorf(format, args...)}
}

// Error prints the call, the communicator, the peer, the class and the cause, as far as they are known.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op)
		if e.Comm != "" {
			b.WriteString(" on " + e.Comm)
		}
		if e.Index >= 0 {
			fmt.Fprintf(&b, " [request %d]", e.Index)
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Class.Error())
	if e.Peer != Undefined {
		fmt.Fprintf(&b, " (peer rank %d)", e.Peer)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is this error's class.
func (e *Error) Is(target error) bool {
	c, ok := target.(ErrorClass)
	return ok && c == e.Class
}

// ClassOf is the class of an error from any floor: its own when it has one, else ErrOther.
func ClassOf(err error) ErrorClass {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	var c ErrorClass
	if errors.As(err, &c) {
		return c
	}
	for class := range classText {
		if errors.Is(err, class) {
			return class
		}
	}
	return ErrOther
}
