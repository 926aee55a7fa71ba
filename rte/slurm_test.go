package rte_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestSlurm runs ranks under srun in a private cluster, when OMPI_GO_TEST_SLURM is set: it needs root, Slurm, munge, the ports
// 17000 to 17002, and some seconds.
func TestSlurm(t *testing.T) {
	if os.Getenv("OMPI_GO_TEST_SLURM") == "" {
		t.Skip("OMPI_GO_TEST_SLURM is not set")
	}
	for _, c := range []struct {
		role, args string
		status     int
		want       string
	}{
		{"ring", "--mpi=pmi2 -N2 -n4", 0, "rank 3 of 4 on node 1 with [3] by pmi"},
		{"ring", "--mpi=pmi2 -N2 -n4 -m cyclic", 0, "rank 1 of 4 on node 1 with [1] by pmi"},
		{"ring", "--mpi=none -N2 -n2", 1, "without PMI: start it with"},
		{"abort", "--mpi=pmi2 -N2 -n3", -1, "rank 1: Abort(7): on purpose"},
	} {
		args := append([]string{"srun"}, strings.Fields(c.args)...)
		cmd := exec.CommandContext(t.Context(), "../.ci/slurm.sh", append(args, os.Args[0])...)
		cmd.Env = append(os.Environ(), roleVar+"="+c.role)
		out, err := cmd.CombinedOutput()
		status := cmd.ProcessState.ExitCode()
		if status == 77 {
			t.Skipf("%s", out)
		}
		// What srun exits with after an abort depends on which task it hears of first; only success would be wrong.
		if c.status >= 0 && status != c.status || c.status < 0 && status == 0 || !strings.Contains(string(out), c.want) {
			t.Errorf("srun %s: exit %d, %v, want %q\n%s", c.args, status, err, c.want, out)
		}
	}
}
