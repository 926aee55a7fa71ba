package portalstest

import (
	"sync"
	"testing"

	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/portals4"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

// Self is a world of one process, whose requests go to itself.
func Self() World { return Ranks("self", 1, nil) }

// Ranks is a world of n goroutine ranks, each another user, with parameters by full name.
func Ranks(name string, n int, params map[string]string) World {
	return World{Name: name, Size: n, Open: func(t *testing.T) []*portals4.Interface {
		return open(t, n, params)
	}}
}

// open makes interfaces as ranks of one job.
func open(t *testing.T, n int, params map[string]string) []*portals4.Interface {
	t.Helper()
	reg, err := mca.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	var in mca.Input
	for name, value := range params {
		in.Settings = append(in.Settings, mca.Setting{Name: name, Value: value, Layer: mca.LayerAPI, Where: "the test"})
	}
	loaded, err := mca.Load(reg, in)
	if err != nil {
		t.Fatal(err)
	}
	job, hub := rte.NewHub(n), shm.NewHub(n)
	ifs, errs := make([]*portals4.Interface, n), make([]error, n)
	together(n, func(rank int) {
		uid := uint32(4000 + rank)
		ifs[rank], errs[rank] = portals4.Open(portals4.Config{Job: job.Job(rank), Registry: reg, Params: loaded, Hub: hub, UID: &uid})
	})
	t.Cleanup(func() {
		together(n, func(rank int) {
			if ifs[rank] != nil {
				if err := ifs[rank].Close(); err != nil {
					t.Errorf("rank %d: closing the interface: %v", rank, err)
				}
			}
		})
	})
	for rank, err := range errs {
		if err != nil {
			t.Fatalf("rank %d: %v", rank, err)
		}
	}
	return ifs
}

// together runs f for all ranks at the same time.
func together(n int, f func(rank int)) {
	var wg sync.WaitGroup
	for rank := range n {
		wg.Go(func() { f(rank) })
	}
	wg.Wait()
}
