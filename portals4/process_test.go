package portals4_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ompi-go/ompi-go/internal/mpiruntest"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/portals4"
	"github.com/ompi-go/ompi-go/portals4/portalstest"
	"github.com/ompi-go/ompi-go/rte"
)

// The test program is also a rank, when mpirun starts it with this set.
const roleVar = "OMPI_GO_PORTALS4_TEST_RANK"

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) != "" {
		if err := rank(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func rank() error {
	job, err := rte.Join(rte.Options{})
	if err != nil {
		return err
	}
	reg, err := mca.NewRegistry()
	if err != nil {
		return err
	}
	params, err := mca.Load(reg, mca.DefaultInput())
	if err != nil {
		return err
	}
	i, err := portals4.Open(portals4.Config{Job: job, Registry: reg, Params: params})
	if err != nil {
		return err
	}
	if err := portalstest.Rank(i, job); err != nil {
		return err
	}
	if err := i.Close(); err != nil {
		return err
	}
	fmt.Println("all well")
	return job.Finalize()
}

// TestProcesses runs the suite's program for processes over each NAL between them.
func TestProcesses(t *testing.T) {
	mpirun := filepath.Join(t.TempDir(), "mpirun")
	if out, err := exec.Command("go", "build", "-o", mpirun, "../cmd/mpirun").CombinedOutput(); err != nil {
		t.Fatalf("building mpirun: %v\n%s", err, out)
	}
	for _, nal := range []string{"shm", "tcp", "udp"} {
		t.Run(nal, func(t *testing.T) {
			j := mpiruntest.New(t, mpirun, "-n", "3", "--mca", "portals4_nal", nal, os.Args[0]).Env(roleVar + "=1")
			j.Start()
			j.End(mpiruntest.Limit, 0, "all well")
		})
	}
}
