package inet

import (
	"net/netip"
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
	ifaces := []Iface{
		{Name: "lo", Loopback: true, Prefixes: prefixes("127.0.0.1/8", "::1/128")},
		{Name: "eth0", Prefixes: prefixes("10.0.0.5/24", "fd00::5/64", "fe80::5/64")},
		{Name: "eth1", Prefixes: prefixes("192.168.7.5/16")},
		{Name: "docker0", Prefixes: prefixes("172.17.0.1/16")},
	}
	exclude := []string{"127.0.0.1/8", "::1/128"}
	for _, c := range []struct {
		name string
		o    Choice
		want string
	}{
		{"default", Choice{IfExclude: exclude}, "127.0.0.1 10.0.0.5 fd00::5 192.168.7.5 172.17.0.1"},
		{"no IPv6", Choice{IfExclude: exclude, DisableFamily: "6"}, "127.0.0.1 10.0.0.5 192.168.7.5 172.17.0.1"},
		{"no IPv4", Choice{IfExclude: exclude, DisableFamily: "4"}, "::1 fd00::5"},
		{"include a name", Choice{IfInclude: []string{"eth1"}, IfExclude: exclude}, "192.168.7.5"},
		{"include a network", Choice{IfInclude: []string{"10.0.0.0/16"}}, "10.0.0.5"},
		{"include both", Choice{IfInclude: []string{"eth0", "127.0.0.0/8"}}, "127.0.0.1 10.0.0.5 fd00::5"},
		{"include overrides exclude", Choice{IfInclude: []string{"eth0"}, IfExclude: []string{"eth0"}}, "10.0.0.5 fd00::5"},
		{"exclude names", Choice{IfExclude: []string{"docker0", "lo"}}, "10.0.0.5 fd00::5 192.168.7.5"},
		{"exclude networks", Choice{IfExclude: []string{"192.168.0.0/16", "fd00::/8"}}, "127.0.0.1 10.0.0.5 172.17.0.1"},
		{"nothing left", Choice{IfInclude: []string{"ib0"}}, ""},
	} {
		got, err := Choose(ifaces, &c.o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var names []string
		for _, l := range got {
			names = append(names, l.Prefix.Addr().String())
		}
		if s := strings.Join(names, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}

func TestCandidates(t *testing.T) {
	mine := []Local{
		{Prefix: netip.MustParsePrefix("127.0.0.1/8"), Loopback: true},
		{Prefix: netip.MustParsePrefix("10.0.0.5/24")},
		{Prefix: netip.MustParsePrefix("10.0.1.5/24")},
		{Prefix: netip.MustParsePrefix("172.17.0.1/16")},
		{Prefix: netip.MustParsePrefix("198.51.100.5/24")},
	}
	peer := func(loop string, addrs ...string) *Card {
		c := &Card{Loop: loop}
		for _, a := range addrs {
			p := netip.MustParsePrefix(a)
			c.Addrs = append(c.Addrs, CardAddr{netip.AddrPortFrom(p.Addr(), 1), p.Bits()})
		}
		return c
	}
	for _, c := range []struct {
		name string
		peer *Card
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
		for _, x := range Candidates(mine, "A", c.peer, c.link) {
			s := x.Remote.Addr().String()
			if x.Bind.IsValid() {
				s += "@" + x.Bind.String()
			}
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}

// TestNoAddress: the reason names what the user can correct.
func TestNoAddress(t *testing.T) {
	ifaces := []Iface{
		{Name: "lo", Loopback: true, Prefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8")}},
		{Name: "eth0", Prefixes: []netip.Prefix{netip.MustParsePrefix("10.1.0.2/16")}},
	}
	for _, c := range []struct {
		o    Choice
		want string
	}{
		{Choice{Component: "tcp", IfInclude: []string{"eth9"}}, `there is no interface eth9, which btl_tcp_if_include names; up are lo 127.0.0.1/8; eth0 10.1.0.2/16`},
		{Choice{Component: "tcp", IfInclude: []string{"eth9", "ib0"}, DisableFamily: "4"}, `there is no interface eth9, ib0, which btl_tcp_if_include names; up are lo`},
		{Choice{Component: "tcp", IfInclude: []string{"eth0", "ib0"}, DisableFamily: "4"}, `no address is left by btl_tcp_if_include "eth0,ib0" and btl_tcp_disable_family 4; up are lo`},
		{Choice{Component: "tcp", IfInclude: []string{"192.168.0.0/24"}, IfExclude: []string{"lo"}}, `no address is left by btl_tcp_if_include "192.168.0.0/24"; up`},
		{Choice{Component: "tcp", IfExclude: []string{"lo", "eth0"}}, `no address is left by btl_tcp_if_exclude "lo,eth0"; up`},
	} {
		if left, err := Choose(ifaces, &c.o); len(left) != 0 || err != nil {
			t.Errorf("%+v leaves %v, %v", c.o, left, err)
		}
		if got := NoAddress(ifaces, &c.o); !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: %q", c.o, got)
		}
	}
	if got := NoAddress(nil, &Choice{}); got != "no interface has an address; none is up" {
		t.Errorf("without interfaces: %q", got)
	}
}
