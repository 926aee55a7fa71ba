// Package r2 is the BML: for each process it asks all BTLs, keeps the most exclusive that reach it, and sorts them into those
// of the lowest latency (first fragments), all (fragments, by bandwidth) and those that reach into memory. A process is asked about when it is first used.
package r2

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/bml/r2/inject"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
)

func init() { mca.Register(component{}) }

type component struct{}

func (component) Framework() string { return "bml" }
func (component) Name() string      { return "r2" }
func (component) Options() any      { return new(options) }

type options struct {
	MeasuredWeights bool   `mca:"measured_weights" default:"false" level:"6" help:"share fragments out among several BTLs by the bandwidth that is measured, not by what they say of themselves (btl_NAME_bandwidth)"`
	Inject          string `mca:"inject" default:"" level:"9" help:"faults to put into the messages of BTLs, to see what becomes of a program: for example tcp:delay=5%,dup=1%;sm:fail_after=100. There are drop, dup, delay, reorder and corrupt, with a chance, and fail_after, with a number of messages to a peer after which the path to it breaks"`
	InjectSeed      uint64 `mca:"inject_seed" default:"1" level:"9" help:"where the chances of bml_r2_inject begin: the same messages meet the same faults"`
}

// Validate implements mca.Validator.
func (o *options) Validate() error {
	_, err := inject.Parse(o.Inject)
	return err
}

func (component) Open(env *btl.Env, modules []btl.Module) (bml.Manager, error) {
	m := &manager{
		modules: modules, refused: env.Refused, eps: make([]*bml.Endpoint, len(env.Procs)), counts: make(map[key]*bml.Counts), failed: make(map[way]struct{}),
	}
	if err := env.Params.Decode("bml", "r2", &m.opts); err != nil {
		return nil, err
	}
	plans, err := inject.Parse(m.opts.Inject)
	if err != nil {
		return nil, err
	}
	if err := checkNames(plans, env, modules); err != nil {
		return nil, err
	}
	if len(plans) > 0 {
		m.inject = inject.New(env, plans, m.opts.InjectSeed)
	}
	for _, name := range slices.Sorted(maps.Keys(plans)) {
		if !slices.ContainsFunc(modules, func(mod btl.Module) bool { return mod.Name() == name }) {
			env.Upcalls.Say("bml_r2_inject_"+name, fmt.Sprintf("bml r2: bml_r2_inject puts faults into the messages of btl %s, which is not in use", name))
		}
	}
	return m, nil
}

