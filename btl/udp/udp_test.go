package udp

import (
	"slices"
	"testing"

	"github.com/ompi-go/ompi-go/btl/btltest"
)

func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name   string
		params map[string]string
	}{
		{"Default", nil},
		{"SmallDatagrams", map[string]string{"btl_udp_datagram": "1472"}},
		{"SmallWithoutOffload", map[string]string{"btl_udp_datagram": "1000", "btl_udp_offload": "false", "btl_udp_max_send_size": "80k"}},
		{"SmallBuffers", map[string]string{"btl_udp_sndbuf": "8k", "btl_udp_rcvbuf": "8k", "btl_udp_datagram": "4000", "btl_udp_window": "8k"}},
		{"NothingCopied", map[string]string{"btl_udp_copy_limit": "0"}},
		{"Lossy", map[string]string{"btl_udp_inject": "loss=5%,dup=2%,reorder=5%,corrupt=1%,delay=50us", "btl_udp_datagram": "9000"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			params := map[string]string{"btl": "udp", "btl_udp_timeout": "0"} // nobody stands in for a rank that is not polled
			for k, v := range c.params {
				params[k] = v
			}
			btltest.Run(t, btltest.Config{Component: component{}, Params: params})
		})
	}
}

func TestOptionsValidate(t *testing.T) {
	good := options{PortMinV4: 1024, PortRangeV4: 64511, PortMinV6: 1, PortRangeV6: 1}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for i, change := range []func(o *options){
		func(o *options) { o.PortRangeV4++; o.PortRangeV4++ },
		func(o *options) { o.PortMinV6 = 65535; o.PortRangeV6 = 2 },
		func(o *options) { o.IfInclude = []string{"10.0.0.0/33"} },
		func(o *options) { o.IfExclude = []string{"x/y"} },
	} {
		o := good
		o.IfInclude = slices.Clone(o.IfInclude)
		change(&o)
		if err := o.Validate(); err == nil {
			t.Errorf("case %d was accepted", i)
		}
	}
}
