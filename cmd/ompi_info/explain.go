package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/pml"
)

// --explain: what would happen to a message, without a job. BTLs describe themselves, the BML sorts them, the PML decides, each by
// the code that it uses in a job.

var kinds = []core.Locality{core.LocalSelf, core.LocalProcess, core.LocalHost, core.LocalRemote}

// explanation is what --explain asks for.
type explanation struct {
	target        *target // nil: nothing
	size          int64
	peer          core.Locality
	sized, peered bool
}

// complete reports options that lack their companions.
func (e *explanation) complete() error {
	switch {
	case e.target == nil && (e.sized || e.peered):
		return errors.New("--size and --peer belong to --explain")
	case e.target != nil && (!e.sized || !e.peered):
		return errors.New("--explain needs --size and --peer")
	}
	return nil
}

// check reports a framework or component of which nothing can be explained.
func (e *explanation) check(reg *mca.Registry) error {
	if e.target == nil {
		return nil
	}
	if e.target.framework != "pml" {
		return fmt.Errorf("--explain %s: only pml can be explained", e.target.framework)
	}
	if slices.Contains([]string{everything, mca.BaseName}, e.target.component) {
		return fmt.Errorf("--explain pml %s: want one component", e.target.component)
	}
	if err := e.target.check(reg); err != nil {
		return err
	}
	c, _ := reg.Component("pml", e.target.component)
	if _, ok := c.(pml.Explainer); !ok {
		return fmt.Errorf("pml %s cannot explain what it would do (pml ob1 can; the protocols of pml cm are in docs/portals4-mtl.md)", e.target.component)
	}
	return nil
}

// way is a BTL as the explanation sees it.
type way struct {
	name string
	d    *btl.Description
	path *bml.Path
	why  string // it is not used
}

// show writes the explanation.
func (e *explanation) show(w io.Writer, reg *mca.Registry, params *mca.Params, parsable bool) error {
	ways, ep := e.ways(reg, params)
	if len(ep.Bulk) == 0 {
		var reasons []string
		for _, y := range ways {
			reasons = append(reasons, y.name+": "+y.why)
		}
		return fmt.Errorf("no BTL reaches a peer of the kind %s: %s", e.peer, strings.Join(reasons, "; "))
	}
	c, _ := reg.Component("pml", e.target.component)
	var first *way
	for i := range ways {
		if ways[i].path == ep.Eager[0] {
			first = &ways[i]
		}
	}
	var out notation = &prose{w}
	if parsable {
		out = &lines{w}
	}
	out.begin(e)
	for i := range ways {
		out.way(&ways[i])
	}
	out.list("eager", ep.Eager, ways)
	out.list("bulk", ep.Bulk, ways)
	for _, contiguous := range []bool{true, false} {
		x, err := c.(pml.Explainer).Explain(params, e.size, contiguous, first.d)
		if err != nil {
			return err
		}
		out.outcome(e, contiguous, first, x)
	}
	return nil
}

// ways asks all BTLs, and has the BML sort those that can be used.
func (e *explanation) ways(reg *mca.Registry, params *mca.Params) ([]way, *bml.Endpoint) {
	var ways []way
	var paths []*bml.Path
	allowed := params.Selection("btl")
	for _, c := range reg.Components("btl") {
		y := way{name: c.Name()}
		d, ok := c.(btl.Describer)
		switch {
		case !allowed.Allows(c.Name()):
			y.why = "the parameter btl excludes it"
		case !ok:
			y.why = "it does not tell without a job"
		default:
			var err error
			if y.d, err = d.Describe(params, e.peer); err != nil {
				y.why = err.Error()
				break
			}
			y.path = &bml.Path{Limits: y.d.Limits}
			paths = append(paths, y.path)
		}
		ways = append(ways, y)
	}
	ep, unused := &bml.Endpoint{}, "the parameter bml allows no BML that would use it"
	for _, c := range reg.Components("bml") {
		if a, ok := c.(bml.Arranger); ok && len(paths) > 0 && params.Selection("bml").Allows(c.Name()) {
			a.Arrange(ep, paths)
			unused = "a more exclusive BTL reaches the peer"
			break
		}
	}
	for i := range ways {
		if p := ways[i].path; p != nil && !slices.Contains(ep.Bulk, p) {
			ways[i].why = unused
		}
	}
	return ways, ep
}

// names are the BTLs of paths; form takes a name and a weight.
func names(paths []*bml.Path, ways []way, form string) string {
	var out []string
	for _, p := range paths {
		i := slices.IndexFunc(ways, func(y way) bool { return y.path == p })
		out = append(out, fmt.Sprintf(form, ways[i].name, p.Weight))
	}
	return strings.Join(out, ",")
}