// checkNames refuses faults for BTLs that nobody can use here: a test that puts no faults in would prove nothing.
func checkNames(plans map[string]inject.Plan, env *btl.Env, modules []btl.Module) error {
	var names []string
	for _, m := range modules {
		names = append(names, m.Name())
	}
	for _, c := range env.Params.Components("btl") { // also those that did not open, of which Refused tells
		names = append(names, c.Name())
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range slices.Sorted(maps.Keys(plans)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("parameter bml_r2_inject: there is no btl %q, or the parameter btl excludes it; there are %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

type key struct {
	module btl.Module
	class  core.Locality
}

// way is a module's connection to a process.
type way struct {
	module btl.Module
	rank   int
}

type manager struct {
	opts    options
	modules []btl.Module
	refused []string        // why other BTLs are not among them
	eps     []*bml.Endpoint // by job rank; nil until first used
	counts  map[key]*bml.Counts
	failed  map[way]struct{}
	inject  *inject.Injector // nil: no faults
}

// Quiet implements bml.Quieter.
func (m *manager) Quiet() bool { return m.inject == nil || m.inject.Quiet() }

func (m *manager) Modules() []btl.Module { return m.modules }

// Endpoint implements bml.Manager.
func (m *manager) Endpoint(p *core.Proc) (*bml.Endpoint, error) {
	if ep := m.eps[p.Rank]; ep != nil {
		return ep, nil
	}
	var paths []*bml.Path
	var reasons []string
	reduced, twice := false, false
	for _, mod := range m.modules {
		if _, failed := m.failed[way{mod, p.Rank}]; failed {
			reduced = true
			reasons = append(reasons, mod.Name()+": its connection has failed")
			continue
		}
		eps, errs := mod.AddProcs([]*core.Proc{p})
		if eps[0] == nil {
			reasons = append(reasons, mod.Name()+": "+strings.TrimPrefix(errs[0].Error(), "btl "+mod.Name()+": "))
			continue
		}
		paths = append(paths, m.path(mod, eps[0], p, &twice))
	}
	if len(paths) == 0 {
		return nil, &core.Error{Class: core.ErrOther, Peer: core.Undefined, Index: -1,
			Err: fmt.Errorf("rank %d (%s) cannot be reached: %s; check the parameter btl", p.Rank, p.Locality, reachText(slices.Concat(reasons, m.refused)))}
	}
	ep := &bml.Endpoint{Proc: p, Reduced: reduced, Twice: twice}
	arrange(ep, paths)
	if len(ep.Bulk) > 1 || reduced {
		for _, path := range ep.Bulk {
			if v, ok := path.Send.(btl.Voucher); ok {
				v.Vouch()
			}
		}
	}
	m.eps[p.Rank] = ep
	return ep, nil
}

func reachText(reasons []string) string {
	if len(reasons) == 0 {
		return "no BTL is open"
	}
	return strings.Join(reasons, "; ")
}

// path resolves a BTL endpoint's abilities once. twice is set when messages may come twice.
func (m *manager) path(mod btl.Module, ep btl.Endpoint, p *core.Proc, twice *bool) *bml.Path {
	k := key{mod, p.Locality}
	c := m.counts[k]
	if c == nil {
		c = &bml.Counts{BTL: mod.Name(), Peer: p.Locality.String()}
		m.counts[k] = c
	}
	path := &bml.Path{Module: mod, Limits: mod.Limits(), Send: ep, Counts: c}
	if s, ok := ep.(btl.InlineSender); ok {
		path.Inline, path.MaxInline = s, s.MaxInline()
	}
	path.Get, _ = ep.(btl.Getter)
	path.Put, _ = ep.(btl.Putter)
	path.Reg, _ = mod.(btl.Registrar)
	path.Shares, _ = mod.(btl.Sharer)
	if m.inject != nil && m.inject.Decorate(path, p) {
		*twice = true
	}
	if m.opts.MeasuredWeights {
		path.Meter = bml.NewMeter(time.Now)
	}
	return path
}

// arrange sorts an endpoint's paths by use.
func arrange(ep *bml.Endpoint, paths []*bml.Path) {
	best := slices.MaxFunc(paths, func(a, b *bml.Path) int { return a.Limits.Exclusivity - b.Limits.Exclusivity }).Limits.Exclusivity
	paths = slices.DeleteFunc(paths, func(p *bml.Path) bool { return p.Limits.Exclusivity < best })
	least := slices.MinFunc(paths, func(a, b *bml.Path) int { return a.Limits.Latency - b.Limits.Latency }).Limits.Latency
	ep.Eager, ep.Bulk, ep.RDMA = nil, nil, nil
	for _, p := range paths {
		if p.Limits.Latency == least {
			ep.Eager = append(ep.Eager, p)
		}
		ep.Bulk = append(ep.Bulk, p)
	}
	slices.SortStableFunc(ep.Bulk, func(a, b *bml.Path) int { return b.Limits.Bandwidth - a.Limits.Bandwidth })
	for _, p := range ep.Bulk {
		if p.Get != nil || p.Put != nil {
			ep.RDMA = append(ep.RDMA, p)
		}
	}
	ep.Weigh(func(p *bml.Path) int { return p.Limits.Bandwidth })
	ep.Measured()
}

// Drop implements bml.Manager.
func (m *manager) Drop(mod btl.Module, p *core.Proc) bool {
	m.failed[way{mod, p.Rank}] = struct{}{}
	ep := m.eps[p.Rank]
	if ep == nil {
		// The process has used it, this one has not. Whether there is another way is looked for now.
		_, err := m.Endpoint(p)
		return err == nil
	}
	rest := slices.DeleteFunc(slices.Clone(ep.Bulk), func(q *bml.Path) bool { return q.Module == mod })
	if len(rest) == 0 {
		return false
	}
	ep.Reduced = ep.Reduced || len(rest) < len(ep.Bulk)
	arrange(ep, rest)
	return true
}
