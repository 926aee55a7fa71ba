package mca

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustLoad(t *testing.T, in Input) *Params {
	t.Helper()
	p, err := Load(fakeRegistry(t), in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDefaults(t *testing.T) {
	p := mustLoad(t, Input{})
	sm := smOptions{hidden: 7}
	if err := p.Decode("btl", "sm", &sm); err != nil {
		t.Fatal(err)
	}
	if want := (smOptions{limits{4096}, "auto", 2 * time.Millisecond, 64, 7}); sm != want {
		t.Errorf("sm: %+v, want %+v", sm, want)
	}
	var tcp tcpOptions
	if err := p.Decode("btl", "tcp", &tcp); err != nil {
		t.Fatal(err)
	}
	// A value Options presets wins over the tag of the embedded struct.
	if want := (tcpOptions{limits: limits{64 << 10}, Links: 1, Weight: 1.5}); !reflect.DeepEqual(tcp, want) {
		t.Errorf("tcp: %+v, want %+v", tcp, want)
	}
	for name, want := range map[string]string{
		"btl": "", "btl_base_verbose": "0", "mpi_yield_when_idle": "auto", "btl_sm_spin": "2ms", "btl_tcp_use_nagle": "false",
	} {
		got, src, ok := p.Lookup(name)
		if !ok || got != want || src.Layer != LayerDefault || src.Source() != "default" {
			t.Errorf("Lookup(%s) = %q, %+v, %v; want %q", name, got, src, ok, want)
		}
	}
	if _, _, ok := p.Lookup("btl_sm_nothing"); ok {
		t.Error("Lookup found what does not exist")
	}
	for _, component := range []string{"", "base"} {
		base := btlBase{Verbose: 3}
		if err := p.Decode("btl", component, &base); err != nil || base.Verbose != 0 {
			t.Errorf("Decode(btl, %q) = %+v, %v", component, base, err)
		}
	}
}

// TestPrecedence gives a parameter a value in ever more layers; the highest
// must win and say where it is from.
func TestPrecedence(t *testing.T) {
	system := writeFile(t, "system.conf", "btl_tcp_links = 2\n")
	user := writeFile(t, "user.conf", "\nbtl_tcp_links = 3\n")
	handoff := EncodeHandoff([]Setting{
		{"btl_tcp_links", "6", LayerCommandLine, "command line --mca btl_tcp_links"},
		{"btl_tcp_links", "5", LayerTune, "tune my.tune:9"},
	})
	in := Input{}
	for _, step := range []struct {
		add           func()
		value, source string
	}{
		{func() {}, "1", "default"},
		{func() { in.SystemFile = system }, "2", "file (" + system + ":1)"},
		{func() { in.UserFile = user }, "3", "file (" + user + ":2)"},
		{func() { in.Environ = []string{"PATH=/bin", "OMPI_MCA_btl_tcp_links=4"} }, "4", "environment OMPI_MCA_btl_tcp_links"},
		{func() {
			in.Environ = append(in.Environ, HandoffVar+"="+handoff[:strings.Index(handoff, ";c")]+handoff[strings.LastIndex(handoff, ";"):])
		},
			"5", "tune my.tune:9"},
		{func() { in.Environ = []string{HandoffVar + "=" + handoff, in.Environ[1]} }, "6", "command line --mca btl_tcp_links"},
		{func() { in.Settings = []Setting{CommandLine("btl_tcp_links", "0x7")} }, "7", "command line --mca btl_tcp_links"},
		{func() { in.Settings = append(in.Settings, CommandLine("btl_tcp_links", "1k")) }, "1024", "command line --mca btl_tcp_links"},
		{func() {
			in.Settings = slices.Insert(in.Settings, 0, Setting{"btl_tcp_links", "8", LayerAPI, "ompi.WithParam"})
		}, "8", "ompi.WithParam"},
	} {
		step.add()
		p := mustLoad(t, in)
		value, src, _ := p.Lookup("btl_tcp_links")
		if value != step.value || src.Source() != step.source {
			t.Errorf("got %s from %s, want %s from %s", value, src.Source(), step.value, step.source)
		}
		var o tcpOptions
		if err := p.Decode("btl", "tcp", &o); err != nil || fmt.Sprint(o.Links) != step.value {
			t.Errorf("decoded %d, %v, want %s", o.Links, err, step.value)
		}
	}
}

func TestPrecedenceModel(t *testing.T) {
	reg := fakeRegistry(t)
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"btl_tcp_links", "btl_sm_slots", "btl_base_verbose", "progress_gosched_every"}
		settings := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Setting {
			return Setting{
				Name:  rapid.SampledFrom(names).Draw(t, "name"),
				Value: fmt.Sprint(rapid.IntRange(1, 100).Draw(t, "value")),
				Layer: Layer(rapid.IntRange(int(LayerSystemFile), int(LayerAPI)).Draw(t, "layer")),
				Where: rapid.StringMatching(`[a-z]{3}`).Draw(t, "where"),
			}
		})).Draw(t, "settings")
		p, err := Load(reg, Input{Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			var want Setting
			for _, s := range settings {
				if s.Name == name && s.Layer >= want.Layer {
					want = s
				}
			}
			value, src, _ := p.Lookup(name)
			if want.Layer == LayerDefault {
				if src.Layer != LayerDefault {
					t.Fatalf("%s comes from %+v, nobody set it", name, src)
				}
			} else if src != want || value != want.Value {
				t.Fatalf("%s = %s from %+v, want %+v", name, value, src, want)
			}
		}
	})
}

