package tuned

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/coll/colltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/metrics"
)

// The parameters offer the algorithms that there are, of every operation that has a choice.
func TestParametersNameTheAlgorithms(t *testing.T) {
	typ := reflect.TypeFor[Options]()
	offered := map[string]string{}
	for f := range typ.Fields() {
		offered[f.Tag.Get("mca")] = f.Tag.Get("enum")
	}
	for k := range alg.Kinds {
		names := "auto"
		for _, g := range alg.List(k) {
			names += "|" + g.Name
		}
		got, ok := offered[k.String()+"_algorithm"]
		if !ok && len(alg.List(k)) == 1 {
			continue
		}
		if got != names {
			t.Errorf("parameter coll_tuned_%s_algorithm offers %q, want %q", k, got, names)
		}
	}
	var o Options
	v := reflect.ValueOf(&o).Elem()
	for i := range v.NumField() {
		if f := typ.Field(i); strings.HasSuffix(f.Name, "Algorithm") {
			v.Field(i).SetString(f.Name)
		}
	}
	for k, name := range o.algorithms() {
		if want := strings.ReplaceAll(alg.Kind(k).String(), "_", "") + "algorithm"; name != "" && strings.ToLower(name) != want {
			t.Errorf("the algorithm of %s is taken from field %s", alg.Kind(k), name)
		}
	}
}

// open makes a table for job rank 0 of n ranks.
func open(t *testing.T, n int, say func(key, message string), settings ...string) (*coll.Table, *core.Comm, error) {
	t.Helper()
	reg, err := mca.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	var in mca.Input
	for i := 0; i < len(settings); i += 2 {
		in.Settings = append(in.Settings, mca.CommandLine(settings[i], settings[i+1]))
	}
	p, err := mca.Load(reg, in)
	if err != nil {
		return nil, nil, err
	}
	f := colltest.NewFabric(n, 4096)
	fs, err := coll.Open(reg, p, &coll.Env{Params: p, PML: f.Rank(0), Say: say})
	if err != nil {
		return nil, nil, err
	}
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i
	}
	c := f.Comm(3, ranks, 0)
	tbl, err := coll.Select(fs, c)
	return tbl, c, err
}

func bytes(n int) core.Buffer {
	b := make([]byte, n)
	return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(b)), int64(n), datatype.Byte)
}

var minus = core.NewOp(false, func(in, inout []uint8) {
	for i := range in {
		inout[i] = in[i] - inout[i]
	}
})

func TestChoice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules")
	text := "version 1\ninclude default\nbcast\nranks 1\nbytes 0 linear\nranks 4\nbytes 0 chain\nbytes 100 pipeline segment 7\nbytes 1k scatter_allgather|binomial\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	host := filepath.Join(t.TempDir(), "host")
	if err := os.WriteFile(host, []byte("version 1\ninclude default\nbcast\nranks 1\nbytes 0 pipeline\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		n        int
		settings []string
		args     alg.Args
		want     string
		segment  int64
	}{
		{3, []string{"coll_tuned_rules_file", file}, alg.Args{Kind: alg.Bcast, Send: bytes(5000)}, "linear", 0},
		{5, []string{"coll_tuned_rules_file", file}, alg.Args{Kind: alg.Bcast, Send: bytes(99)}, "chain", 0},
		{5, []string{"coll_tuned_rules_file", file}, alg.Args{Kind: alg.Bcast, Send: bytes(100)}, "pipeline", 7},
		{5, []string{"coll_tuned_rules_file", file}, alg.Args{Kind: alg.Bcast, Send: bytes(5000)}, "binomial", 0},
		{8, []string{"coll_tuned_rules_file", file}, alg.Args{Kind: alg.Bcast, Send: bytes(5000)}, "scatter_allgather", 0},
		{5, []string{"coll_tuned_rules_file", file, "coll_tuned_bcast_segment", "9"}, alg.Args{Kind: alg.Bcast, Send: bytes(100)}, "pipeline", 9},
		{5, []string{"coll_tuned_bcast_algorithm", "binary_tree", "coll_tuned_bcast_segment", "1k"}, alg.Args{Kind: alg.Bcast, Send: bytes(100)}, "binary_tree", 1024},
		{5, []string{"coll_tuned_rules_file", file, "coll_tuned_bcast_algorithm", "chain"}, alg.Args{Kind: alg.Bcast, Send: bytes(100)}, "chain", 0},
		{5, nil, alg.Args{Kind: alg.Barrier}, "dissemination", 0},
		{4, nil, alg.Args{Kind: alg.Bcast, Send: bytes(20000)}, "linear", 0}, // within a host
		{4, []string{"coll_tuned_host_rules_file", file}, alg.Args{Kind: alg.Bcast, Send: bytes(99)}, "chain", 0},
		{4, []string{"coll_tuned_rules_file", file, "coll_tuned_host_rules_file", host}, alg.Args{Kind: alg.Bcast, Send: bytes(99)}, "pipeline", 0},
		{4, nil, alg.Args{Kind: alg.Allreduce, Send: bytes(80000), Recv: bytes(80000), Op: core.Sum}, "rabenseifner", 0},
		{4, nil, alg.Args{Kind: alg.Allreduce, Send: bytes(80000), Recv: bytes(80000), Op: minus}, "direct", 0},
		{4, []string{"coll_tuned_allreduce_algorithm", "ring"}, alg.Args{Kind: alg.Allreduce, Send: bytes(80000), Recv: bytes(80000), Op: minus}, "direct", 0},
		{4, nil, alg.Args{Kind: alg.Allgatherv, Send: bytes(9), Recv: bytes(36), RecvCounts: []int{9, 9, 9, 9}}, "bruck", 0},
		{4, nil, alg.Args{Kind: alg.Allgatherv, Send: bytes(9), Recv: bytes(80009), RecvCounts: []int{9, 80000, 0, 0}}, "neighbor_exchange", 0},
	} {
		tbl, _, err := open(t, tc.n, nil, tc.settings...)
		if err != nil {
			t.Fatal(err)
		}
		g := tbl.Plan.Plan(&tc.args)
		if g.Name != tc.want || tc.args.Segment != tc.segment {
			t.Errorf("%s on %d ranks with %q: %s, segment %d, want %s, %d", tc.args.Kind, tc.n, tc.settings, g.Name, tc.args.Segment, tc.want, tc.segment)
		}
	}
}

