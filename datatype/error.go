package datatype

import "fmt"

// Error classes of this package, with their values in the MPI 5.0 ABI.
const (
	classCount = 2  // MPI_ERR_COUNT
	classType  = 3  // MPI_ERR_TYPE
	classArg   = 13 // MPI_ERR_ARG
)

// Error is every error of this package. Class is the MPI 5.0 ABI number of its error class.
type Error struct {
	Class int
	Msg   string
}

func (e *Error) Error() string { return "datatype: " + e.Msg }

// ABIClass gives the class to those who know it only by its number.
func (e *Error) ABIClass() int { return e.Class }

// Is matches any target with the same class number, so that errors.Is works with the classes of the floors above, which this
// package cannot name.
func (e *Error) Is(target error) bool {
	t, ok := target.(interface{ ABIClass() int })
	return ok && t.ABIClass() == e.Class
}

func errCount(format string, args ...any) error {
	return &Error{Class: classCount, Msg: fmt.Sprintf(format, args...)}
}

func errType(format string, args ...any) error {
	return &Error{Class: classType, Msg: fmt.Sprintf(format, args...)}
}

func errArg(format string, args ...any) error {
	return &Error{Class: classArg, Msg: fmt.Sprintf(format, args...)}
}
