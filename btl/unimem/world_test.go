package unimem

import (
	"testing"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	_ "github.com/ompi-go/ompi-go/btl/self"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/rte"
)

// openWith opens the component alone, without shared memory.
func openWith(t *testing.T, cfg btltest.Config, job rte.Job) ([]btl.Module, error) {
	t.Helper()
	reg, err := mca.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	var in mca.Input
	for name, value := range cfg.Params {
		in.Settings = append(in.Settings, mca.Setting{Name: name, Value: value, Layer: mca.LayerAPI, Where: "the test"})
	}
	params, err := mca.Load(reg, in)
	if err != nil {
		t.Fatal(err)
	}
	return (component{}).Open(&btl.Env{Params: params, Job: job})
}
