package ompi

import (
	"fmt"
	"sync"

	"github.com/ompi-go/ompi-go/core"
)

// firstUserCode is the first code of AddErrorClass; predefined ones are below.
const firstUserCode = 1 << 16

// userErrors are the error classes and codes that a program has added (MPI-3.1 §8.5).
type userErrors struct {
	mu    sync.Mutex
	class []core.ErrorClass // by code - firstUserCode: a class's is itself
	text  []string
}

func (u *userErrors) add(class core.ErrorClass, isClass bool) core.ErrorClass {
	u.mu.Lock()
	defer u.mu.Unlock()
	code := core.ErrorClass(firstUserCode + len(u.class))
	if isClass {
		class = code
	}
	u.class, u.text = append(u.class, class), append(u.text, "")
	return code
}

// at is the index of a code, -1 for one that was not added. The lock is held.
func (u *userErrors) at(code core.ErrorClass) int {
	if i := int(code) - firstUserCode; i >= 0 && i < len(u.class) {
		return i
	}
	return -1
}

// AddErrorClass gives a new error class, for errors that a library built on this one makes and hands to CallErrhandler. The value is
// local to the instance: ranks that add classes in the same order have the same.
func (i *Instance) AddErrorClass() ErrorClass { return i.userErrors.add(0, true) }

// AddErrorCode gives a new code, one of the errors of a class, predefined or added.
func (i *Instance) AddErrorCode(class ErrorClass) (ErrorClass, error) {
	if _, err := i.ErrorClass(class); err != nil {
		return 0, err
	}
	return i.userErrors.add(class, false), nil
}

// AddErrorString sets the text of an added class or code: ErrArg for one that was not added.
func (i *Instance) AddErrorString(code ErrorClass, text string) error {
	u := &i.userErrors
	u.mu.Lock()
	defer u.mu.Unlock()
	at := u.at(code)
	if at < 0 {
		return noSuchCode("Add_error_string", code)
	}
	u.text[at] = text
	return nil
}

// ErrorString is the text of a class or code; "" for an added one without text.
func (i *Instance) ErrorString(code ErrorClass) string {
	u := &i.userErrors
	u.mu.Lock()
	defer u.mu.Unlock()
	if at := u.at(code); at >= 0 {
		return u.text[at]
	}
	return code.Error()
}

// ErrorClass is the class of a code; a class is its own.
func (i *Instance) ErrorClass(code ErrorClass) (ErrorClass, error) {
	u := &i.userErrors
	u.mu.Lock()
	defer u.mu.Unlock()
	if at := u.at(code); at >= 0 {
		return u.class[at], nil
	}
	if !code.Predefined() {
		return 0, noSuchCode("Error_class", code)
	}
	return code, nil
}

// LastUsedCode is the largest code in use (MPI_LASTUSEDCODE).
func (i *Instance) LastUsedCode() int {
	u := &i.userErrors
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.class) == 0 {
		return int(ErrRevoked)
	}
	return firstUserCode + len(u.class) - 1
}

func noSuchCode(op string, code ErrorClass) error {
	return &core.Error{Class: ErrArg, Op: op, Peer: Undefined, Index: -1, Err: fmt.Errorf("%d is no error code; AddErrorClass and AddErrorCode give them", int(code))}
}
