package mca

import (
	"strings"
	"testing"
)

// TestOpenMPIParameters: what only Open MPI has in a framework of both is warned of once, all together.
func TestOpenMPIParameters(t *testing.T) {
	names := []string{"btl_vader_single_copy_mechanism", "btl_openib_allow_ib", "btl_base_warn_component_unused", "btl_tcp_flags",
		"btl_tcp_if_seq", "btl_sm_fbox_max", "btl_tcp_verbose", "pml_ucx_tls", "pml_ob1_unexpected_limit"}
	var environ, said []string
	for _, n := range names {
		environ = append(environ, "OMPI_MCA_"+n+"=1")
	}
	user := writeFile(t, "user.conf", "pml_base_verbose = 9\n")
	if _, err := Load(fakeRegistry(t), Input{UserFile: user, Environ: environ, Warn: func(msg string) { said = append(said, msg) }}); err != nil {
		t.Fatal(err)
	}
	if len(said) != 1 {
		t.Fatalf("said %q", said)
	}
	for _, n := range append(names, "pml_base_verbose (file") {
		if !strings.Contains(said[0], n) {
			t.Errorf("%q lacks %s", said[0], n)
		}
	}
}

// TestOpenMPISelection: lists of components made for Open MPI work as far as we have them.
func TestOpenMPISelection(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want, note  string // want "-": an error
	}{
		{"btl", "vader,self", "sm,self", "it names vader, which is sm here"},
		{"btl", "self,vader,sm", "self,sm", "vader, which is sm"},
		{"btl", "^vader", "^sm", "vader, which is sm"},
		{"btl", "^openib", "", "left out, as this library has no such component: openib"},
		{"btl", "^openib,tcp,uct", "^tcp", "no such component: openib, uct"},
		{"btl", "openib,self,vader", "self,sm", "it names vader, which is sm here; left out, as this library has no such component: openib"},
		{"btl", "self,tcp", "self,tcp", ""},
		{"btl", "openib", "-", `no component "openib"`},
		{"pml", "ucx", "-", `no component "ucx"`},
		{"btl", "self,vadr", "-", `no component "vadr"`},
		{"btl", "vader,smm", "-", `no component "smm"`},
		{"btl", "a,^b", "-", "only one ^"},
	} {
		var said []string
		p, err := Load(fakeRegistry(t), Input{Environ: []string{"OMPI_MCA_" + c.name + "=" + c.value}, Warn: func(msg string) { said = append(said, msg) }})
		if c.want == "-" {
			wantError(t, err, c.note, "environment OMPI_MCA_"+c.name)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.value, err)
			continue
		}
		if got := p.Selection(c.name).String(); got != c.want {
			t.Errorf("%s became %q, want %q", c.value, got, c.want)
		}
		all := strings.Join(said, "\n")
		if (c.note == "") != (all == "") || !strings.Contains(all, c.note) || strings.Count(all, "environment OMPI_MCA_btl") != len(said) {
			t.Errorf("%s: said %q", c.value, said)
		}
	}
	_, err := Load(fakeRegistry(t), Input{Settings: []Setting{CommandLine("btl", "vader,self")}})
	wantError(t, err, `no component "vader"; did you mean sm?`, "command line --mca btl")
}
