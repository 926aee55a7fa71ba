package portals

import (
	"errors"
	"testing"

	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/portals4"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

// both makes the ranks of a put_latency test that one goroutine drives: what a message costs the processor, with nobody to wait for.
func both(b *testing.B, nal string) (ranks [2]*rank) {
	b.Helper()
	reg, err := mca.NewRegistry()
	if err != nil {
		b.Fatal(err)
	}
	var in mca.Input
	for name, value := range map[string]string{"portals4_nal": nal, "portals4_application_bypass": "false"} {
		in.Settings = append(in.Settings, mca.Setting{Name: name, Value: value, Layer: mca.LayerAPI, Where: "the benchmark"})
	}
	params, err := mca.Load(reg, in)
	if err != nil {
		b.Fatal(err)
	}
	test, err := Lookup("put_latency")
	if err != nil {
		b.Fatal(err)
	}
	hub, memory := rte.NewHub(2), shm.NewHub(2)
	var ifaces [2]*portals4.Interface
	each := func(f func(r int) error) {
		errs := make(chan error, len(ranks))
		for r := range ranks {
			go func() { errs <- f(r) }()
		}
		if err := errors.Join(<-errs, <-errs); err != nil {
			b.Fatal(err)
		}
	}
	each(func(r int) (err error) {
		job := hub.Job(r)
		if ifaces[r], err = portals4.Open(portals4.Config{Job: job, Registry: reg, Params: params, Hub: memory}); err == nil {
			ranks[r], err = newRank(Options{}, test, job, ifaces[r])
		}
		return err
	})
	b.Cleanup(func() {
		each(func(r int) error {
			if err := ranks[r].free(); err != nil {
				return err
			}
			return ifaces[r].Close()
		})
	})
	return ranks
}

// BenchmarkPut is a put of 8 bytes, one way, with the event taken.
func BenchmarkPut(b *testing.B) {
	for _, nal := range []string{"local", "shm"} {
		b.Run(nal, func(b *testing.B) {
			ranks := both(b, nal)
			for _, r := range ranks {
				r.transfer.Length = 8
			}
			step := func(n int) {
				from, to := ranks[n&1], ranks[1-n&1]
				if err := from.issue(); err != nil {
					b.Fatal(err)
				}
				for {
					err := to.arrived.eq.Get(&to.arrived.ev)
					if err == nil {
						return
					}
					if !errors.Is(err, portals4.ErrEQEmpty) {
						b.Fatal(err)
					}
					if err := from.arrived.eq.Get(&from.arrived.ev); !errors.Is(err, portals4.ErrEQEmpty) { // its end moves, too
						b.Fatal(err)
					}
				}
			}
			for n := range 100 { // the connection
				step(n)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				step(n)
				n++
			}
		})
	}
}
