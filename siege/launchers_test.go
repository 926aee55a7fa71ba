package siege_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestOpenMPI: under a launcher that only speaks PMIx every rank says so and names those that work; it does not become n jobs of one.
func TestOpenMPI(t *testing.T) {
	path, err := exec.LookPath("mpirun.openmpi")
	if err != nil {
		t.Skip("mpirun.openmpi (Open MPI) is not installed: ", err)
	}
	j := launcher(t, path, []string{"--allow-run-as-root", "--oversubscribe", "-n", "2"}, "ring")
	j.run(-1, `PMIx.*ompi-go's mpirun.*Hydra.*srun --mpi=pmi2`)
	if strings.Contains(j.out.String(), "ring of") {
		t.Errorf("ranks ran on their own:\n%s", &j.out)
	}
}

// TestHydra: one node is shared memory, two nodes are tcp although the machine is one.
func TestHydra(t *testing.T) {
	const twoNodes = "-launcher fork -hosts localhost,127.0.0.1 -ppn 1 -n 4"
	for _, c := range []struct{ words, btl string }{
		{"-n 4", "self,sm"}, {"-n 4", "self,tcp"}, {"-n 4", ""}, {"-pmi-port -n 3", ""},
		{twoNodes, ""}, {twoNodes, "self,tcp"}, {twoNodes, "self,sm,tcp"},
	} {
		for _, role := range []string{"ring", "collectives", "large"} {
			t.Run(strings.ReplaceAll(c.words, " ", "_")+"/"+c.btl+"/"+role, func(t *testing.T) {
				t.Parallel()
				j := hydra(t, c.words, role)
				if c.btl != "" {
					j.env("OMPI_MCA_btl=" + c.btl)
				}
				j.run(0, `^`+role+` of \d`)
				if j.err.String() != "" {
					t.Errorf("stderr: %s", &j.err)
				}
			})
		}
	}
	// Ranks 0 and 1 are on different nodes: shared memory alone does not reach.
	hydra(t, twoNodes, "ring").env("OMPI_MCA_btl=self,sm").run(-1, `rank \d.*cannot be reached.*btl`)
}

// TestHydraFailures: a rank's end ends the job there, too.
func TestHydraFailures(t *testing.T) {
	for _, how := range []string{"panic", "status", "kill", "abort", "error"} {
		for i, op := range []string{"recv", "barrier"} {
			t.Run(how+"/"+op, func(t *testing.T) {
				t.Parallel()
				j := hydra(t, "-n 3", "die", how, op)
				if i == 1 {
					j.env("OMPI_MCA_btl=self,tcp")
				}
				j.run(-1)
			})
		}
	}
}

// TestSlurm runs real programs under srun in a private cluster of two nodes, when OMPI_GO_TEST_SLURM is set: it needs root,
// Slurm, munge, and some seconds.
func TestSlurm(t *testing.T) {
	if os.Getenv("OMPI_GO_TEST_SLURM") == "" {
		t.Skip("OMPI_GO_TEST_SLURM is not set")
	}
	for _, role := range []string{"ring", "collectives", "large"} {
		j := launcher(t, "../.ci/slurm.sh", strings.Fields("srun --mpi=pmi2 -N2 -n4"), role)
		j.start()
		_ = j.cmd.Wait() // the status tells
		if j.cmd.ProcessState.ExitCode() == 77 {
			t.Skip(j.err.String())
		}
		j.check(0, `^`+role+` of 4`)
	}
	j := launcher(t, "../.ci/slurm.sh", strings.Fields("srun --mpi=pmi2 -K1 -N2 -n4"), "die", "kill", "recv")
	j.run(-1)
}
