package udp

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func prefixes(s ...string) (out []netip.Prefix) {
	for _, p := range s {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

func TestChoose(t *testing.T) {
	ifaces := []iface{
		{name: "lo", loopback: true, prefixes: prefixes("127.0.0.1/8", "::1/128")},
		{name: "eth0", prefixes: prefixes("10.0.0.5/24", "fd00::5/64", "fe80::5/64")},
		{name: "eth1", prefixes: prefixes("192.168.7.5/16")},
		{name: "docker0", prefixes: prefixes("172.17.0.1/16")},
	}
	exclude := []string{"127.0.0.1/8", "::1/128"}
	for _, c := range []struct {
		name string
		o    options
		want string
	}{
		{"default", options{IfExclude: exclude}, "127.0.0.1 10.0.0.5 fd00::5 192.168.7.5 172.17.0.1"},
		{"no IPv6", options{IfExclude: exclude, DisableFamily: "6"}, "127.0.0.1 10.0.0.5 192.168.7.5 172.17.0.1"},
		{"no IPv4", options{IfExclude: exclude, DisableFamily: "4"}, "::1 fd00::5"},
		{"include a name", options{IfInclude: []string{"eth1"}, IfExclude: exclude}, "192.168.7.5"},
		{"include a network", options{IfInclude: []string{"10.0.0.0/16"}}, "10.0.0.5"},
		{"include both", options{IfInclude: []string{"eth0", "127.0.0.0/8"}}, "127.0.0.1 10.0.0.5 fd00::5"},
		{"include overrides exclude", options{IfInclude: []string{"eth0"}, IfExclude: []string{"eth0"}}, "10.0.0.5 fd00::5"},
		{"exclude names", options{IfExclude: []string{"docker0", "lo"}}, "10.0.0.5 fd00::5 192.168.7.5"},
		{"exclude networks", options{IfExclude: []string{"192.168.0.0/16", "fd00::/8"}}, "127.0.0.1 10.0.0.5 172.17.0.1"},
		{"nothing left", options{IfInclude: []string{"ib0"}}, ""},
	} {
		got, err := choose(ifaces, &c.o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var names []string
		for _, l := range got {
			names = append(names, l.prefix.Addr().String())
		}
		if s := strings.Join(names, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}

func TestCandidates(t *testing.T) {
	mine := []local{
		{prefix: netip.MustParsePrefix("127.0.0.1/8"), loopback: true},
		{prefix: netip.MustParsePrefix("10.0.0.5/24")},
		{prefix: netip.MustParsePrefix("10.0.1.5/24")},
		{prefix: netip.MustParsePrefix("172.17.0.1/16")},
		{prefix: netip.MustParsePrefix("198.51.100.5/24")},
	}
	peer := func(loop string, addrs ...string) *card {
		c := &card{loop: loop}
		for _, a := range addrs {
			p := netip.MustParsePrefix(a)
			c.addrs = append(c.addrs, cardAddr{netip.AddrPortFrom(p.Addr(), 1), p.Bits()})
		}
		return c
	}
	for _, c := range []struct {
		name string
		peer *card
		link int
		want string
	}{
		{"loopback first", peer("A", "10.0.0.6/24", "127.0.0.1/8"), 0, "127.0.0.1 10.0.0.6@10.0.0.5"},
		{"another host's loopback", peer("B", "127.0.0.1/8", "10.0.0.6/24"), 0, "10.0.0.6@10.0.0.5"},
		{"same network before others", peer("B", "10.9.0.6/24", "10.0.1.6/24"), 0, "10.0.1.6@10.0.1.5 10.9.0.6"},
		{"public before private", peer("B", "10.0.0.6/24", "198.51.100.6/24"), 0, "198.51.100.6@198.51.100.5 10.0.0.6@10.0.0.5"},
		{"links spread", peer("B", "10.0.0.6/24", "10.0.1.6/24", "10.9.0.6/24"), 1, "10.0.1.6@10.0.1.5 10.0.0.6@10.0.0.5 10.9.0.6"},
		{"a bridge that every host has", peer("B", "172.17.0.1/16"), 0, ""},
		{"no common family", peer("B", "fd00::6/64"), 0, ""},
	} {
		var got []string
		for _, x := range candidates(mine, "A", c.peer, c.link) {
			s := x.remote.Addr().String()
			if x.bind.IsValid() {
				s += "@" + x.bind.String()
			}
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
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

// TestNoAddress: the reason names what the user can correct.
func TestNoAddress(t *testing.T) {
	ifaces := []iface{
		{name: "lo", loopback: true, prefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8")}},
		{name: "eth0", prefixes: []netip.Prefix{netip.MustParsePrefix("10.1.0.2/16")}},
	}
	for _, c := range []struct {
		o    options
		want string
	}{
		{options{IfInclude: []string{"eth9"}}, `there is no interface eth9, which btl_udp_if_include names; up are lo 127.0.0.1/8; eth0 10.1.0.2/16`},
		{options{IfInclude: []string{"eth9", "ib0"}, DisableFamily: "4"}, `there is no interface eth9, ib0, which btl_udp_if_include names; up are lo`},
		{options{IfInclude: []string{"eth0", "ib0"}, DisableFamily: "4"}, `no address is left by btl_udp_if_include "eth0,ib0" and btl_udp_disable_family 4; up are lo`},
		{options{IfInclude: []string{"192.168.0.0/24"}, IfExclude: []string{"lo"}}, `no address is left by btl_udp_if_include "192.168.0.0/24"; up`},
		{options{IfExclude: []string{"lo", "eth0"}}, `no address is left by btl_udp_if_exclude "lo,eth0"; up`},
	} {
		if left, err := choose(ifaces, &c.o); len(left) != 0 || err != nil {
			t.Errorf("%+v leaves %v, %v", c.o, left, err)
		}
		if got := noAddress(ifaces, &c.o); !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: %q", c.o, got)
		}
	}
	if got := noAddress(nil, &options{}); got != "no interface has an address; none is up" {
		t.Errorf("without interfaces: %q", got)
	}
}
