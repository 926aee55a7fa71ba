package heap

import (
	"testing"

	"github.com/ompi-go/ompi-go/mpool/mpooltest"
)

func TestConformance(t *testing.T) { mpooltest.Run(t, mpooltest.Config{Component: component{}}) }
