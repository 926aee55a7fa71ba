package ompi_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestPanicInOperation: a panic in the middle of an operation, with the engine's token held, ends the job like any other, with and without
// an agent, and no goroutine is left.
func TestPanicInOperation(t *testing.T) {
	nowhere := uintptr(8)
	for _, mode := range []string{"none", "agent"} {
		t.Run(mode, func(t *testing.T) {
			before, procs := runtime.NumGoroutine(), runtime.GOMAXPROCS(0)
			result := make(chan error, 1)
			go func() {
				result <- ompi.Run(context.Background(), 3, func(w *ompi.Comm) error {
					if w.Rank() != 0 {
						return blockForever(w)
					}
					b := unsafe.Slice(*(**byte)(unsafe.Pointer(&nowhere)), 64)
					return w.Send(ompi.Slice(b), 1, 1)
				}, ompi.WithParam("mpi_async_progress", mode))
			}()
			select {
			case err := <-result:
				var e *ompi.Error
				if !errors.As(err, &e) || e.Peer != 0 || !strings.Contains(err.Error(), "panic in rank 0") {
					t.Errorf("Run: %v", err)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("the job does not end")
			}
			for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
				}
			}
			if got := runtime.GOMAXPROCS(0); got != procs {
				t.Errorf("GOMAXPROCS %d, was %d", got, procs)
			}
		})
	}
}
