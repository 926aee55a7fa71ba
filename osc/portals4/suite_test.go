package portals4_test

import (
	"testing"

	"github.com/ompi-go/ompi-go/osc/osctest"
)

func TestMain(m *testing.M) { osctest.Main(m) }

func TestConformance(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) { osctest.Run(t, osctest.Config{Params: paramsOf(v)}) })
	}
}

func TestConformanceProcesses(t *testing.T) {
	osctest.Run(t, osctest.Config{Params: paramsOf(variants[0]), Processes: true})
}

func paramsOf(v variant) map[string]string {
	p := map[string]string{"osc": "portals4"}
	for i := 0; i < len(v.params); i += 2 {
		p[v.params[i]] = v.params[i+1]
	}
	return p
}
