package ompi_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestUnimem: one random program over the model of a network, with all of its steps and with none, in goroutines and in processes.
func TestUnimem(t *testing.T) {
	p := program{seed: 11, steps: 12}
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
	for name, params := range map[string][]string{
		"all steps": {"btl_unimem_register_cost", "0"},
		"naive": {"btl_unimem_copies", "naive", "btl_unimem_rcache", "0", "btl_unimem_eager", "0", "btl_unimem_inline", "0",
			"btl_unimem_dmable_user", "0", "btl_unimem_rma", "0", "btl_unimem_buffers", "2"},
		"tiny": {"btl_unimem_register_cost", "0", "btl_unimem_mailbox_size", "16", "btl_unimem_eager_limit", "128", "btl_unimem_max_send_size", "512",
			"btl_unimem_dma_burst", "64"},
	} {
		params = append([]string{"btl", "self,unimem"}, params...)
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

// TestUnimemFailed: the death of a process is noticed, and ends what cannot end otherwise.
func TestUnimemFailed(t *testing.T) {
	out, errOut, err := launch(t, 3, "requests-failed", []string{"--on-failure", "continue", "--mca", "btl", "self,unimem"}, nil)
	if err == nil || strings.Count(out, "good") != 2 {
		t.Errorf("%v\n%s%s", err, out, errOut)
	}
}

// TestUnimemMemory: AllocMem is dmable, so that large messages between such buffers are moved by RDMA; where there is no more, other memory
// is given, and that is said.
func TestUnimemMemory(t *testing.T) {
	job(t, 2, func(w *ompi.Comm) error {
		var m must
		const n = 1 << 20
		peer := 1 - w.Rank()
		in, err := ompi.AllocMem[byte](w.Instance(), n)
		m.ok(err)
		out, err := ompi.AllocMem[byte](w.Instance(), n)
		m.ok(err)
		user := make([]byte, n)
		for i := range out {
			out[i] = byte(i*7 + w.Rank())
		}
		want := slices.Clone(out)
		for i := range want {
			want[i] = byte(i*7 + peer)
		}
		for _, c := range [][2][]byte{{out, in}, {out, user}, {slices.Clone(out), in}} {
			clear(c[1])
			_, err := w.Sendrecv(ompi.Slice(c[0]), peer, 1, ompi.Slice(c[1]), peer, 1)
			m.ok(err)
			m.that(slices.Equal(c[1], want), "wrong bytes")
		}
		huge, err := ompi.AllocMem[byte](w.Instance(), 64<<20)
		m.ok(err)
		m.ok(ompi.FreeMem(w.Instance(), huge))
		m.ok(ompi.FreeMem(w.Instance(), in))
		again, err := ompi.AllocMem[byte](w.Instance(), n)
		m.ok(err)
		m.that(!slices.ContainsFunc(again, func(b byte) bool { return b != 0 }), "memory that is not zeroed")
		return m.err
	}, ompi.WithParam("btl", "self,unimem"), ompi.WithParam("btl_unimem_register_cost", "0"))
}
