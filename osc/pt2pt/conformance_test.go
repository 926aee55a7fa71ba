package pt2pt_test

import (
	"testing"

	_ "github.com/ompi-go/ompi-go/ompi" // with all that carries messages
	"github.com/ompi-go/ompi-go/osc/osctest"
)

func TestMain(m *testing.M) { osctest.Main(m) }

// carriers are the ways of messages.
var carriers = []struct {
	name   string
	params map[string]string
}{
	{"ob1", nil},
	{"tcp", map[string]string{"btl": "self,tcp"}},
	{"cm", map[string]string{"pml": "cm"}},
	{"udp", map[string]string{"btl": "self,udp"}},
	{"apart", map[string]string{"osc_pt2pt_piggyback": "false"}},
}

func with(params map[string]string) map[string]string {
	all := map[string]string{"osc": "pt2pt"}
	for k, v := range params {
		all[k] = v
	}
	return all
}

// TestConformance runs the suite over goroutine ranks.
func TestConformance(t *testing.T) {
	for _, c := range carriers {
		t.Run(c.name, func(t *testing.T) {
			cfg := osctest.Config{Params: with(c.params)}
			if c.name != "ob1" { // the kinds of windows differ in nothing that a carrier has to do with
				cfg.Flavors = []osctest.Flavor{osctest.Allocate, osctest.Dynamic}
			}
			osctest.Run(t, cfg)
		})
	}
}

// TestProcesses runs it over processes.
func TestProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, c := range carriers[:3] {
		t.Run(c.name, func(t *testing.T) {
			osctest.Run(t, osctest.Config{Params: with(c.params), Processes: true, Flavors: []osctest.Flavor{osctest.Allocate, osctest.Dynamic}, NoDeaths: c.name == "tcp"})
		})
	}
}
