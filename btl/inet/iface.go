package inet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Iface is an interface that is up, as the choice of addresses sees it.
type Iface struct {
	Name     string
	Loopback bool
	Speed    int // Mbit/s, 0 when unknown
	MTU      int
	Prefixes []netip.Prefix
}

// Choice is what the user says of interfaces, by parameters of the component.
type Choice struct {
	Component            string
	IfInclude, IfExclude []string // names, or networks such as 10.1.0.0/16
	DisableFamily        string   // "4" or "6"; else both are used
}

// Validate checks names and networks.
func (o *Choice) Validate() error {
	_, err := parseFilter(o.IfInclude)
	_, err2 := parseFilter(o.IfExclude)
	return errors.Join(err, err2)
}

func (o *Choice) uses(a netip.Addr) bool {
	return !(a.Is4() && o.DisableFamily == "4") && !(a.Is6() && o.DisableFamily == "6")
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

// Local is an address to listen on.
type Local struct {
	Prefix   netip.Prefix // the address and the size of its network
	Iface    string
	Loopback bool
	Speed    int
	MTU      int
}

// Choose picks the addresses to listen on. Of loopback addresses it takes the first alone; they serve the peers of this host.
func Choose(ifaces []Iface, o *Choice) ([]Local, error) {
	include, err := parseFilter(o.IfInclude)
	if err != nil {
		return nil, err
	}
	exclude, err := parseFilter(o.IfExclude)
	if err != nil {
		return nil, err
	}
	var out []Local
	looped := false
	for _, i := range ifaces {
		named := slices.Contains(include.names, i.Name)
		for _, p := range i.Prefixes {
			a := p.Addr()
			switch {
			case !o.uses(a):
				continue
			case len(o.IfInclude) > 0 && !named && !include.hasNetwork(a):
				continue
			case len(o.IfInclude) == 0 && slices.Contains(exclude.names, i.Name):
				continue
			case len(o.IfInclude) == 0 && !i.Loopback && exclude.hasNetwork(a):
				continue
			case a.IsLinkLocalUnicast():
				// Without its zone such an address cannot be connected to, and the zone means nothing to a peer.
				continue
			case i.Loopback && looped:
				continue
			}
			looped = looped || i.Loopback
			out = append(out, Local{p, i.Name, i.Loopback, i.Speed, i.MTU})
		}
	}
	return out, nil
}

// NoAddress says why Choose picked none.
func NoAddress(ifaces []Iface, o *Choice) string {
	var missing, set []string
	if include, err := parseFilter(o.IfInclude); err == nil {
		for _, name := range include.names {
			if !slices.ContainsFunc(ifaces, func(i Iface) bool { return i.Name == name }) {
				missing = append(missing, name)
			}
		}
	}
	there := "up are " + describe(ifaces)
	if len(ifaces) == 0 {
		there = "none is up"
	}
	if len(missing) > 0 && len(missing) == len(o.IfInclude) {
		return fmt.Sprintf("there is no interface %s, which btl_%s_if_include names; %s", strings.Join(missing, ", "), o.Component, there)
	}
	// Whatever the others are set to, these decide.
	if len(o.IfInclude) > 0 {
		set = append(set, fmt.Sprintf("btl_%s_if_include %q", o.Component, strings.Join(o.IfInclude, ",")))
	} else if len(o.IfExclude) > 0 {
		set = append(set, fmt.Sprintf("btl_%s_if_exclude %q", o.Component, strings.Join(o.IfExclude, ",")))
	}
	if o.DisableFamily == "4" || o.DisableFamily == "6" {
		set = append(set, fmt.Sprintf("btl_%s_disable_family %s", o.Component, o.DisableFamily))
	}
	if len(set) == 0 {
		return "no interface has an address; " + there
	}
	return fmt.Sprintf("no address is left by %s; %s", strings.Join(set, " and "), there)
}

// Ifaces lists the interfaces that are up.
func Ifaces() ([]Iface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var out []Iface
	for _, n := range all {
		if n.Flags&net.FlagUp == 0 {
			continue
		}
		i := Iface{Name: n.Name, Loopback: n.Flags&net.FlagLoopback != 0, Speed: speed(n.Name), MTU: n.MTU}
		addrs, err := n.Addrs()
		if err != nil {
			return nil, fmt.Errorf("addresses of %s: %w", n.Name, err)
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				i.Prefixes = append(i.Prefixes, netip.PrefixFrom(p.Addr().Unmap(), p.Bits()))
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
func describe(ifaces []Iface) string {
	var b strings.Builder
	for n, i := range ifaces {
		if n > 0 {
			b.WriteString("; ")
		}
		b.WriteString(i.Name)
		for _, p := range i.Prefixes {
			b.WriteString(" " + p.String())
		}
	}
	return b.String()
}

// Candidate is an address to try, best first.
type Candidate struct {
	Remote  netip.AddrPort
	Bind    netip.Addr // the local address to use; invalid: let the routing table choose
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

// Candidates pairs our addresses with a peer's, best pairs first and one for each of the peer's. A pair on one network is
// bound to our address on it. Equally good ones are rotated by the link's number, so that links spread over interfaces.
func Candidates(ours []Local, loop string, peer *Card, link int) []Candidate {
	var out []Candidate
	for _, r := range peer.Addrs {
		a := r.Addr()
		if a.IsLoopback() {
			if loop == peer.Loop && slices.ContainsFunc(ours, func(l Local) bool { return l.Loopback && l.Prefix.Addr().Is4() == a.Is4() }) {
				out = append(out, Candidate{Remote: r.AddrPort, quality: pairLoopback})
			}
			continue
		}
		if loop != peer.Loop && slices.ContainsFunc(ours, func(l Local) bool { return l.Prefix.Addr() == a }) {
			continue // a bridge that has the same address on every host leads back to ourselves
		}
		best := Candidate{Remote: r.AddrPort}
		for _, l := range ours {
			if l.Loopback || l.Prefix.Addr().Is4() != a.Is4() {
				continue
			}
			if q, same := pairQuality(l.Prefix, a, r.Bits); q > best.quality {
				best.quality, best.Bind = q, netip.Addr{}
				if same {
					best.Bind = l.Prefix.Addr()
				}
			}
		}
		if best.quality > 0 {
			out = append(out, best)
		}
	}
	slices.SortStableFunc(out, func(a, b Candidate) int { return b.quality - a.quality })
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
