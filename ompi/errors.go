package ompi

import (
	"errors"
	"fmt"
	"os"

	"github.com/ompi-go/ompi-go/core"
)

// Error classes (MPI-3.1 §8.4), with the values of the MPI 5.0 ABI.
const (
	ErrBuffer               = core.ErrBuffer
	ErrCount                = core.ErrCount
	ErrType                 = core.ErrType
	ErrTag                  = core.ErrTag
	ErrComm                 = core.ErrComm
	ErrRank                 = core.ErrRank
	ErrRequest              = core.ErrRequest
	ErrRoot                 = core.ErrRoot
	ErrGroup                = core.ErrGroup
	ErrOp                   = core.ErrOp
	ErrTopology             = core.ErrTopology
	ErrDims                 = core.ErrDims
	ErrArg                  = core.ErrArg
	ErrUnknown              = core.ErrUnknown
	ErrTruncate             = core.ErrTruncate
	ErrOther                = core.ErrOther
	ErrIntern               = core.ErrIntern
	ErrInStatus             = core.ErrInStatus
	ErrPending              = core.ErrPending
	ErrKeyval               = core.ErrKeyval
	ErrNoMem                = core.ErrNoMem
	ErrBase                 = core.ErrBase
	ErrInfo                 = core.ErrInfo
	ErrInfoKey              = core.ErrInfoKey
	ErrInfoValue            = core.ErrInfoValue
	ErrInfoNoKey            = core.ErrInfoNoKey
	ErrWin                  = core.ErrWin
	ErrDisp                 = core.ErrDisp
	ErrLockType             = core.ErrLockType
	ErrAssert               = core.ErrAssert
	ErrRMAConflict          = core.ErrRMAConflict
	ErrRMASync              = core.ErrRMASync
	ErrRMARange             = core.ErrRMARange
	ErrRMAAttach            = core.ErrRMAAttach
	ErrRMAShared            = core.ErrRMAShared
	ErrRMAFlavor            = core.ErrRMAFlavor
	ErrUnsupportedOperation = core.ErrUnsupportedOperation
	ErrSession              = core.ErrSession
	ErrProcAborted          = core.ErrProcAborted
	ErrProcFailed           = core.ErrProcFailed
	ErrRevoked              = core.ErrRevoked
)

// Errhandler decides what a call returns for an error; nil is ErrorsReturn. A window's gets the communicator it was made over.
type Errhandler func(c *Comm, err error) error

// ErrorsReturn lets the call return the error: the default.
func ErrorsReturn(_ *Comm, err error) error { return err }

// ErrorsAreFatal ends the job.
func ErrorsAreFatal(c *Comm, err error) error {
	if c == nil {
		return err
	}
	c.inst.abort(int(core.ClassOf(err)), err.Error())
	return err
}

// ErrorsAbort ends the communicator's ranks (MPI-4 §9.3): as nothing smaller than the job can be ended, the job.
func ErrorsAbort(c *Comm, err error) error { return ErrorsAreFatal(c, err) }

// SetErrhandler sets the handler of errors on this communicator.
func (c *Comm) SetErrhandler(h Errhandler) {
	if h == nil {
		c.errh.Store(nil)
		return
	}
	c.errh.Store(&h)
}

// SetErrhandler sets the handler that new communicators start with, and the one of errors that concern none.
func (i *Instance) SetErrhandler(h Errhandler) {
	if h == nil {
		i.errh.Store(nil)
		return
	}
	i.errh.Store(&h)
}

// CallErrhandler runs the communicator's error handler on err and returns what it decides.
func (c *Comm) CallErrhandler(err error) error {
	if err == nil {
		return nil
	}
	h := c.errh.Load()
	if h == nil {
		return err
	}
	return (*h)(c, err)
}

// fail completes an error with what only the entrance knows, and lets the error handler decide.
func (c *Comm) fail(op string, err error) error {
	err = c.explain(op, err)
	if core.ClassOf(err) == ErrProcFailed {
		c.inst.news.await(c, err)
	}
	return c.CallErrhandler(err)
}

func (c *Comm) explain(op string, err error) error {
	if err == nil {
		return nil
	}
	name := ""
	if c != nil && c.c != nil {
		name = c.c.Name()
	}
	var e *core.Error
	if !errors.As(err, &e) || e != err {
		return &core.Error{Class: core.ClassOf(err), Op: op, Comm: name, Peer: Undefined, Index: -1, Err: err}
	}
	if e.Op != "" {
		return e
	}
	full := *e // e may be shared
	full.Op, full.Comm = op, name
	return &full
}

// badArg is an argument error found at the entrance.
func (c *Comm) badArg(op string, class ErrorClass, format string, args ...any) error {
	if c == nil {
		return &core.Error{Class: ErrComm, Op: op, Peer: Undefined, Index: -1, Err: errors.New("the communicator is nil")}
	}
	return c.fail(op, &core.Error{Class: class, Peer: Undefined, Index: -1, Err: fmt.Errorf(format, args...)})
}

// exitCode is the exit status for an error: its class, which the shell can show, or 1.
func exitCode(err error) int {
	var a *abortError
	if errors.As(err, &a) && a.code&0xff != 0 {
		return a.code & 0xff
	}
	if code := int(core.ClassOf(err)); code > 0 && code < 125 {
		return code
	}
	return 1
}

// abortError is the cause of an *Error from a job that somebody aborted.
type abortError struct {
	rank, code int
	msg        string
}

func (a *abortError) Error() string {
	s := fmt.Sprintf("rank %d called Abort with code %d", a.rank, a.code)
	if a.msg != "" {
		s += ": " + a.msg
	}
	return s
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "ompi: "+format+"\n", args...) }
