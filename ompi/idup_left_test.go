package ompi_test

import (
	"context"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestIdupLeft: a program that never waits for its Idups ends well, and nothing of them touches what Finalize has closed.
func TestIdupLeft(t *testing.T) {
	for n := range 60 {
		if err := ompi.Run(context.Background(), 1+n%3, func(w *ompi.Comm) error {
			for range 8 {
				if _, _, err := w.Idup(); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}
