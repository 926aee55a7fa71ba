package siege_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestBadParameters: a wrong parameter ends the job with one report for all ranks, that says where the value comes from and which
// name was probably meant.
func TestBadParameters(t *testing.T) {
	tune := filepath.Join(t.TempDir(), "tune.conf")
	if err := os.WriteFile(tune, []byte("# tuned\n--mca btl_sm_eager_limit 1k --mca pml obb1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, words string
		env, file   string
		wants       []string
	}{
		{name: "name", words: "--mca btl_sm_eager_limt 1k", wants: []string{`"btl_sm_eager_limt".*btl_sm_eager_limit`, `command line`}},
		{name: "framework", words: "--mca btll self,sm", wants: []string{`"btll".*\bbtl\b`, `command line`}},
		{name: "value", words: "--mca btl_sm_eager_limit many", wants: []string{`btl_sm_eager_limit.*"?many"?`, `command line`}},
		{name: "range", words: "--mca btl_sm_fifo_size 1", wants: []string{`btl_sm_fifo_size.*too small.*between 8 and`, `command line`}},
		{name: "component", words: "--mca btl self,smm", wants: []string{`smm`, `\bsm\b`, `command line`}},
		{name: "mixed", words: "--mca btl self,^sm", wants: []string{`btl`, `\^`, `command line`}},
		{name: "family", words: "--mca btl_tcp_disable_family 5", wants: []string{`btl_tcp_disable_family.*"?5"?.*0, 4 or 6|0, 4, 6`}},
		{name: "tune", words: "--tune " + tune, wants: []string{`obb1`, `\bob1\b`, `tune\.conf:2`}},
		{name: "environment", env: "OMPI_MCA_btl_tcp_linkss=2", wants: []string{`btl_tcp_linkss`, `btl_tcp_links\b`, `OMPI_MCA_btl_tcp_linkss`}},
		{name: "environment value", env: "OMPI_MCA_btl=self,smm", wants: []string{`smm`, `\bsm\b`, `OMPI_MCA_btl`}},
		{name: "file", file: "\n# site\nmpi_sleep_after = never\n", wants: []string{`mpi_sleep_after.*never`, `mca-params\.conf:3`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			if err := os.Mkdir(filepath.Join(home, ".ompi-go"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, ".ompi-go", "mca-params.conf"), []byte(c.file), 0o644); err != nil {
				t.Fatal(err)
			}
			j := mpirun(t, "-n 3 "+c.words, "ring").Env("HOME="+home, c.env)
			j.Run(int(ompi.ErrArg), append(c.wants, `^mpirun: ranks? [0-2]\S* .*failed: `)...)
			j.Once(`mpirun: `)
			if c.words == "" {
				h := hydra(t, "-n 2", "ring").Env("HOME="+home, c.env)
				h.Run(-1, append(c.wants, `^ompi: rank [01]: `)...)
				h.Once(`^ompi: rank `)
			}
		})
	}
}

// TestUnreachable: who cannot reach anybody says why, also of components that do not work here at all.
func TestUnreachable(t *testing.T) {
	j := mpirun(t, "-n 2 --mca btl self,tcp --mca btl_tcp_if_include eth9", "ring")
	j.Run(int(ompi.ErrOther), `rank [01] \(host\) cannot be reached: self: rank [01] is another process; tcp: there is no interface eth9, which btl_tcp_if_include names; up are .*127\.0\.0\.1/8.*; check the parameter btl`)
	mpirun(t, "-n 2 --mca pml ^ob1,cm", "ring").Run(-1, `failed: Init: error: no pml can be used: none is allowed; check the parameter pml`)
	mpirun(t, "-n 2 --mca coll ^basic,tuned", "ring").Run(-1, `failed: Init: unsupported operation: no collective`)
}

// TestForeignParameters: settings for another MPI library get one warning and do no harm.
func TestForeignParameters(t *testing.T) {
	for _, j := range []*job{mpirun(t, "-n 3", "ring"), hydra(t, "-n 3", "ring")} {
		j.Env("OMPI_MCA_plm_rsh_agent=ssh", "OMPI_MCA_orte_base_help_aggregate=0")
		j.Run(0, `^ring of 3`)
		j.Once(`^ompi: ignoring parameters .*plm_rsh_agent.*orte_base_help_aggregate`)
	}
}

// TestWithParam: a bad parameter in the program names WithParam as its source, and overrides the command line's good one.
func TestWithParam(t *testing.T) {
	j := mpirun(t, "-n 2 --mca btl_sm_eager_limit 4k", "withparam", "btl_sm_eager_limit", "huge")
	j.Run(1, `btl_sm_eager_limit.*huge`, `ompi\.WithParam`)
	mpirun(t, "-n 2 --mca btl self,sm", "withparam", "btl_sm_eager_limit", "4k").Run(0, `^fine`)
}

func withParamProgram(args []string) error {
	i, err := ompi.Init(ompi.WithParam(args[0], args[1]))
	if err != nil {
		return err
	}
	if i.World().Rank() == 0 {
		fmt.Println("fine")
	}
	return i.Finalize()
}

// TestDifferentReports: ranks that end with different errors are all heard.
func TestDifferentReports(t *testing.T) {
	j := mpirun(t, "-n 3", "bad", "each")
	j.Run(-1, `^mpirun: rank 0 \(pid \d+\) on \S+ failed: cause 0`, `^mpirun: rank 2 \(pid \d+\) on \S+ failed: cause 2`)
	if n := strings.Count(j.Err.String(), "mpirun: "); n != 3 {
		t.Errorf("%d messages", n)
	}
}
