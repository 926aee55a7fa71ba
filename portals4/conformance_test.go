package portals4_test

import (
	"testing"

	_ "github.com/ompi-go/ompi-go/btl/sm"
	_ "github.com/ompi-go/ompi-go/btl/tcp"
	_ "github.com/ompi-go/ompi-go/btl/udp"
	"github.com/ompi-go/ompi-go/portals4/portalstest"
)

func TestConformance(t *testing.T) {
	portalstest.Run(t, portalstest.Self())
	portalstest.Run(t, portalstest.Ranks("local", 3, map[string]string{"portals4_nal": "local"}))
	portalstest.Run(t, portalstest.Ranks("tcp", 3, map[string]string{"portals4_nal": "tcp"}))
	portalstest.Run(t, portalstest.Ranks("udp", 3, map[string]string{"portals4_nal": "udp"}))
}
