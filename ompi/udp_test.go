package ompi_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// udpCases are networks that a program must not notice.
var udpCases = map[string][]string{
	"good":  {},
	"small": {"btl_udp_datagram", "1472"},
	"bad":   {"btl_udp_inject", "loss=5%,dup=1%,reorder=2%,corrupt=1%,delay=50us"},
	"bad and small": {"btl_udp_inject", "loss=2%,dup=2%,reorder=5%", "btl_udp_datagram", "1472", "btl_udp_copy_limit", "0", "btl_udp_inject_seed", "7",
		"btl_udp_window", "64k"},
}

// TestUDP: one random program over UDP, with faults and without, in goroutines and in processes.
func TestUDP(t *testing.T) {
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
	for name, params := range udpCases {
		params = append([]string{"btl", "self,udp"}, params...)
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

// TestUDPChatter: messages of all sizes, many at once, and sums of all ranks, over networks that lose, double, reorder and damage.
func TestUDPChatter(t *testing.T) {
	for name, params := range udpCases {
		t.Run(name, func(t *testing.T) {
			opts := []ompi.Option{ompi.WithParam("btl", "self,udp")}
			for i := 0; i < len(params); i += 2 {
				opts = append(opts, ompi.WithParam(params[i], params[i+1]))
			}
			job(t, 3, func(w *ompi.Comm) error { return chatter(w, 8) }, opts...)
		})
	}
}

// TestUDPFailed: the death of a process is noticed, and ends what cannot end otherwise.
func TestUDPFailed(t *testing.T) {
	out, errOut, err := launch(t, 3, "requests-failed", []string{"--on-failure", "continue", "--mca", "btl", "self,udp"}, nil)
	if err == nil || strings.Count(out, "good") != 2 {
		t.Errorf("%v\n%s%s", err, out, errOut)
	}
}
