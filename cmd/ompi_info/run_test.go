package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/mca"
)

type component struct {
	framework, name string
	options         any
}

func (c component) Framework() string { return c.framework }
func (c component) Name() string      { return c.name }
func (c component) Options() any      { return c.options }

func registry(extra ...mca.Component) (*mca.Registry, error) {
	type base struct {
		Verbose bool `mca:"verbose" default:"off" level:"8" help:"say what happens"`
	}
	type sm struct {
		Eager int64  `mca:"eager_limit" default:"4k" min:"64" level:"4" unit:"bytes" help:"largest message sent eagerly"`
		Copy  string `mca:"copy" default:"auto" enum:"auto|none" level:"1" help:"how to copy" settable:"true"`
	}
	type tcp struct {
		Include []string `mca:"if_include" level:"1" help:"interfaces | networks"`
		Old     float64  `mca:"old" max:"2" level:"1" help:"not used" deprecated:"set btl_tcp_if_include"`
	}
	type mpi struct {
		Yield bool `mca:"yield_when_idle" level:"5" help:"give up the core"`
	}
	return mca.BuildRegistry([]mca.Framework{
		{Name: "btl", Help: "byte transfer", Many: true, Options: func() any { return new(base) }},
		{Name: "pml", Help: "messages"},
		{Name: "mpi", Help: "general", Flat: true, Options: func() any { return new(mpi) }},
	}, append(extra, component{"btl", "sm", new(sm)}, component{"btl", "tcp", new(tcp)}, &component{framework: "btl", name: "self"},
		component{"pml", "ob1", nil}))
}

// command runs a command line without this machine's files and environment.
func command(t *testing.T, in mca.Input, line string) (out, errs string, status int) {
	t.Helper()
	var o, e strings.Builder
	status = run(strings.Fields(line), registry, in, &o, &e)
	return o.String(), e.String(), status
}

const (
	pkg    = "github.com/ompi-go/ompi-go/cmd/ompi_info"
	dashes = "---------------------------------------------------"
)

