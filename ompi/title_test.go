package ompi_test

import (
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestCommInErrors: an error tells its communicator, also one that has no name.
func TestCommInErrors(t *testing.T) {
	job(t, 2, func(w *ompi.Comm) error {
		part, err := w.Split(0, 0)
		if err != nil {
			return err
		}
		defer part.Free()
		for _, c := range []struct{ set, want string }{{"", `^communicator \d+$`}, {"halves", `^halves$`}} {
			part.SetName(c.set)
			err := part.Send(ompi.Slice([]int{1}), 5, 0)
			var e *ompi.Error
			if !errors.As(err, &e) || !regexp.MustCompile(c.want).MatchString(e.Comm) || part.Name() != c.set {
				return fmt.Errorf("error %v, name %q", err, part.Name())
			}
		}
		return nil
	})
}
