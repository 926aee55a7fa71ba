package self_test

import (
	"testing"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	_ "github.com/ompi-go/ompi-go/btl/self"
	"github.com/ompi-go/ompi-go/mca"
)

func component(t testing.TB) btl.Component {
	t.Helper()
	reg, err := mca.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	c, ok := reg.Component("btl", "self")
	if !ok {
		t.Fatal("not registered")
	}
	return c.(btl.Component)
}

func TestConformance(t *testing.T) {
	btltest.Run(t, btltest.Config{Component: component(t), Self: true})
}
