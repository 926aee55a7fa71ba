package portals4

import (
	"testing"

	_ "github.com/ompi-go/ompi-go/btl/sm"
	"github.com/ompi-go/ompi-go/mtl/mtltest"
)

// TestConformance runs the suite over every protocol and flow control.
func TestConformance(t *testing.T) {
	for name, params := range map[string]map[string]string{
		"eager":     nil,
		"rndv":      {"mtl_portals4_long_protocol": "rndv"},
		"triggered": {"mtl_portals4_long_protocol": "triggered"},
		"recovery":  {"mtl_portals4_flow_control": "recovery"},
		"logical":   {"mtl_portals4_use_logical": "true", "mtl_portals4_match_bits": "4/12/24/24"},
		"pieces":    {"mtl_portals4_max_msg_size": "10000"},
		"tiny": {"mtl_portals4_short_limit": "128", "mtl_portals4_eager_limit": "128", "mtl_portals4_short_recv_num": "2", "mtl_portals4_short_recv_size": "4k",
			"mtl_portals4_credit_share": "4k", "mtl_portals4_credit_headers": "8", "mtl_portals4_send_event_queue_size": "16", "mtl_portals4_recv_event_queue_size": "64"},
	} {
		cfg := mtltest.Config{Component: component{}, Params: params}
		if raceEnabled {
			if name != "triggered" && name != "tiny" {
				continue // each takes long
			}
			cfg.Long = 80_000
		}
		t.Run(name, func(t *testing.T) { mtltest.Run(t, cfg) })
	}
}