func TestParamPretty(t *testing.T) {
	user := filepath.Join(t.TempDir(), "mca-params.conf")
	if err := os.WriteFile(user, []byte("btl_sm_copy = none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := mca.Input{UserFile: user, Environ: []string{"OMPI_MCA_btl=self,sm"}}
	out, errs, status := command(t, in, "--param btl all --level 4 --mca btl_sm_eager_limit 8k --mca btl_tcp_old 1.5")
	want := `                 MCA btl: self (` + pkg + `)
                 MCA btl: sm (` + pkg + `)
                 MCA btl: tcp (` + pkg + `)
            MCA btl base: ` + dashes + `
            MCA btl base: parameter "btl" (current value: "self,sm", data source: environment OMPI_MCA_btl, level: 2 user/detail, type: string)
                          components of the btl framework to use (a,b) or not to use (^a,b); empty allows all
              MCA btl sm: ` + dashes + `
              MCA btl sm: parameter "btl_sm_eager_limit" (current value: "8192", data source: command line --mca btl_sm_eager_limit, level: 4 tuner/basic, type: int64_t, unit: bytes)
                          largest message sent eagerly
                          Valid values: at least 64
              MCA btl sm: parameter "btl_sm_copy" (current value: "none", data source: file (` + user + `:1), level: 1 user/basic, type: string, settable at run time)
                          how to copy
                          Valid values: auto, none
             MCA btl tcp: ` + dashes + `
             MCA btl tcp: parameter "btl_tcp_if_include" (current value: "", data source: default, level: 1 user/basic, type: list)
                          interfaces | networks
             MCA btl tcp: parameter "btl_tcp_old" (current value: "1.5", data source: command line --mca btl_tcp_old, level: 1 user/basic, type: double, deprecated)
                          not used
                          Valid values: at most 2
                          Deprecated: set btl_tcp_if_include
`
	want += "# 1 more parameter at --level 9\n"
	if status != exitOK || out != want {
		t.Errorf("status %d\ngot:\n%s\nwant:\n%s", status, out, want)
	}
	if want := "ompi_info: warning: parameter btl_tcp_old (command line --mca btl_tcp_old) is deprecated"; !strings.HasPrefix(errs, want) {
		t.Errorf("stderr %q", errs)
	}
}

func TestParamParsable(t *testing.T) {
	in := mca.Input{Environ: []string{"OMPI_MCA_btl_tcp_if_include=fe80::/10,lo"}}
	out, _, status := command(t, in, "--param btl sm --param btl base --param btl tcp --level 8 --parsable")
	want := `mca:btl:sm:package:` + pkg + `
mca:btl:tcp:package:` + pkg + `
mca:btl:base:param:btl:value:
mca:btl:base:param:btl:source:default
mca:btl:base:param:btl:status:read-only
mca:btl:base:param:btl:level:2
mca:btl:base:param:btl:help:components of the btl framework to use (a,b) or not to use (^a,b); empty allows all
mca:btl:base:param:btl:deprecated:no
mca:btl:base:param:btl:type:string
mca:btl:base:param:btl_base_verbose:value:false
mca:btl:base:param:btl_base_verbose:source:default
mca:btl:base:param:btl_base_verbose:status:read-only
mca:btl:base:param:btl_base_verbose:level:8
mca:btl:base:param:btl_base_verbose:help:say what happens
mca:btl:base:param:btl_base_verbose:enumerator:value:0:false
mca:btl:base:param:btl_base_verbose:enumerator:value:1:true
mca:btl:base:param:btl_base_verbose:deprecated:no
mca:btl:base:param:btl_base_verbose:type:bool
mca:btl:sm:param:btl_sm_eager_limit:value:4096
mca:btl:sm:param:btl_sm_eager_limit:source:default
mca:btl:sm:param:btl_sm_eager_limit:status:read-only
mca:btl:sm:param:btl_sm_eager_limit:level:4
mca:btl:sm:param:btl_sm_eager_limit:help:largest message sent eagerly
mca:btl:sm:param:btl_sm_eager_limit:deprecated:no
mca:btl:sm:param:btl_sm_eager_limit:type:int64_t
mca:btl:sm:param:btl_sm_eager_limit:unit:bytes
mca:btl:sm:param:btl_sm_copy:value:auto
mca:btl:sm:param:btl_sm_copy:source:default
mca:btl:sm:param:btl_sm_copy:status:writeable
mca:btl:sm:param:btl_sm_copy:level:1
mca:btl:sm:param:btl_sm_copy:help:how to copy
mca:btl:sm:param:btl_sm_copy:enumerator:value:0:auto
mca:btl:sm:param:btl_sm_copy:enumerator:value:1:none
mca:btl:sm:param:btl_sm_copy:deprecated:no
mca:btl:sm:param:btl_sm_copy:type:string
mca:btl:tcp:param:btl_tcp_if_include:value:"fe80::/10,lo"
mca:btl:tcp:param:btl_tcp_if_include:source:environment OMPI_MCA_btl_tcp_if_include
mca:btl:tcp:param:btl_tcp_if_include:status:read-only
mca:btl:tcp:param:btl_tcp_if_include:level:1
mca:btl:tcp:param:btl_tcp_if_include:help:interfaces | networks
mca:btl:tcp:param:btl_tcp_if_include:deprecated:no
mca:btl:tcp:param:btl_tcp_if_include:type:list
mca:btl:tcp:param:btl_tcp_old:value:0
mca:btl:tcp:param:btl_tcp_old:source:default
mca:btl:tcp:param:btl_tcp_old:status:read-only
mca:btl:tcp:param:btl_tcp_old:level:1
mca:btl:tcp:param:btl_tcp_old:help:not used
mca:btl:tcp:param:btl_tcp_old:deprecated:yes
mca:btl:tcp:param:btl_tcp_old:type:double
`
	if status != exitOK || out != want {
		t.Errorf("status %d\ngot:\n%s\nwant:\n%s", status, out, want)
	}
}

func TestWhatIsShown(t *testing.T) {
	for _, test := range []struct {
		line      string
		has, lack []string
	}{
		{"", []string{"Package: ompi-go\n", "Go: go1", "Architecture: ", "MCA btl: self", "MCA pml: ob1"}, []string{"parameter"}},
		{"--parsable", []string{"package:ompi-go\n", "ompi-go:version:full:", "compiler:go:version:go1", "config:arch:", "mca:pml:ob1:package:"}, []string{":param:"}},
		{"--all", []string{"Package", "MCA btl: sm", `"btl_base_verbose"`, `"mpi_yield_when_idle"`, `"pml"`}, nil},
		{"-a --level 1", []string{"Package", `"btl_sm_copy"`}, []string{`"btl"`, `"btl_sm_eager_limit"`}},
		{"--param btl sm", []string{`"btl_sm_copy"`}, []string{"Package", "tcp", `"btl_sm_eager_limit"`}},
		{"--param btl all", []string{"\n# 3 more parameters at --level 9\n"}, nil},
		{"--param mpi base", []string{"# 1 more parameter at --level 9\n"}, nil},
		{"--param mpi base --parsable", nil, []string{"more"}},
		{"--param btl sm --level 9", nil, []string{"more"}},
		{"--param all sm --level 9", []string{`"btl_sm_eager_limit"`}, []string{"tcp", "pml", `"btl"`}},
		{"--param all all --level 9", []string{`"btl_sm_eager_limit"`, `"pml"`, `"mpi_yield_when_idle"`, "MCA pml: ob1"}, []string{"Package"}},
		{"--param mpi base --level 5", []string{`MCA mpi base: parameter "mpi_yield_when_idle"`}, []string{"btl"}},
		{"--version", []string{"ompi-go "}, []string{"MCA"}},
		{"-V", []string{"ompi-go "}, []string{"MCA"}},
		{"-h", []string{"Usage: ompi_info", "--parsable", "--level N"}, nil},
		{"--help", []string{"Usage: ompi_info"}, nil},
		{"--parseable --param btl sm", []string{"mca:btl:sm:param:btl_sm_copy:value:auto"}, nil},
		{"-mca btl sm --param btl base --level 2", []string{`(current value: "sm", data source: command line --mca btl`}, nil},
	} {
		out, errs, status := command(t, mca.Input{}, test.line)
		if status != exitOK || errs != "" {
			t.Errorf("%q: status %d, stderr %q", test.line, status, errs)
		}
		for _, part := range test.has {
			if !strings.Contains(out, part) {
				t.Errorf("%q lacks %q:\n%s", test.line, part, out)
			}
		}
		for _, part := range test.lack {
			if strings.Contains(out, part) {
				t.Errorf("%q shows %q:\n%s", test.line, part, out)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		line   string
		status int
		want   string
	}{
		{"--bogus", exitUsage, `unknown option "--bogus"`},
		{"--parsible", exitUsage, "did you mean --parsable"},
		{"--explain pml ob1", exitUsage, "--explain needs --size and --peer"},
		{"--abi", exitUsage, `unknown option "--abi"`},
		{"btl", exitUsage, `unexpected argument "btl"`},
		{"--param btl", exitUsage, "--param needs a framework and a component"},
		{"--param btl --level 9", exitUsage, "--param needs a framework and a component, and --level is an option"},
		{"--level", exitUsage, "--level needs a number"},
		{"--level 0", exitUsage, "--level 0: want a number from 1 to 9"},
		{"--level ten", exitUsage, "1 to 9"},
		{"--mca btl", exitUsage, "--mca needs a name and a value"},
		{"--param blt all", exitError, `no framework "blt"; did you mean btl? (the frameworks are btl, mpi, pml)`},
		{"--param btl tpc", exitError, `framework btl has no component "tpc"; did you mean tcp?`},
		{"--mca btl tpc", exitError, "did you mean tcp?"},
		{"--mca btl_sm_copy x --mca btl_sm_eager_limit y", exitError, "btl_sm_copy"},
	} {
		out, errs, status := command(t, mca.Input{}, test.line)
		if status != test.status || !strings.Contains(errs, test.want) || out != "" {
			t.Errorf("%q: status %d, stdout %q, stderr %q; want %d and %q", test.line, status, out, errs, test.status, test.want)
		}
		for line := range strings.Lines(errs) {
			if !strings.HasPrefix(line, "ompi_info: ") && !strings.HasPrefix(line, "Type 'ompi_info --help'") {
				t.Errorf("%q: line %q does not say who speaks", test.line, line)
			}
		}
	}
}

// TestWrongSurroundings: what is wrong in files and the environment is told, and what is right is shown.
func TestWrongSurroundings(t *testing.T) {
	user := filepath.Join(t.TempDir(), "mca-params.conf")
	if err := os.WriteFile(user, []byte("btl_sm_copy = perhaps\nbtl_sm_eager_limit = 8k\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := mca.Input{UserFile: user, Environ: []string{"OMPI_MCA_btl=smm", "OMPI_MCA_btl_smm_copy=none"}}
	out, errs, status := command(t, in, "--all")
	if status != exitError {
		t.Errorf("status %d", status)
	}
	for _, want := range []string{user + ":1", "OMPI_MCA_btl)", "OMPI_MCA_btl_smm_copy"} {
		if !strings.Contains(errs, want) {
			t.Errorf("stderr lacks %s: %q", want, errs)
		}
	}
	for _, want := range []string{`"btl" (current value: "", data source: default`, `"btl_sm_copy" (current value: "auto", data source: default`,
		`"btl_sm_eager_limit" (current value: "8192", data source: file (` + user + `:2)`} {
		if !strings.Contains(out, want) {
			t.Errorf("the listing lacks %s:\n%s", want, out)
		}
	}
}

func TestBrokenRegistry(t *testing.T) {
	broken := func(...mca.Component) (*mca.Registry, error) { return nil, errors.New("twice\nthrice") }
	var out, errs strings.Builder
	if status := run(nil, broken, mca.Input{}, &out, &errs); status != exitError || errs.String() != "ompi_info: twice\nompi_info: thrice\n" {
		t.Errorf("status %d, stderr %q", status, errs.String())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWriteError(t *testing.T) {
	var errs strings.Builder
	if status := run(nil, registry, mca.Input{}, full{}, &errs); status != exitError || !strings.Contains(errs.String(), "no space left") {
		t.Errorf("status %d, stderr %q", status, errs.String())
	}
}

func TestOneLine(t *testing.T) {
	if got := quoted("a\nmca:x\r"); got != `"a\nmca:x\r"` {
		t.Error(got)
	}
}

func TestWriteMarkdown(t *testing.T) {
	reg, err := registry()
	if err != nil {
		t.Fatal(err)
	}
	// Values in force stay out of the document.
	params, err := mca.Load(reg, mca.Input{Settings: []mca.Setting{mca.CommandLine("btl_sm_copy", "none")}})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := WriteMarkdown(&b, reg, params); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"# Parameters\n",
		"\n## btl\n\nbyte transfer\n\nComponents: `self`, `sm`, `tcp`; all usable ones are used together.\n\n| name | default |",
		"\n### btl/sm\n\n| name |",
		"| `btl_sm_eager_limit` | `4096` | int64\\_t, bytes | 4 | largest message sent eagerly (at least 64) |\n",
		"| `btl_sm_copy` | `auto` | string | 1 | how to copy (auto, none) *Settable at run time.* |\n",
		"| `btl_tcp_if_include` |  | list | 1 | interfaces \\| networks |\n",
		"**Deprecated:** set btl\\_tcp\\_if\\_include |\n",
		"\n## mpi\n\ngeneral\n\n| name |",
		"Components: `ob1`; the usable one of highest priority is used.",
	} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("lacks %q:\n%s", part, b.String())
		}
	}
}
