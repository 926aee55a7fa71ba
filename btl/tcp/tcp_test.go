package tcp

import (
	"testing"

	"github.com/ompi-go/ompi-go/btl/btltest"
)

func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name   string
		params map[string]string
	}{
		{"Default", nil},
		{"TwoLinks", map[string]string{"btl_tcp_links": "2"}},
		{"SmallBuffers", map[string]string{"btl_tcp_sndbuf": "8k", "btl_tcp_rcvbuf": "8k", "btl_tcp_endpoint_cache": "8k", "btl_tcp_max_send_size": "80k"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			btltest.Run(t, btltest.Config{Component: component{}, Params: c.params})
		})
	}
}
