package ompi_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

func TestGroupFromPset(t *testing.T) {
	err := ompi.Run(context.Background(), 3, func(world *ompi.Comm) error {
		i := world.Instance()
		all, err := i.GroupFromPset("mpi://WORLD")
		if err != nil || all.Size() != 3 || all.Rank() != world.Rank() || all.Compare(world.Group()) != ompi.Ident {
			return fmt.Errorf("WORLD: %d members, rank %d, %w", all.Size(), all.Rank(), err)
		}
		self, err := i.GroupFromPset("mpi://SELF")
		if err != nil || self.Size() != 1 || self.Rank() != 0 {
			return fmt.Errorf("SELF: %d members, rank %d, %w", self.Size(), self.Rank(), err)
		}
		if _, err := i.GroupFromPset("mpi://MOON"); !errors.Is(err, ompi.ErrArg) {
			return fmt.Errorf("an unknown set: %v, want ErrArg", err)
		}
		mine := errors.New("mine")
		i.SetErrhandler(func(c *ompi.Comm, err error) error {
			if c != i.Self() || !errors.Is(err, ompi.ErrArg) {
				return fmt.Errorf("the handler got %v of %v", err, c)
			}
			return mine
		})
		if _, err := i.GroupFromPset(""); !errors.Is(err, mine) {
			return fmt.Errorf("with an error handler: %v", err)
		}
		i.SetErrhandler(nil)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
