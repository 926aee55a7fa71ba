package ompi_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestProtocolsCancelled: a job that is cancelled while long messages go by any protocol ends at once; so does one with a member
// that gives up by itself, for those who wait for it.
func TestProtocolsCancelled(t *testing.T) {
	aboutOb1(t)
	faulty := newFaultySm(t)
	gaveUp := errors.New("it gave up")
	for _, protocol := range []string{"rndv", "rget", "put", "pipeline"} {
		for _, leave := range []bool{false, true} {
			ctx, cancel := context.WithCancel(context.Background())
			over, begun := make(chan error, 1), make(chan struct{})
			go func() {
				over <- ompi.Run(ctx, 3, func(w *ompi.Comm) error {
					const n = 300_000
					for round := 0; ; round++ {
						if w.Rank() == 0 && round == 5 {
							close(begun)
							if leave {
								return gaveUp
							}
						}
						var reqs []ompi.Request
						for k := range 3 {
							to, from := (w.Rank()+k)%3, (w.Rank()-k+3)%3
							reqs = append(reqs, w.Irecv(ompi.Slice(make([]byte, n)), from, k), w.Isend(ompi.Slice(make([]byte, n)), to, k))
						}
						if err := ompi.WaitAll(reqs...); err != nil {
							return err
						}
					}
				}, ompi.WithParam("btl", "self,faulty"), ompi.WithComponent(faulty), ompi.WithParam("pml_ob1_protocol", protocol),
					ompi.WithParam("btl_sm_rdma_pipeline_frag_size", "20000"))
			}()
			<-begun
			if !leave {
				cancel()
			}
			select {
			case err := <-over:
				if want := map[bool]error{false: context.Canceled, true: gaveUp}[leave]; !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", protocol, err, want)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%s, leave %v: the job does not end", protocol, leave)
			}
			cancel()
		}
	}
}
