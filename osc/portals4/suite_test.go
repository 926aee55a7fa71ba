package portals4_test

import (
	"testing"

	"github.com/ompi-go/ompi-go/osc/osctest"
)

func TestMain(m *testing.M) { osctest.Main(m) }

// few are the cases that go ways of their own under the parameters of a variant.
var few = []string{"Programs", "Linearizable", "LockedTransactions", "AttachRaces", "NotAttached", "RangeErrors", "Requests", "ManyRequests", "NestedLocks", "LocksByGoroutines",
	"EarlyPosts", "DifferentMembers", "OrderingOfArrays", "FreedWithTraffic"}

func TestConformance(t *testing.T) {
	for i, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			cfg := osctest.Config{Params: paramsOf(v), Seeds: 1}
			if i > 0 {
				cfg.Only = few
				cfg.Flavors = []osctest.Flavor{osctest.Allocate, osctest.Dynamic}
			}
			osctest.Run(t, cfg)
		})
	}
}

func TestConformanceProcesses(t *testing.T) {
	osctest.Run(t, osctest.Config{Params: paramsOf(variants[0]), Processes: true, Flavors: []osctest.Flavor{osctest.Allocate, osctest.Dynamic}, Only: few})
	osctest.Run(t, osctest.Config{Params: paramsOf(variant{params: []string{"osc_portals4_direct", "false"}}), Processes: true, Flavors: []osctest.Flavor{osctest.Allocate}, Only: few, NoDeaths: true})
}

func paramsOf(v variant) map[string]string {
	p := map[string]string{"osc": "portals4"}
	for i := 0; i < len(v.params); i += 2 {
		p[v.params[i]] = v.params[i+1]
	}
	return p
}
