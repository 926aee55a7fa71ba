package shm

import (
	"errors"
	"testing"

	"github.com/ompi-go/ompi-go/mpool"
	"github.com/ompi-go/ompi-go/mpool/mpooltest"
	"github.com/ompi-go/ompi-go/shm"
)

func TestConformance(t *testing.T) {
	for name, domains := range map[string]func(testing.TB) []*shm.Domain{
		"Goroutines": mpooltest.Domains(true, shm.Options{}),
		"Proc":       mpooltest.Domains(false, shm.Options{Attach: "proc"}),
		"Socket":     mpooltest.Domains(false, shm.Options{Attach: "socket"}),
	} {
		t.Run(name, func(t *testing.T) {
			mpooltest.Run(t, mpooltest.Config{Component: component{}, Domains: domains})
		})
	}
}

// TestAlone: a rank that shares memory with nobody is served by another pool.
func TestAlone(t *testing.T) {
	if _, _, err := (component{}).Open(&mpool.Env{Params: mpooltest.Params(t)}); !errors.Is(err, mpool.ErrUnavailable) {
		t.Errorf("Open without shared memory: %v", err)
	}
}
