package ompi

import (
	"errors"
	"fmt"
	"os"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/core"
)

// Error classes (MPI-3.1 §8.4), with the values of the MPI 5.0 ABI. Every error that a call returns has one (see Error):
//
//	if errors.Is(err, ompi.ErrTruncate) { ... }
const (
	ErrBuffer               = core.ErrBuffer               // the buffer is not usable here, such as InPlace or nil memory
	ErrCount                = core.ErrCount                // a count is negative, or counts of a collective do not fit together
	ErrType                 = core.ErrType                 // a datatype is not committed or does not fit; Go memory that holds pointers
	ErrTag                  = core.ErrTag                  // the tag is negative or above Comm.TagUB
	ErrComm                 = core.ErrComm                 // the communicator is nil or freed, or was freed while the operation waited
	ErrRank                 = core.ErrRank                 // there is no such rank in the communicator
	ErrRequest              = core.ErrRequest              // the request cannot be used so, such as Start of one that is not persistent or is active
	ErrRoot                 = core.ErrRoot                 // there is no such root
	ErrGroup                = core.ErrGroup                // the group is nil or its members do not fit
	ErrOp                   = core.ErrOp                   // the operation is nil or does not fit the datatype
	ErrTopology             = core.ErrTopology             // the communicator has no topology, or another one
	ErrDims                 = core.ErrDims                 // the dimensions do not fit the number of ranks
	ErrArg                  = core.ErrArg                  // another argument is wrong; a parameter is wrong (of Init)
	ErrUnknown              = core.ErrUnknown              // unknown
	ErrTruncate             = core.ErrTruncate             // the message is larger than the buffer, which is filled
	ErrOther                = core.ErrOther                // whatever has no class of its own: a peer that cannot be reached, a program's own error
	ErrIntern               = core.ErrIntern               // a defect of this library
	ErrInStatus             = core.ErrInStatus             // some of several operations failed: each status has its error
	ErrPending              = core.ErrPending              // in a status beside failed ones: the operation is neither done nor failed
	ErrKeyval               = core.ErrKeyval               // the attribute key is not valid
	ErrNoMem                = core.ErrNoMem                // there is not enough memory
	ErrBase                 = core.ErrBase                 // the base address is not usable
	ErrInfo                 = core.ErrInfo                 // the info object is not usable
	ErrInfoKey              = core.ErrInfoKey              // an info key is empty or too long
	ErrInfoValue            = core.ErrInfoValue            // an info value is too long or makes no sense
	ErrInfoNoKey            = core.ErrInfoNoKey            // there is no such info key
	ErrWin                  = core.ErrWin                  // the window is nil or freed
	ErrDisp                 = core.ErrDisp                 // a displacement is negative or lies outside of the window
	ErrLockType             = core.ErrLockType             // the lock type is unknown
	ErrAssert               = core.ErrAssert               // the assertion is unknown or does not fit
	ErrRMAConflict          = core.ErrRMAConflict          // accesses to a window conflict
	ErrRMASync              = core.ErrRMASync              // no epoch is open that allows the call, or one is that forbids it
	ErrRMARange             = core.ErrRMARange             // the target memory lies outside of what the window has
	ErrRMAAttach            = core.ErrRMAAttach            // memory cannot be attached to the window
	ErrRMAShared            = core.ErrRMAShared            // the ranks do not share memory
	ErrRMAFlavor            = core.ErrRMAFlavor            // the window is of a kind without this call
	ErrUnsupportedOperation = core.ErrUnsupportedOperation // no component that may be used offers this
	ErrSession              = core.ErrSession              // the session is not valid
	ErrProcAborted          = core.ErrProcAborted          // the job was ended: Abort, a panic of a goroutine rank, a cancelled context
	ErrProcFailed           = core.ErrProcFailed           // a process that the call needs has died; Error.Peer tells its rank
	ErrRevoked              = core.ErrRevoked              // the communicator has been revoked
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
	return (*h)(c.face(), err)
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
		name = coll.Title(c.c)
	}
	e := itself(err)
	if e == nil {
		return &core.Error{Class: core.ClassOf(err), Op: op, Comm: name, Peer: Undefined, Index: -1, Err: err}
	}
	if e.Op != "" {
		return e
	}
	full := *e // e may be shared
	full.Op, full.Comm = op, name
	return &full
}

// itself is the *core.Error that err is, perhaps as the only one of errors.Join; nil when it is something else, or says more.
func itself(err error) *core.Error {
	var e *core.Error
	if errors.As(err, &e) && (e == err || e.Error() == err.Error()) {
		return e
	}
	return nil
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
