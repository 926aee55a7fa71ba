package r2

import (
	"errors"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
)

// fake is a module that reaches all processes, or none.
type fake struct {
	btl.Module
	name   string
	limits btl.Limits
	cannot error
	asked  int
}

func (m *fake) Name() string       { return m.name }
func (m *fake) Limits() btl.Limits { return m.limits }

func (m *fake) AddProcs(procs []*core.Proc) ([]btl.Endpoint, []error) {
	m.asked++
	if m.cannot != nil {
		return make([]btl.Endpoint, len(procs)), []error{m.cannot}
	}
	return []btl.Endpoint{&fakeEndpoint{}}, make([]error, len(procs))
}

type fakeEndpoint struct{ btl.Endpoint }

func open(t *testing.T, modules ...btl.Module) (bml.Manager, *core.Proc) {
	t.Helper()
	procs := []*core.Proc{{Rank: 0}, {Rank: 1, Locality: core.LocalHost}}
	reg, err := mca.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	params, err := mca.Load(reg, mca.Input{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := component{}.Open(&btl.Env{Params: params, Procs: procs}, modules)
	if err != nil {
		t.Fatal(err)
	}
	return m, procs[1]
}

func names(paths []*bml.Path) string {
	var l []string
	for _, p := range paths {
		l = append(l, p.Module.Name())
	}
	return strings.Join(l, " ")
}

func limits(latency, bandwidth, exclusivity int) btl.Limits {
	return btl.Limits{Latency: latency, Bandwidth: bandwidth, Exclusivity: exclusivity}
}

// TestEndpoint: the most exclusive stay, sorted by use; a process is asked about once.
func TestEndpoint(t *testing.T) {
	slow, fast := &fake{name: "slow", limits: limits(9, 300, 5)}, &fake{name: "fast", limits: limits(1, 100, 5)}
	low, none := &fake{name: "low", limits: limits(0, 999, 1)}, &fake{name: "none", limits: limits(0, 999, 9), cannot: errors.New("too far")}
	m, p := open(t, low, fast, none, slow)
	ep, err := m.Endpoint(p)
	if err != nil || names(ep.Eager) != "fast" || names(ep.Bulk) != "slow fast" || ep.First().Module != fast || ep.Reduced {
		t.Fatalf("eager %s, bulk %s, %v", names(ep.Eager), names(ep.Bulk), err)
	}
	if ep.Bulk[0].Weight != 0.75 || ep.Bulk[1].Weight != 0.25 {
		t.Errorf("weights %v, %v", ep.Bulk[0].Weight, ep.Bulk[1].Weight)
	}
	next := func() *bml.Path { return ep.Bulk[ep.NextBulk(1, 0)] }
	if got := names([]*bml.Path{next(), next(), next()}); got != "fast slow fast" {
		t.Errorf("in turn: %s", got)
	}
	if again, err := m.Endpoint(p); again != ep || err != nil || slow.asked != 1 {
		t.Errorf("asked %d times, %v", slow.asked, err)
	}
	m, p = open(t, none)
	if _, err := m.Endpoint(p); err == nil || !strings.Contains(err.Error(), "rank 1 (host) cannot be reached: none: too far") {
		t.Errorf("no way: %v", err)
	}
}

// TestDrop: what is left when modules fail, one after the other.
func TestDrop(t *testing.T) {
	a, b, c := &fake{name: "a", limits: limits(1, 100, 5)}, &fake{name: "b", limits: limits(1, 100, 5)}, &fake{name: "c", limits: limits(2, 200, 5)}
	m, p := open(t, a, b, c)
	ep, err := m.Endpoint(p)
	if err != nil || names(ep.Eager) != "a b" || names(ep.Bulk) != "c a b" {
		t.Fatalf("eager %s, bulk %s, %v", names(ep.Eager), names(ep.Bulk), err)
	}
	for range 10 { // wherever the turn stands
		ep.NextBulk(1, 0)
		if !m.Drop(a, p) || !ep.Reduced || names(ep.Eager) != "b" || names(ep.Bulk) != "c b" {
			t.Fatalf("without a: eager %s, bulk %s", names(ep.Eager), names(ep.Bulk))
		}
	}
	if !m.Drop(b, p) || names(ep.Eager) != "c" || names(ep.Bulk) != "c" || ep.Bulk[0].Weight != 1 || ep.NextBulk(1, 0) != 0 {
		t.Errorf("without b: eager %s, bulk %s", names(ep.Eager), names(ep.Bulk))
	}
	if m.Drop(c, p) {
		t.Error("without c something is left")
	}

	// Before the process was used.
	m, p = open(t, a, b)
	if !m.Drop(a, p) {
		t.Error("b is not left")
	}
	if ep, err := m.Endpoint(p); err != nil || names(ep.Bulk) != "b" || !ep.Reduced {
		t.Errorf("without a: %v", err)
	}
	m, p = open(t, a)
	if m.Drop(a, p) {
		t.Error("something is left")
	}
	if _, err := m.Endpoint(p); err == nil || !strings.Contains(err.Error(), "a: its connection has failed") {
		t.Errorf("no way: %v", err)
	}
}

// TestInjectUnknown: faults for a BTL that is not there are no test of anything.
func TestInjectUnknown(t *testing.T) {
	for text, want := range map[string]string{"tpc:drop=1%": `there is no btl "tpc"`, "a:dup=1%;b:dup=1%": `there is no btl "b"`} {
		reg, err := mca.NewRegistry()
		if err != nil {
			t.Fatal(err)
		}
		params, err := mca.Load(reg, mca.Input{Settings: []mca.Setting{mca.CommandLine("bml_r2_inject", text)}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = component{}.Open(&btl.Env{Params: params, Procs: []*core.Proc{{}}}, []btl.Module{&fake{name: "a"}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
