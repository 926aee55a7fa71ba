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
	lossy := portalstest.Ranks("udp that loses", 3, map[string]string{"portals4_nal": "udp", "btl_udp_inject": "loss=3%,dup=1%,reorder=3%", "btl_udp_inject_seed": "7"})
	lossy.Brief = true
	portalstest.Run(t, lossy)
}