// fields are a way's limits and abilities.
func (y *way) fields() [][2]string {
	l := &y.d.Limits
	num := func(n int64) string { return fmt.Sprint(n) }
	yes := func(b bool) string { return map[bool]string{true: "yes", false: "no"}[b] }
	f := [][2]string{
		{"eager", num(l.Eager)}, {"rndv_eager", num(l.RndvEager)}, {"max_send", num(l.MaxSend)}, {"max_inline", num(int64(y.d.MaxInline))},
		{"get", yes(y.d.Get)}, {"put", yes(y.d.Put)}, {"min_get", num(l.MinGet)}, {"min_put", num(l.MinPut)}, {"min_shared", num(l.MinShared)},
		{"min_pipeline", num(l.MinPipeline)}, {"pipeline_send", num(l.PipeSend)}, {"pipeline_frag", num(l.PipeFrag)},
	}
	return append(f, [2]string{"latency", num(int64(l.Latency))}, [2]string{"bandwidth", num(int64(l.Bandwidth))}, [2]string{"exclusivity", num(int64(l.Exclusivity))})
}

// notation is one form of the explanation.
type notation interface {
	begin(e *explanation)
	way(y *way)
	list(name string, paths []*bml.Path, ways []way)
	outcome(e *explanation, contiguous bool, first *way, x *pml.Explanation)
}

// prose is for people.
type prose struct{ w io.Writer }

var kindTexts = map[core.Locality]string{
	core.LocalSelf: "this rank itself", core.LocalProcess: "another goroutine rank of this process", core.LocalHost: "another process of this host", core.LocalRemote: "a process of another host",
}

func (p *prose) begin(e *explanation) {
	fmt.Fprintf(p.w, "pml %s: a message of %d bytes to %s (%s)\n\nBTLs:\n", e.target.component, e.size, kindTexts[e.peer], e.peer)
}

func (p *prose) list(name string, paths []*bml.Path, ways []way) {
	use := map[string]string{"eager": "first fragments and control", "bulk": "further fragments, with weights"}[name]
	form := map[string]string{"eager": " %[1]s", "bulk": " %s (%.2f)"}[name]
	fmt.Fprintf(p.w, "  %-6s list:%s: %s\n", name, names(paths, ways, form), use)
}

func (p *prose) way(y *way) {
	if y.why != "" {
		fmt.Fprintf(p.w, "  %-10s not used: %s\n", y.name, oneLine(y.why))
		return
	}
	var text []string
	name := y.name
	for _, f := range y.fields() {
		text = append(text, f[0]+" "+f[1])
	}
	for i := 0; i < len(text); i += 6 {
		fmt.Fprintf(p.w, "  %-10s %s\n", name, strings.Join(text[i:min(i+6, len(text))], ", "))
		name = ""
	}
	for _, n := range y.d.Notes {
		fmt.Fprintf(p.w, "  %-10s note: %s\n", "", n)
	}
}

func (p *prose) outcome(_ *explanation, contiguous bool, first *way, x *pml.Explanation) {
	kind := "A contiguous buffer"
	if !contiguous {
		kind = "A buffer with gaps"
	}
	fmt.Fprintf(p.w, "\n%s goes by %s over %s:\n", kind, x.Protocol, first.name)
	for _, s := range x.Steps {
		verdict := "no"
		if s.Chosen {
			verdict = "yes"
		}
		fmt.Fprintf(p.w, "  %-10s %-4s %s\n", s.Protocol, verdict, s.Reason)
	}
	fmt.Fprintf(p.w, "  %s.\n", x.Summary)
}

// lines is for programs: key:value.
type lines struct{ w io.Writer }

func (p *lines) fact(value string, key ...string) {
	fmt.Fprintf(p.w, "explain:%s:%s\n", strings.Join(key, ":"), quoted(value))
}

func (p *lines) begin(e *explanation) {
	p.fact(e.target.component, "pml")
	p.fact(fmt.Sprint(e.size), "size")
	p.fact(e.peer.String(), "peer")
}

func (p *lines) list(name string, paths []*bml.Path, ways []way) {
	p.fact(names(paths, ways, "%[1]s"), "list", name)
}

func (p *lines) way(y *way) {
	if y.why != "" {
		p.fact("no", "btl", y.name, "used")
		p.fact(y.why, "btl", y.name, "reason")
		return
	}
	p.fact("yes", "btl", y.name, "used")
	p.fact(fmt.Sprintf("%.4f", y.path.Weight), "btl", y.name, "weight")
	for _, f := range y.fields() {
		p.fact(f[1], "btl", y.name, f[0])
	}
	for _, n := range y.d.Notes {
		p.fact(n, "btl", y.name, "note")
	}
}

func (p *lines) outcome(_ *explanation, contiguous bool, first *way, x *pml.Explanation) {
	kind := "contiguous"
	if !contiguous {
		kind = "noncontiguous"
	}
	p.fact(x.Protocol, kind, "protocol")
	p.fact(first.name, kind, "btl")
	p.fact(x.Summary, kind, "summary")
	for i, s := range x.Steps {
		verdict := "no"
		if s.Chosen {
			verdict = "yes"
		}
		p.fact(verdict, kind, "step", fmt.Sprint(i+1), s.Protocol, "chosen")
		p.fact(s.Reason, kind, "step", fmt.Sprint(i+1), s.Protocol, "reason")
	}
}
