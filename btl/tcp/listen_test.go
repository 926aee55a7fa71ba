package tcp

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/btl/inet"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
)

// outside is whether this machine has an address besides the loopback ones.
func outside(t *testing.T) bool {
	t.Helper()
	ifaces, err := inet.Ifaces()
	if err != nil {
		t.Fatal(err)
	}
	locals, err := inet.Choose(ifaces, &inet.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(locals, func(l inet.Local) bool { return !l.Loopback })
}

func onlyLoopback(m *module) bool {
	return len(m.listeners) > 0 && !slices.ContainsFunc(m.listeners, func(ln *listener) bool { return !ln.addr.Addr().IsLoopback() })
}

func TestListensOnLoopbackOnly(t *testing.T) {
	for name, job := range map[string]func(rte.Job) rte.Job{
		"one node":                              nil,
		"two nodes of the launcher on one host": onNodes(0, 0, 1),
	} {
		w, sinks := newWorld(t, 3, nil, job)
		for i, r := range w.Ranks {
			if !onlyLoopback(moduleOf(r)) {
				t.Errorf("%s: rank %d listens on more than the loopback interface", name, i)
			}
		}
		send(t, w, 0, 2, 0, 10)
		w.Until(t, "the message", func() bool { return sinks[2].N == 1 })
	}
}

// TestOtherHost makes ranks believe that they are on two hosts, so that they meet on an outside address.
func TestOtherHost(t *testing.T) {
	if !outside(t) {
		t.Skip("this machine has no address but the loopback ones")
	}
	other := func(j rte.Job) rte.Job {
		return &fakeJob{Job: j, nodes: []int{0, 1}, card: func(rank int, b []byte) []byte {
			c, _ := inet.ParseCard(b)
			if rank != j.Rank() {
				c.Loop = "elsewhere"
				// The bridge test would take the peer's address for our own, which it is here.
				c.Addrs = slices.DeleteFunc(c.Addrs, func(a inet.CardAddr) bool { return !a.Addr().IsLoopback() })
			}
			return c.Append(nil)
		}}
	}
	w, _ := newWorld(t, 2, nil, other)
	for i, r := range w.Ranks {
		if onlyLoopback(moduleOf(r)) {
			t.Errorf("rank %d does not listen for its peer elsewhere", i)
		}
		if err := r.Reasons[1-i]; r.Endpoints[1-i] != nil || err == nil || !strings.Contains(err.Error(), "no address of rank") {
			t.Errorf("rank %d: a peer with nothing but a loopback address elsewhere: %v", i, err)
		}
	}
}

func TestInclude(t *testing.T) {
	if !outside(t) {
		t.Skip("this machine has no address but the loopback ones")
	}
	ifaces, _ := inet.Ifaces()
	name := ifaces[slices.IndexFunc(ifaces, func(i inet.Iface) bool { return !i.Loopback && len(i.Prefixes) > 0 })].Name
	w, sinks := newWorld(t, 2, map[string]string{"btl_tcp_if_include": name}, nil)
	for i, r := range w.Ranks {
		for _, ln := range moduleOf(r).listeners {
			if ln.local.Iface != name {
				t.Errorf("rank %d listens on %s", i, ln.local.Iface)
			}
		}
	}
	send(t, w, 0, 1, 0, 10)
	w.Until(t, "the message", func() bool { return sinks[1].N == 1 })
	if a := moduleOf(w.Ranks[0]).eps[1].only.remote.Addr(); a.IsLoopback() {
		t.Errorf("connected to %s", a)
	}
}

func TestParametersOfSockets(t *testing.T) {
	const first, count = 21000, 64
	for _, c := range []struct {
		family string
		want   netip.Addr
	}{{"6", netip.MustParseAddr("127.0.0.1")}, {"4", netip.IPv6Loopback()}} {
		if c.family == "4" && !hasIPv6Loopback() {
			continue
		}
		w, sinks := newWorld(t, 2, map[string]string{
			"btl_tcp_disable_family": c.family, "btl_tcp_port_min_v4": "21000", "btl_tcp_port_range_v4": "64",
			"btl_tcp_port_min_v6": "21000", "btl_tcp_port_range_v6": "64",
			"btl_tcp_use_nagle": "true", "btl_tcp_sndbuf": "100k", "btl_tcp_rcvbuf": "50k", "btl_tcp_keepalive_time": "30s",
			"btl_tcp_endpoint_cache": "10000",
		}, nil)
		send(t, w, 0, 1, 0, 10)
		w.Until(t, "the message", func() bool { return sinks[1].N == 1 })
		for i, r := range w.Ranks {
			m := moduleOf(r)
			if a := m.listeners[0].addr; a.Addr() != c.want || a.Port() < first || a.Port() >= first+count {
				t.Errorf("rank %d listens on %s", i, a)
			}
			l := m.eps[1-i].only
			for _, o := range []struct {
				name                 string
				level, opt, min, max int
			}{
				{"TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 0, 0},
				{"SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1, 1},
				{"TCP_KEEPIDLE", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 30, 30},
				{"SO_SNDBUF", unix.SOL_SOCKET, unix.SO_SNDBUF, 200 << 10, 200 << 10}, // Linux doubles it
				{"SO_RCVBUF", unix.SOL_SOCKET, unix.SO_RCVBUF, 100 << 10, 100 << 10},
			} {
				if v, err := unix.GetsockoptInt(l.fd, o.level, o.opt); err != nil || v < o.min || v > o.max {
					t.Errorf("rank %d: %s is %d, %v", i, o.name, v, err)
				}
			}
			if len(l.cache) != 10000 {
				t.Errorf("the cache has %d bytes", len(l.cache))
			}
		}
	}
}

func hasIPv6Loopback() bool {
	ifaces, err := inet.Ifaces()
	return err == nil && slices.ContainsFunc(ifaces, func(i inet.Iface) bool {
		return i.Loopback && slices.ContainsFunc(i.Prefixes, func(p netip.Prefix) bool { return p.Addr() == netip.IPv6Loopback() })
	})
}

func TestLimitsFromParameters(t *testing.T) {
	w, _ := newWorld(t, 2, map[string]string{
		"btl_tcp_eager_limit": "1000", "btl_tcp_rndv_eager_limit": "2000", "btl_tcp_max_send_size": "3000",
		"btl_tcp_latency": "5", "btl_tcp_bandwidth": "6", "btl_tcp_exclusivity": "7",
	}, nil)
	want := btl.Limits{Eager: 1000, RndvEager: 2000, MaxSend: 3000, Latency: 5, Bandwidth: 6, Exclusivity: 7}
	if got := w.Ranks[0].Module.Limits(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestUnavailable: where the component cannot work it says why, and lets itself be left out.
func TestUnavailable(t *testing.T) {
	for _, c := range []struct {
		ranks  int
		params map[string]string
		want   string
	}{
		{1, nil, "one rank"},
		{2, map[string]string{"btl_tcp_if_include": "nosuch0"}, "nosuch0"},
	} {
		reg, err := mca.NewRegistry()
		if err != nil {
			t.Fatal(err)
		}
		var in mca.Input
		for k, v := range c.params {
			in.Settings = append(in.Settings, mca.Setting{Name: k, Value: v, Layer: mca.LayerAPI})
		}
		params, err := mca.Load(reg, in)
		if err != nil {
			t.Fatal(err)
		}
		e := progress.New(progress.Config{Cores: 1, LocalRanks: 1})
		_, err = component{}.Open(&btl.Env{Params: params, Engine: e, Job: rte.NewHub(c.ranks).Job(0), Upcalls: &btltest.Rank{}})
		if !errors.Is(err, btl.ErrUnavailable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Open: %v", err)
		}
	}
}

func TestPortsTaken(t *testing.T) {
	reg, err := mca.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	params, err := mca.Load(reg, mca.Input{Settings: []mca.Setting{
		{Name: "btl_tcp_port_min_v4", Value: "21100", Layer: mca.LayerAPI}, {Name: "btl_tcp_port_range_v4", Value: "1", Layer: mca.LayerAPI},
	}})
	if err != nil {
		t.Fatal(err)
	}
	hub := rte.NewHub(2)
	var errs []error
	for i := range 2 {
		e := progress.New(progress.Config{Cores: 1, LocalRanks: 1})
		m, err := component{}.Open(&btl.Env{Params: params, Engine: e, Job: hub.Job(i), Upcalls: &btltest.Rank{}})
		errs = append(errs, err)
		t.Cleanup(func() {
			if err == nil {
				e.Lock()
				m[0].Close()
				e.Unlock()
			}
			e.Close()
		})
	}
	if errs[0] != nil {
		t.Skipf("port 21100 is not free: %v", errs[0])
	}
	if errs[1] == nil || !strings.Contains(errs[1].Error(), "ports 21100 to 21100") {
		t.Errorf("Open: %v", errs[1])
	}
}
