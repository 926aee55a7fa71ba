package osctest

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

// configurations are all components over what carries them.
var configurations = []struct {
	name    string
	params  map[string]string
	flavors []Flavor
}{
	{"sm", map[string]string{"osc": "sm"}, []Flavor{Create, Allocate, Dynamic, Shared}},
	{"rdma", map[string]string{"osc": "rdma"}, nil},
	{"rdma over tcp", map[string]string{"osc": "rdma", "btl": "self,tcp"}, nil},
	{"pt2pt", map[string]string{"osc": "pt2pt"}, nil},
	{"pt2pt over cm", map[string]string{"osc": "pt2pt", "pml": "cm"}, nil},
	{"portals4", map[string]string{"osc": "portals4"}, nil},
	{"portals4 under cm", map[string]string{"osc": "portals4", "pml": "cm"}, nil},
	{"whatever is best", nil, nil},
}

// TestSameEverywhere runs the same random programs over every component: their final memory has the checksum of the model, so that it is the same
// everywhere; and the histories of atomics are linearizable. OMPI_GO_OSCTEST_SEEDS says how many there are.
func TestSameEverywhere(t *testing.T) {
	seeds := 2
	if raceEnabled {
		seeds = 1
	}
	if n, err := strconv.Atoi(os.Getenv("OMPI_GO_OSCTEST_SEEDS")); err == nil {
		seeds = n
	}
	for _, c := range configurations {
		for _, processes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/processes=%v", c.name, processes), func(t *testing.T) {
				if processes && (testing.Short() || raceEnabled) {
					t.Skip("starts processes")
				}
				cfg := Config{Params: c.params, Seeds: seeds, Ranks: 3, Flavors: c.flavors, Processes: processes, Only: []string{"Programs", "Linearizable", "LockedTransactions"}}
				if processes && c.name == "sm" {
					cfg.Flavors = []Flavor{Allocate, Shared}
				}
				Run(t, cfg)
			})
		}
	}
}
