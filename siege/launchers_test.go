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
	j.Run(-1, `PMIx.*ompi-go's mpirun.*Hydra.*srun --mpi=pmi2`)
	if strings.Contains(j.Out.String(), "ring of") {
		t.Errorf("ranks ran on their own:\n%s", &j.Out)
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
					j.Env("OMPI_MCA_btl=" + c.btl)
				}
				j.Run(0, `^`+role+` of \d`)
				if j.Err.String() != "" {
					t.Errorf("stderr: %s", &j.Err)
				}
			})
		}
	}
	// Ranks 0 and 1 are on different nodes: shared memory alone does not reach.
	hydra(t, twoNodes, "ring").Env("OMPI_MCA_btl=self,sm").Run(-1, `rank \d.*cannot be reached.*btl`)
}

// TestHydraFailures: a rank's end ends the job there, too.
func TestHydraFailures(t *testing.T) {
	for _, how := range []string{"panic", "status", "kill", "abort", "error"} {
		for i, op := range []string{"recv", "barrier"} {
			t.Run(how+"/"+op, func(t *testing.T) {
				t.Parallel()
				j := hydra(t, "-n 3", "die", how, op)
				if i == 1 {
					j.Env("OMPI_MCA_btl=self,tcp")
				}
				j.Run(-1)
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
		j.Start()
		_ = j.Cmd.Wait() // the status tells
		if j.Cmd.ProcessState.ExitCode() == 77 {
			t.Skip(j.Err.String())
		}
		j.Check(0, `^`+role+` of 4`)
	}
	j := launcher(t, "../.ci/slurm.sh", strings.Fields("srun --mpi=pmi2 -K1 -N2 -n4"), "die", "kill", "recv")
	j.Run(-1)
}
