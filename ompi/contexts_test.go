package ompi_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestContextsRunOut: the last context number is an error that says so, and one that comes back can be used again.
func TestContextsRunOut(t *testing.T) {
	if raceEnabled {
		t.Skip("tens of thousands of communicators; nothing here runs at the same time")
	}
	job(t, 1, func(w *ompi.Comm) error {
		var all []*ompi.Comm
		var err error
		for err == nil {
			var c *ompi.Comm
			if c, err = w.Dup(); err == nil {
				all = append(all, c)
			}
		}
		if !errors.Is(err, ompi.ErrOther) || len(all) < 2_000 {
			return fmt.Errorf("after %d communicators: %w", len(all), err)
		}
		if err := all[100].Free(); err != nil {
			return err
		}
		if all[100], err = w.Dup(); err != nil {
			return err
		}
		return works(all[100], []int{0})
	})
}