// An algorithm that is forced and cannot serve is counted each time, and told once.
func TestForcedButUnfit(t *testing.T) {
	var said []string
	say := func(key, message string) { said = append(said, key+": "+message) }
	tbl, _, err := open(t, 5, say, "coll_tuned_allgather_algorithm", "neighbor_exchange", "coll_tuned_allreduce_algorithm", "ring")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if g := tbl.Plan.Plan(&alg.Args{Kind: alg.Allgather, Send: bytes(9), Recv: bytes(45)}); g.Name != "bruck" {
			t.Errorf("allgather by %s", g.Name)
		}
		tbl.Plan.Plan(&alg.Args{Kind: alg.Allreduce, Send: bytes(9), Recv: bytes(9), Op: minus})
	}
	want := []string{
		"coll_tuned_allgather: coll tuned: neighbor_exchange (parameter coll_tuned_allgather_algorithm) cannot serve allgather with 5 ranks; using the decision table there, first bruck",
		"coll_tuned_allreduce: coll tuned: ring (parameter coll_tuned_allreduce_algorithm) cannot serve allreduce with an operator that does not commute; using the decision table there, first recursive_doubling",
	}
	if !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	counted := map[string]uint64{}
	tbl.Plan.(*module).f.Metrics(func(_ *metrics.Desc, n uint64, labels ...string) { counted[strings.Join(labels, " ")] = n })
	if counted["allgather neighbor_exchange"] != 3 || counted["allreduce ring"] != 3 {
		t.Errorf("counted %v", counted)
	}
}

func TestWrongSettings(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("version 1\ninclude default\nbcast\nranks 1\nbytes 0 fast\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range [][3]string{
		{"coll_tuned_bcast_algorithm", "fast", "binomial"},
		{"coll_tuned_rules_file", bad + ".not", "coll_tuned_rules_file: open "},
		{"coll_tuned_rules_file", bad, bad + ":5: bcast has no algorithm \"fast\"; it has binomial, linear"},
	} {
		if _, _, err := open(t, 2, nil, tc[0], tc[1]); err == nil || !strings.Contains(err.Error(), tc[2]) {
			t.Errorf("%s %s: %v, want %q", tc[0], tc[1], err, tc[2])
		}
	}
}

// What is built in comes out of its text form and back.
func TestBuiltIn(t *testing.T) {
	b, err := builtIn()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.across.String(), "pipeline segment 64k") || !strings.Contains(b.crowd.String(), "direct") {
		t.Errorf("the tables are\n%s\n%s", b.across, b.crowd)
	}
}
