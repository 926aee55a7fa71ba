package ompi_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestUserErrors: classes and codes of a program's own, through a handler (MPI-3.1 §8.5).
func TestUserErrors(t *testing.T) {
	job(t, 2, func(w *ompi.Comm) error {
		var m must
		i := w.Instance()
		m.that(i.LastUsedCode() == int(ompi.ErrRevoked), "last used code %d", i.LastUsedCode())
		class := i.AddErrorClass()
		code, err := i.AddErrorCode(class)
		m.ok(err)
		other, err := i.AddErrorCode(ompi.ErrTruncate)
		m.ok(err)
		m.ok(i.AddErrorString(code, "the moon is full"))
		m.that(i.ErrorString(code) == "the moon is full" && i.ErrorString(class) == "" && i.ErrorString(ompi.ErrTag) == ompi.ErrTag.Error(), "texts")
		m.that(i.LastUsedCode() == int(other), "last used code %d, want %d", i.LastUsedCode(), int(other))
		for code, want := range map[ompi.ErrorClass]ompi.ErrorClass{code: class, class: class, other: ompi.ErrTruncate, ompi.ErrTag: ompi.ErrTag} {
			got, err := i.ErrorClass(code)
			m.that(err == nil && got == want, "class of %d is %d, %v; want %d", int(code), int(got), err, int(want))
		}
		_, err = i.ErrorClass(other + 1)
		m.that(errors.Is(err, ompi.ErrArg), "an unknown code: %v", err)
		m.that(errors.Is(i.AddErrorString(ompi.ErrTag, "x"), ompi.ErrArg), "a predefined class takes no text")
		w.SetErrhandler(func(c *ompi.Comm, err error) error { return fmt.Errorf("handled: %w", err) })
		err = w.CallErrhandler(&ompi.Error{Class: class, Peer: ompi.Undefined, Index: -1})
		m.that(errors.Is(err, class) && err.Error()[:8] == "handled:", "%v", err)
		return m.err
	})
}
