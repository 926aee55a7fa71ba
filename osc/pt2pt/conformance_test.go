package pt2pt_test

import (
	"testing"

	"github.com/ompi-go/ompi-go/osc/osctest"
	_ "github.com/ompi-go/ompi-go/osc/pt2pt"
)

func TestMain(m *testing.M) { osctest.Main(m) }

// TestConformance runs the suite over goroutine ranks.
func TestConformance(t *testing.T) {
	osctest.Run(t, osctest.Config{Params: map[string]string{"osc": "pt2pt"}})
}
