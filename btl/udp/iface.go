package udp

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// iface is an interface that is up, as the choice of addresses sees it.
type iface struct {
	name     string
	loopback bool
	speed    int // Mbit/s, 0 when unknown
	mtu      int
	prefixes []netip.Prefix
}

// filter is a parsed if_include or if_exclude.
type filter struct {
	names    []string
	prefixes []netip.Prefix
}

func parseFilter(list []string) (filter, error) {
	var f filter
	for _, s := range list {
		if !strings.Contains(s, "/") {
			f.names = append(f.names, s)
			continue
		}
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return f, fmt.Errorf("%q is neither the name of an interface nor a network such as 10.1.0.0/16", s)
		}
		f.prefixes = append(f.prefixes, p.Masked())
	}
	return f, nil
}

func (f *filter) hasNetwork(a netip.Addr) bool {
	return slices.ContainsFunc(f.prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
}

// local is an address to listen on.
type local struct {
	prefix   netip.Prefix // the address and the size of its network
	iface    string
	loopback bool
	speed    int
	mtu      int
}

// choose picks the addresses to listen on. Of loopback addresses it takes the first alone; they serve the peers of this host.
func choose(ifaces []iface, o *options) ([]local, error) {
	include, err := parseFilter(o.IfInclude)
	if err != nil {
		return nil, err
	}
	exclude, err := parseFilter(o.IfExclude)
	if err != nil {
		return nil, err
	}
	var out []local
	looped := false
	for _, i := range ifaces {
		named := slices.Contains(include.names, i.name)
		for _, p := range i.prefixes {
			a := p.Addr()
			switch {
			case !o.uses(a):
				continue
			case len(o.IfInclude) > 0 && !named && !include.hasNetwork(a):
				continue
			case len(o.IfInclude) == 0 && slices.Contains(exclude.names, i.name):
				continue
			case len(o.IfInclude) == 0 && !i.loopback && exclude.hasNetwork(a):
				continue
			case a.IsLinkLocalUnicast():
				// Without its zone such an address cannot be connected to, and the zone means nothing to a peer.
				continue
			case i.loopback && looped:
				continue
			}
			looped = looped || i.loopback
			out = append(out, local{p, i.name, i.loopback, i.speed, i.mtu})
		}
	}
	return out, nil
}

// noAddress says why choose picked none.
func noAddress(ifaces []iface, o *options) string {
	var missing, set []string
	if include, err := parseFilter(o.IfInclude); err == nil {
		for _, name := range include.names {
			if !slices.ContainsFunc(ifaces, func(i iface) bool { return i.name == name }) {
				missing = append(missing, name)
			}
		}
	}
	there := "up are " + describe(ifaces)
	if len(ifaces) == 0 {
		there = "none is up"
	}
	if len(missing) > 0 && len(missing) == len(o.IfInclude) {
		return fmt.Sprintf("there is no interface %s, which btl_udp_if_include names; %s", strings.Join(missing, ", "), there)
	}
	// Whatever the others are set to, these decide.
	if len(o.IfInclude) > 0 {
		set = append(set, fmt.Sprintf("btl_udp_if_include %q", strings.Join(o.IfInclude, ",")))
	} else if len(o.IfExclude) > 0 {
		set = append(set, fmt.Sprintf("btl_udp_if_exclude %q", strings.Join(o.IfExclude, ",")))
	}
	if o.DisableFamily == "4" || o.DisableFamily == "6" {
		set = append(set, fmt.Sprintf("btl_udp_disable_family %s", o.DisableFamily))
	}
	if len(set) == 0 {
		return "no interface has an address; " + there
	}
	return fmt.Sprintf("no address is left by %s; %s", strings.Join(set, " and "), there)
}

// systemIfaces lists the interfaces that are up.
func systemIfaces() ([]iface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var out []iface
	for _, n := range all {
		if n.Flags&net.FlagUp == 0 {
			continue
		}
		i := iface{name: n.Name, loopback: n.Flags&net.FlagLoopback != 0, speed: speed(n.Name), mtu: n.MTU}
		addrs, err := n.Addrs()
		if err != nil {
			return nil, fmt.Errorf("addresses of %s: %w", n.Name, err)
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				i.prefixes = append(i.prefixes, netip.PrefixFrom(p.Addr().Unmap(), p.Bits()))
			}
		}
		out = append(out, i)
	}
	return out, nil
}

// speed is what the driver says in Mbit/s; virtual interfaces say nothing, or -1.
func speed(name string) int {
	b, err := os.ReadFile("/sys/class/net/" + name + "/speed")
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// describe lists interfaces for messages.
func describe(ifaces []iface) string {
	var b strings.Builder
	for n, i := range ifaces {
		if n > 0 {
			b.WriteString("; ")
		}
		b.WriteString(i.name)
		for _, p := range i.prefixes {
			b.WriteString(" " + p.String())
		}
	}
	return b.String()
}

// candidate is an address to try, best first.
type candidate struct {
	remote  netip.AddrPort
	bind    netip.Addr // the local address to use; invalid: let the routing table choose
	quality int
}

// Qualities of a pair of addresses, as Open MPI ranks them.
const (
	pairMixed            = 40
	pairPrivateDifferent = 50
	pairPrivateSame      = 80
	pairPublicDifferent  = 90
	pairPublicSame       = 100
	pairLoopback         = 200
)

// candidates pairs our addresses with a peer's, best pairs first and one for each of the peer's. A pair on one network is
// bound to our address on it. Equally good ones are rotated by the link's number, so that links spread over interfaces.
func candidates(ours []local, loop string, peer *card, link int) []candidate {
	var out []candidate
	for _, r := range peer.addrs {
		a := r.Addr()
		if a.IsLoopback() {
			if loop == peer.loop && slices.ContainsFunc(ours, func(l local) bool { return l.loopback && l.prefix.Addr().Is4() == a.Is4() }) {
				out = append(out, candidate{remote: r.AddrPort, quality: pairLoopback})
			}
			continue
		}
		if loop != peer.loop && slices.ContainsFunc(ours, func(l local) bool { return l.prefix.Addr() == a }) {
			continue // a bridge that has the same address on every host leads back to ourselves
		}
		best := candidate{remote: r.AddrPort}
		for _, l := range ours {
			if l.loopback || l.prefix.Addr().Is4() != a.Is4() {
				continue
			}
			if q, same := pairQuality(l.prefix, a, r.bits); q > best.quality {
				best.quality, best.bind = q, netip.Addr{}
				if same {
					best.bind = l.prefix.Addr()
				}
			}
		}
		if best.quality > 0 {
			out = append(out, best)
		}
	}
	slices.SortStableFunc(out, func(a, b candidate) int { return b.quality - a.quality })
	top := 0
	for top < len(out) && out[top].quality == out[0].quality {
		top++
	}
	if top > 1 {
		n := link % top
		rotated := append(slices.Clone(out[n:top]), out[:n]...)
		copy(out, rotated)
	}
	return out
}

func pairQuality(ours netip.Prefix, theirs netip.Addr, bits int) (quality int, same bool) {
	same = ours.Bits() == bits && ours.Contains(theirs)
	private := ours.Addr().IsPrivate()
	switch {
	case private != theirs.IsPrivate():
		return pairMixed, false
	case private && same:
		return pairPrivateSame, true
	case private:
		return pairPrivateDifferent, false
	case same:
		return pairPublicSame, true
	}
	return pairPublicDifferent, false
}