func TestMissingFilesAreEmpty(t *testing.T) {
	dir := t.TempDir()
	mustLoad(t, Input{SystemFile: filepath.Join(dir, "a"), UserFile: filepath.Join(dir, "b")})
	_, err := Load(fakeRegistry(t), Input{UserFile: dir})
	wantError(t, err, "parameter file", dir)
}

func TestErrorsNameEverything(t *testing.T) {
	for _, test := range []struct {
		name, value string
		want        []string
	}{
		{"btl_sm_eager_limit", "12abc", []string{"parameter btl_sm_eager_limit", `"12abc"`, "(command line --mca btl_sm_eager_limit)", "expected an integer (bytes)", "at least 64"}},
		{"btl_sm_eager_limit", "", []string{"it is empty"}},
		{"btl_sm_single_copy", "cam", []string{"did you mean cma?", "one of auto, none, cma"}},
		{"btl_sm_eager_limt", "4k", []string{`component sm of framework btl has no parameter "eager_limt"; did you mean btl_sm_eager_limit`}},
		{"btl_sm_eager", "4k", []string{"did you mean btl_sm_eager_limit"}},
		{"btl_sm", "4k", []string{`component sm of framework btl has no parameter ""`}},
		{"btl_tpc_links", "2", []string{"framework btl has no component of that name (the components of btl are self, sm, tcp); did you mean btl_tcp_links?"}},
		{"btl_openib_flags", "2", []string{"framework btl has no component of that name"}},
		{"btl_base_verbos", "2", []string{`framework btl itself has no parameter "verbos"; did you mean btl_base_verbose?`}},
		{"pml_ob1_x", "2", []string{`component ob1 of framework pml has no parameter "x"`}},
		{"mpi_yield_when_idel", "yes", []string{`mpi has no parameter "yield_when_idel"; did you mean mpi_yield_when_idle?`}},
		{"blt", "self", []string{`there is no framework "blt"; did you mean btl`}},
		{"bttl_tcp_links", "2", []string{"did you mean btl_tcp_links?"}},
		{"BTL", "self", []string{`unknown parameter "BTL"`, "did you mean btl"}},
		{"orte_base_help_aggregate", "0", []string{`there is no framework "orte"`}},
		{"a/b", "0", []string{`"a/b"`}},
		{"", "0", []string{"the name is empty"}},
		{"btl", "sm,tpc", []string{"parameter btl", `"sm,tpc"`, `framework btl has no component "tpc"; did you mean tcp?`}},
		{"btl", "^tpc", []string{"did you mean tcp?"}},
		{"pml", "obi", []string{"did you mean ob1?"}},
	} {
		_, err := Load(fakeRegistry(t), Input{Settings: []Setting{CommandLine(test.name, test.value)}})
		wantError(t, err, append(test.want, "(command line --mca "+test.name+")")...)
		for _, layer := range []Layer{LayerTune, LayerAPI} {
			_, err := Load(fakeRegistry(t), Input{Settings: []Setting{{test.name, test.value, layer, "some where"}}})
			wantError(t, err, append(test.want[:1:1], "some where")...)
		}
	}
}

