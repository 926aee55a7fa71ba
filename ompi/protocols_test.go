package ompi_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/ompi"
)

var protocols = []string{"auto", "inline", "eager", "rndv", "rget", "put", "pipeline", "coop"}

// faultySm is btl/sm doing everything that a BTL may do to the floor above, more often.
type faultySm struct{ btltest.Faulty }

func (faultySm) Name() string { return "faulty" }
func (faultySm) Options() any { return nil }

func newFaultySm(t *testing.T) faultySm {
	t.Helper()
	reg, err := mca.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	c, ok := reg.Component("btl", "sm")
	if !ok {
		t.Fatal("there is no btl sm")
	}
	return faultySm{btltest.Faulty{Component: c.(btl.Component), Seed: 7, Again: 25, Hold: 40}}
}

// TestProtocols: all protocols bring the same bytes, of every size, with and without gaps at either end, to another rank and to
// oneself, over BTLs that behave and such that refuse, delay and reorder what they may.
func TestProtocols(t *testing.T) {
	aboutOb1(t)
	faulty := newFaultySm(t)
	for _, protocol := range protocols {
		for _, over := range []string{"self,sm", "self,faulty"} {
			t.Run(protocol+" over "+over, func(t *testing.T) {
				job(t, 2, allSizes, ompi.WithParam("btl", over), ompi.WithComponent(faulty), ompi.WithParam("pml_ob1_protocol", protocol),
					ompi.WithParam("btl_sm_rdma_pipeline_frag_size", "5000"), ompi.WithParam("btl_sm_rdma_pipeline_send_length", "3000"),
					ompi.WithParam("btl_self_rdma_pipeline_frag_size", "5000"), ompi.WithParam("btl_self_rdma_pipeline_send_length", "0"))
			})
		}
	}
	for _, protocol := range []string{"rndv", "rget", "put", "pipeline"} { // everything comes twice, late, and in any order
		for seed := range 3 {
			t.Run(fmt.Sprintf("%s with faults %d", protocol, seed), func(t *testing.T) {
				job(t, 2, allSizes, ompi.WithParam("btl", "self,sm"), ompi.WithParam("pml_ob1_protocol", protocol), ompi.WithParam("pml_ob1_unexpected_bytes", "4k"),
					ompi.WithParam("bml_r2_inject", "sm:dup=30%,reorder=30%,delay=10%"), ompi.WithParam("bml_r2_inject_seed", fmt.Sprint(seed)),
					ompi.WithParam("btl_sm_rdma_pipeline_frag_size", "5000"), ompi.WithParam("btl_sm_rdma_pipeline_send_length", "3000"))
			})
		}
	}
	t.Run("each rank another", func(t *testing.T) {
		job(t, 2, func(w *ompi.Comm) error {
			for i := range protocols {
				if err := cvar(w.Instance(), "pml_ob1_protocol").Set(protocols[(i+w.Rank()*3)%len(protocols)]); err != nil {
					return err
				}
				if err := allSizes(w); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// allSizes exchanges messages with the other rank and with oneself.
func allSizes(w *ompi.Comm) error {
	for _, peer := range []int{1 - w.Rank(), w.Rank()} {
		for _, n := range []int{0, 1, 8, 300, 4080, 5000, 16_384, 70_001} {
			for layout := range 4 {
				if err := exchange(w, peer, n, layout&1 != 0, layout&2 != 0); err != nil {
					return fmt.Errorf("%d bytes with %d, layout %d: %w", n, peer, layout, err)
				}
			}
		}
	}
	return nil
}

// exchange sends and receives n bytes, packed or every second one.
func exchange(w *ompi.Comm, peer, n int, gapsOut, gapsIn bool) error {
	buffer := func(gaps bool) ([]byte, ompi.Buffer, int, error) {
		if !gaps {
			b := make([]byte, n)
			return b, ompi.Slice(b), 1, nil
		}
		v, err := datatype.Vector(n, 1, 2, datatype.Byte)
		if err == nil {
			err = v.Commit()
		}
		b := make([]byte, 2*n)
		return b, ompi.Typed(b, 1, v), 2, err
	}
	out, outBuf, step, err := buffer(gapsOut)
	if err != nil {
		return err
	}
	want := make([]byte, n)
	for i := range n {
		want[i] = byte(i*7 + i>>8)
		out[i*step] = want[i]
	}
	in, inBuf, step, err := buffer(gapsIn)
	if err != nil {
		return err
	}
	r := w.Irecv(inBuf, peer, n)
	var s ompi.Request
	if n%2 == 0 {
		s = w.Isend(outBuf, peer, n)
	} else {
		s = w.Issend(outBuf, peer, n)
	}
	if err := ompi.WaitAll(r, s); err != nil {
		return err
	}
	got := make([]byte, n)
	for i := range n {
		got[i] = in[i*step]
		in[i*step] = 0
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("wrong bytes")
	}
	if bytes.ContainsFunc(in, func(r rune) bool { return r != 0 }) {
		return fmt.Errorf("bytes outside of the message were written")
	}
	return nil
}

// TestProtocolAllocations: no protocol allocates, at neither end.
func TestProtocolAllocations(t *testing.T) {
	aboutOb1(t)
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const runs, n = 50, 100_000
	for _, protocol := range protocols {
		for ranks := 1; ranks <= 2; ranks++ {
			t.Run(fmt.Sprintf("%s/%d", protocol, ranks), func(t *testing.T) {
				job(t, ranks, func(w *ompi.Comm) error {
					in, out := make([]byte, n), make([]byte, n)
					var failure error
					once := func() {
						r, s := w.Irecv(ompi.Slice(in), ranks-1-w.Rank(), 2), w.Isend(ompi.Slice(out), ranks-1-w.Rank(), 2)
						if err := ompi.WaitAll(r, s); err != nil {
							failure = err
						}
					}
					for range 100 {
						once()
					}
					if w.Rank() == 1 {
						for range runs + 1 {
							once()
						}
						return failure
					}
					if a := testing.AllocsPerRun(runs, once); a != 0 {
						t.Errorf("%v allocations", a)
					}
					return failure
				}, ompi.WithParam("pml_ob1_protocol", protocol), ompi.WithParam("btl_sm_rdma_pipeline_frag_size", "10000"),
					ompi.WithParam("btl_self_rdma_pipeline_frag_size", "10000"))
			})
		}
	}
}
