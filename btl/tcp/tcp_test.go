package tcp

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
		{"TwoLinks", map[string]string{"btl_tcp_links": "2"}},
		{"SmallBuffers", map[string]string{"btl_tcp_sndbuf": "8k", "btl_tcp_rcvbuf": "8k", "btl_tcp_endpoint_cache": "8k", "btl_tcp_max_send_size": "80k"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			btltest.Run(t, btltest.Config{Component: component{}, Params: c.params})
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