func TestAllErrorsTogether(t *testing.T) {
	user := writeFile(t, "user.conf", "btl = tpc\nnonsense\nbtl_tcp_links = many\n")
	_, err := Load(fakeRegistry(t), Input{
		UserFile: user,
		Environ:  []string{"OMPI_MCA_btl_sm_slots=-1", HandoffVar + "=1;c:btl_tcp_links:0:command+line"},
		// Even an overridden mistake is reported: it would come back later.
		Settings: []Setting{CommandLine("btl_tcp_links", "2"), {Name: "pml", Value: "ob1", Layer: LayerDefault}},
	})
	wantError(t, err, user+":1", user+":2", user+":3", "environment OMPI_MCA_btl_sm_slots", "negative", "too small", "cannot have default")
	if n := strings.Count(err.Error(), "\n") + 1; n != 6 {
		t.Errorf("%d lines, want 6:\n%v", n, err)
	}
	_, err = Load(fakeRegistry(t), Input{Environ: []string{HandoffVar + "=9"}})
	wantError(t, err, HandoffVar, `version "9"`)
}

func TestForeignNamesWarnOnce(t *testing.T) {
	user := writeFile(t, "user.conf", "plm_rsh_agent = ssh\nmpi_leave_pinned = 1\n")
	var said []string
	p, err := Load(fakeRegistry(t), Input{
		UserFile: user,
		Environ:  []string{"OMPI_MCA_orte_base_help_aggregate=0", "OMPI_MCA_ess=pmi", "OMPI_MCA_=x", "OMPI_MCA_pml=ob1"},
		Warn:     func(msg string) { said = append(said, msg) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(said) != 1 {
		t.Fatalf("said %q", said)
	}
	for _, part := range []string{"plm_rsh_agent (file (" + user + ":1))", "mpi_leave_pinned", "orte_base_help_aggregate (environment OMPI_MCA_orte", "ess (", "OMPI_MCA_)"} {
		if !strings.Contains(said[0], part) {
			t.Errorf("%q lacks %q", said[0], part)
		}
	}
	if p.Selection("pml").String() != "ob1" {
		t.Error("a good setting was lost among the foreign ones")
	}
	// Inside frameworks we have, files and the environment are as strict as
	// the command line; progress is a group no other library has.
	for _, name := range []string{"btl_vadre_flags", "btl_tcp_lniks", "progress_gosched_evry", "btl_sm_fbox_mex", "btl_tcp"} {
		_, err := Load(fakeRegistry(t), Input{Environ: []string{"OMPI_MCA_" + name + "=1"}})
		wantError(t, err, name, "environment OMPI_MCA_"+name)
	}
	_, err = Load(fakeRegistry(t), Input{Settings: []Setting{CommandLine("btl_vader_flags", "1"), CommandLine("btl_base_x", "1")}})
	wantError(t, err, "btl_vader_flags", "btl_base_x")
}

func TestDeprecatedWarns(t *testing.T) {
	var said []string
	in := Input{Settings: []Setting{CommandLine("btl_tcp_use_nagle", "1")}, Warn: func(msg string) { said = append(said, msg) }}
	mustLoad(t, in)
	if len(said) != 1 || !strings.Contains(said[0], "btl_tcp_use_nagle (command line --mca btl_tcp_use_nagle) is deprecated: set btl_tcp_links instead") {
		t.Errorf("said %q", said)
	}
}

func TestValidate(t *testing.T) {
	_, err := Load(fakeRegistry(t), Input{
		Environ:  []string{"OMPI_MCA_btl_tcp_if_exclude=lo"},
		Settings: []Setting{CommandLine("btl_tcp_if_include", "eth0")},
	})
	wantError(t, err, "parameters of component btl/tcp: if_include and if_exclude exclude one another",
		`btl_tcp_if_include is "eth0" (command line --mca btl_tcp_if_include)`,
		`btl_tcp_if_exclude is "lo" (environment OMPI_MCA_btl_tcp_if_exclude)`)
}

func TestDecodeMisuse(t *testing.T) {
	p := mustLoad(t, Input{})
	wantError(t, p.Decode("btl", "self", new(smOptions)), "component btl/self registers no options")
	wantError(t, p.Decode("pml", "", new(smOptions)), "framework pml registers no options")
	wantError(t, p.Decode("btl", "sm", new(tcpOptions)), "component btl/sm", "*mca.smOptions", "*mca.tcpOptions")
	wantError(t, p.Decode("btl", "sm", (*smOptions)(nil)), "non-nil")
	wantError(t, p.Decode("btl", "sm", nil), "non-nil")
}

func TestDecodedSlicesAreOwn(t *testing.T) {
	p := mustLoad(t, Input{Settings: []Setting{CommandLine("btl_tcp_if_include", "lo,eth0")}})
	for range 2 {
		var o tcpOptions
		if err := p.Decode("btl", "tcp", &o); err != nil || !slices.Equal(o.Include, []string{"lo", "eth0"}) {
			t.Fatalf("%v, %v", o.Include, err)
		}
		o.Include[0] = "changed"
	}
}

func TestParamsSelection(t *testing.T) {
	p := mustLoad(t, Input{Settings: []Setting{CommandLine("btl", "^tcp")}})
	if s := p.Selection("btl"); s.Allows("tcp") || !s.Allows("sm") || s.Names() != nil {
		t.Errorf("btl: %v", s)
	}
	for _, name := range []string{"pml", "mpi", "nothing", "btl_tcp_links"} {
		if s := p.Selection(name); !s.Allows("x") {
			t.Errorf("%s: %v", name, s)
		}
	}
}

func TestInfos(t *testing.T) {
	p := mustLoad(t, Input{Settings: []Setting{CommandLine("btl", "sm , self"), CommandLine("btl_sm_slots", "1k")}})
	infos := p.Infos()
	var names []string
	byName := make(map[string]Info)
	for _, i := range infos {
		names = append(names, i.Name)
		byName[i.Name] = i
	}
	want := []string{
		"btl", "btl_base_verbose", "btl_sm_eager_limit", "btl_sm_single_copy", "btl_sm_spin", "btl_sm_slots",
		"btl_tcp_eager_limit", "btl_tcp_if_include", "btl_tcp_if_exclude", "btl_tcp_links", "btl_tcp_use_nagle", "btl_tcp_weight",
		"mpi_yield_when_idle", "pml", "progress_gosched_every",
	}
	if !slices.Equal(names, want) {
		t.Errorf("names %v\nwant  %v", names, want)
	}
	if got, want := byName["btl_sm_slots"], (Info{
		Name: "btl_sm_slots", Framework: "btl", Component: "sm", Value: "1024", Default: "64",
		Source: CommandLine("btl_sm_slots", "1k"), Type: "uint32_t", Help: "slots of a ring", Level: 9, Settable: true,
	}); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if i := byName["btl"]; i.Value != "sm,self" || i.Component != "base" || i.Level != 2 || i.Type != "string" {
		t.Errorf("btl: %+v", i)
	}
	if i := byName["btl_sm_single_copy"]; !slices.Equal(i.Enum, []string{"auto", "none", "cma"}) || i.Level != 3 {
		t.Errorf("enum: %+v", i)
	}
	if i := byName["btl_sm_eager_limit"]; i.Unit != "bytes" || i.Min != "64" || i.Default != "4096" || i.Type != "int64_t" {
		t.Errorf("eager_limit: %+v", i)
	}
}

func TestDefaultInput(t *testing.T) {
	t.Setenv("HOME", "/home/somebody")
	in := DefaultInput()
	if in.SystemFile != "/etc/ompi-go/mca-params.conf" || in.UserFile != "/home/somebody/.ompi-go/mca-params.conf" {
		t.Errorf("%+v", in)
	}
	if !slices.Contains(in.Environ, "HOME=/home/somebody") {
		t.Error("the environment is missing")
	}
	t.Setenv("HOME", "")
	if in := DefaultInput(); in.UserFile != "" {
		t.Errorf("user file %q without a home", in.UserFile)
	}
}

func TestLayerNames(t *testing.T) {
	if LayerTune.String() != "tune file" || Layer(99).String() != "layer 99" || LayerAPI.String() != "api" {
		t.Error("layer names")
	}
	if s := (Setting{Layer: LayerAPI}); s.Source() != "api" {
		t.Errorf("source %q", s.Source())
	}
}
