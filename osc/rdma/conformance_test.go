package rdma_test

import (
	"maps"
	"testing"

	"github.com/ompi-go/ompi-go/osc/osctest"
)

func TestMain(m *testing.M) { osctest.Main(m) }

// ways to targets: mapped memory, a BTL's reads and writes and atomics, those without atomics, messages.
var ways = []struct {
	name   string
	params map[string]string
}{
	{"mapped", map[string]string{"btl": "self,sm"}},
	{"mapped, queues", map[string]string{"btl": "self,sm", "osc_rdma_lock": "mcs"}},
	{"sm", map[string]string{"btl": "self,sm", "osc_rdma_map": "false"}},
	{"sm without atomics", map[string]string{"btl": "self,sm", "osc_rdma_map": "false", "osc_rdma_atomics": "false", "osc_rdma_lock": "mcs"}},
	{"portals4", map[string]string{"btl": "self,portals4"}},
	{"unimem", map[string]string{"btl": "self,unimem"}},
	{"tcp", map[string]string{"btl": "self,tcp"}},
	{"tiny messages", map[string]string{"btl": "self,sm", "osc_rdma_map": "false", "osc_rdma_atomics": "false", "osc_rdma_message_size": "256", "osc_rdma_depth": "2"}},
}

func with(params map[string]string) map[string]string {
	all := maps.Clone(params)
	all["osc"] = "rdma"
	return all
}

// few are the cases that tell ways apart; the others tell of what all ways share, which two of them run.
var few = []string{"Programs", "Counters", "CompareAndSwapCounter", "OrderingOfArrays", "OperationsTogether", "MixedStructs", "ReadersAndWriters", "PostStartRing", "NotAttached",
	"AttachRaces", "Linearizable", "ManyRequests", "FreedWithTraffic", osctest.Deaths}

// kinds are the windows whose memory differs to a way: of Go's heap, of AllocMem, and none that is known before.
var kinds = []osctest.Flavor{osctest.Create, osctest.Allocate, osctest.Dynamic}

// TestConformance: between goroutine ranks.
func TestConformance(t *testing.T) {
	for i, w := range ways {
		cfg := osctest.Config{Params: with(w.params)}
		if i > 0 {
			cfg.Only, cfg.Seeds, cfg.Flavors = few, 1, kinds
		}
		t.Run(w.name, func(t *testing.T) { osctest.Run(t, cfg) })
	}
}

// TestFaults: messages that come twice, and out of order, are carried out once, and in order.
func TestFaults(t *testing.T) {
	osctest.Run(t, osctest.Config{Params: with(map[string]string{"btl": "self,sm", "osc_rdma_map": "false", "osc_rdma_atomics": "false", "bml_r2_inject": "sm:dup=5%,reorder=5%"}),
		Only: few, Seeds: 1, Flavors: kinds})
}

// TestProcesses: between processes.
func TestProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			osctest.Run(t, osctest.Config{Params: with(w.params), Processes: true, Only: few, Seeds: 1, Flavors: kinds, NoDeaths: w.name != "mapped" && w.name != "portals4"})
		})
	}
}
