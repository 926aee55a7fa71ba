package ompi_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// overPortals4 are ways to use the BTL over the Portals interface that a program must not notice.
var overPortals4 = map[string][]string{
	"plain": {"btl", "self,portals4"},
	"rget":  {"btl", "self,portals4", "pml_ob1_protocol", "rget"},
	"put":   {"btl", "self,portals4", "pml_ob1_protocol", "put", "btl_portals4_eager_limit", "1"},
	"pieces": {"btl", "self,portals4", "pml_ob1_protocol", "pipeline", "btl_portals4_rdma_pipeline_frag_size", "4k",
		"btl_portals4_max_msg_size", "4k", "btl_portals4_max_pending_ops", "2"},
	"fragments": {"btl", "self,portals4", "pml_ob1_protocol", "rndv", "btl_portals4_max_send_size", "700", "btl_portals4_eager_limit", "500"},
	"poor": {"btl", "self,portals4", "btl_portals4_credit_messages", "8", "btl_portals4_credit_bytes", "4k", "btl_portals4_max_send_size", "2k",
		"btl_portals4_eager_limit", "1k", "btl_portals4_recv_md_num", "3", "btl_portals4_recv_md_size", "4k", "btl_portals4_free_list_max_num", "4",
		"pml_ob1_unexpected_bytes", "1"},
	"several": {"btl", "self,portals4", "btl_portals4_max_btls", "3", "pml_ob1_protocol", "rndv"},
	"two":     {"btl", "self,portals4", "btl_portals4_max_btls", "2"},
	"udp":     {"btl", "self,portals4", "portals4_nal", "udp"},
	"tcp":     {"btl", "self,portals4", "portals4_nal", "tcp"},
	"beside":  {"btl", "self,sm,portals4", "btl_portals4_exclusivity", "65535"},
	"latest":  {"btl", "self,tcp,portals4", "btl_portals4_latency", "1000"},
}

// TestPortals4BTL: one random program over the Portals interface, with every protocol and next to nothing, alone and beside other BTLs, in
// goroutines and in processes.
func TestPortals4BTL(t *testing.T) {
	p := program{seed: 11, steps: 12}
	if raceEnabled {
		p.steps = 5
	}
	digest := func(t *testing.T, params []string) uint64 {
		var opts []ompi.Option
		for i := 0; i < len(params); i += 2 {
			opts = append(opts, ompi.WithParam(params[i], params[i+1]))
		}
		var digest atomic.Uint64
		job(t, programRanks, func(w *ompi.Comm) error {
			d, err := p.run(w)
			if w.Rank() == 0 {
				digest.Store(d)
			}
			return err
		}, opts...)
		return digest.Load()
	}
	want := digest(t, []string{"btl", "self,sm"})
	for name, params := range overPortals4 {
		t.Run(name+" goroutines", func(t *testing.T) {
			if got := digest(t, params); got != want {
				t.Errorf("result %016x, over sm %016x", got, want)
			}
		})
		t.Run(name+" processes", func(t *testing.T) {
			out := processes(t, programRanks, "metamorphic", params, []string{fmt.Sprintf("%s=%d,%d", programVar, p.seed, p.steps)})
			if !strings.Contains(out, fmt.Sprintf("%016x", want)) {
				t.Errorf("over sm %016x, got %q", want, out)
			}
		})
	}
}

// TestPortals4BTLStripes: with several modules a long message in fragments goes over all of them.
func TestPortals4BTLStripes(t *testing.T) {
	aboutOb1(t)
	job(t, 2, func(w *ompi.Comm) error {
		var m must
		data := slices.Repeat([]byte{1, 2, 3, byte(w.Rank())}, 1<<20)
		in := make([]byte, len(data))
		_, err := w.Sendrecv(ompi.Slice(data), 1-w.Rank(), 0, ompi.Slice(in), 1-w.Rank(), 0)
		m.ok(err)
		if !slices.Equal(in, slices.Repeat([]byte{1, 2, 3, byte(1 - w.Rank())}, 1<<20)) {
			m.ok(fmt.Errorf("rank %d got something else", w.Rank()))
		}
		// Blocks count what came to a module beyond those linked at first.
		families, err := w.Instance().Metrics().Gather()
		m.ok(err)
		seen := 0
		for _, f := range families {
			if f.GetName() != "ompi_btl_portals4_blocks_linked_total" {
				continue
			}
			for _, s := range f.GetMetric() {
				if s.GetCounter().GetValue() > 8 {
					seen++
				}
			}
		}
		if seen != 2 {
			m.ok(fmt.Errorf("rank %d: messages came to %d modules, want 2", w.Rank(), seen))
		}
		return m.err
	}, ompi.WithParam("btl", "self,portals4"), ompi.WithParam("btl_portals4_max_btls", "2"), ompi.WithParam("pml_ob1_protocol", "rndv"))
}

// TestPortals4BTLFailed: the death of a process is noticed, and ends what cannot end otherwise.
func TestPortals4BTLFailed(t *testing.T) {
	for _, nal := range []string{"shm", "tcp"} {
		out, errOut, err := launch(t, 3, "requests-failed", []string{"--on-failure", "continue", "--mca", "btl", "self,portals4", "--mca", "portals4_nal", nal}, nil)
		if err == nil || strings.Count(out, "good") != 2 {
			t.Errorf("%s: %v\n%s%s", nal, err, out, errOut)
		}
	}
}
