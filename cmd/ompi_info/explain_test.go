package main

import (
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/mca"
)

// explain runs a command line with the built-in components.
func explain(in mca.Input, line string) (out, errs string, status int) {
	var o, e strings.Builder
	status = run(strings.Fields("--explain "+line), mca.NewRegistry, in, &o, &e)
	return o.String(), e.String(), status
}

// TestExplain: what is explained is what the parameters in force make of a message.
func TestExplain(t *testing.T) {
	for _, c := range []struct {
		line    string
		environ []string
		want    []string
	}{
		{"pml ob1 --size 8 --peer host", nil, []string{"explain:list:eager:sm", "explain:contiguous:protocol:inline", "explain:noncontiguous:protocol:eager", "explain:btl:tcp:used:no"}},
		{"pml ob1 --size 1m --peer host", nil, []string{"explain:size:1048576", "explain:contiguous:protocol:coop", "explain:noncontiguous:protocol:rndv"}},
		{"pml ob1 --size 1m --peer process", nil, []string{"explain:contiguous:protocol:coop", "explain:btl:sm:used:yes"}},
		{"pml ob1 --size 1m --peer self", nil, []string{"explain:contiguous:protocol:rget", "explain:list:bulk:self", "explain:btl:sm:used:no"}},
		{"pml ob1 --size 4k --peer host --mca btl_sm_eager_limit 8k", nil, []string{"explain:contiguous:protocol:eager", "explain:btl:sm:eager:8192"}},
		{"pml ob1 --size 1m --peer host --mca pml_ob1_protocol put", nil, []string{"explain:contiguous:protocol:put", "explain:contiguous:step:1:put:chosen:yes"}},
		{"pml ob1 --size 1m --peer host", []string{"OMPI_MCA_pml_ob1_protocol=pipeline"}, []string{"explain:contiguous:protocol:pipeline", "explain:noncontiguous:step:3:rndv:chosen:yes"}},
		{"pml ob1 --size 1m --peer host --mca btl_sm_min_rdma_pipeline_size 64k", nil, []string{"explain:contiguous:protocol:pipeline"}},
		{"pml ob1 --size 1m --peer host --mca btl_sm_single_copy_mechanism none", nil, []string{"explain:contiguous:protocol:rndv"}},
		{"pml ob1 --size 0 --peer host --mca pml_ob1_protocol put", nil, []string{"explain:contiguous:protocol:eager"}},
		{"pml ob1 --size 8 --peer host --mca pml_ob1_checksum 1", nil, []string{"explain:contiguous:protocol:eager"}},
		{"pml ob1 --size 1m --peer host --mca btl ^sm --mca btl_tcp_bandwidth 77", nil, []string{"explain:list:bulk:tcp", "explain:btl:tcp:bandwidth:77", "explain:btl:sm:reason:the parameter btl excludes it", "explain:contiguous:protocol:rndv"}},
	} {
		out, errs, status := explain(mca.Input{Environ: c.environ}, c.line+" --parsable")
		if status != 0 || errs != "" {
			t.Errorf("%s: status %d, %s", c.line, status, errs)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(out, w+"\n") {
				t.Errorf("%s: %q is not in\n%s", c.line, w, out)
			}
		}
	}
	out, _, status := explain(mca.Input{}, "pml ob1 --size 1m --peer host")
	for _, w := range []string{
		"a message of 1048576 bytes to another process of this host (host)", "bulk   list: sm (1.00)", "tcp        not used: a more exclusive BTL",
		"A contiguous buffer goes by coop over sm:", "  coop       yes  possible", "A buffer with gaps goes by rndv over sm:",
	} {
		if status != 0 || !strings.Contains(out, w) {
			t.Errorf("status %d, %q is not in\n%s", status, w, out)
		}
	}
}

// TestExplainErrors: what cannot be explained is a clear error.
func TestExplainErrors(t *testing.T) {
	for _, c := range []struct {
		line   string
		status int
		want   string
	}{
		{"pml ob1 --size 1x --peer host", 2, "--size 1x: it is not an integer"},
		{"pml ob1 --size -1 --peer host", 2, "--size -1: it is negative"},
		{"pml ob1 --size 1 --peer moon", 2, "--peer moon: want self, process, host or remote"},
		{"pml ob1 --size 1", 2, "--explain needs --size and --peer"},
		{"pml", 2, "--explain needs pml and a component"},
		{"pml ob2 --size 1 --peer host", 1, `no component "ob2"; did you mean ob1?`},
		{"pml all --size 1 --peer host", 1, "want one component"},
		{"btl sm --size 1 --peer host", 1, "only pml can be explained"},
		{"pml ob1 --size 1 --peer host --mca pml_ob1_protocol psychic", 1, "pml_ob1_protocol"},
		{"pml ob1 --size 1 --peer remote --mca btl self,sm", 1, "self: it reaches this rank only; sm: it reaches other ranks of this host only"},
		{"pml ob1 --size 1 --peer host --mca bml ^r2", 1, "sm: the parameter bml allows no BML"},
	} {
		out, errs, status := explain(mca.Input{}, c.line)
		if status != c.status || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%s: status %d, %q, %q", c.line, status, errs, out)
		}
	}
	if _, errs, status := command(t, mca.Input{}, "--size 1"); status != 2 || !strings.Contains(errs, "belong to --explain") {
		t.Errorf("status %d, %q", status, errs)
	}
}
