package ompi_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/internal/mpiruntest"
	"github.com/ompi-go/ompi-go/ompi"
)

// The test program is also a rank: mpirun starts it again, with the role of one of these programs.
const roleVar = "OMPI_GO_OMPI_TEST_ROLE"

var roles = map[string]func(world *ompi.Comm) error{
	"metamorphic":        metamorphicRank,
	"architecture":       architectureRank,
	"allocmem":           allocMemRank,
	"async":              asyncRank,
	"mismatch":           mismatchRank,
	"requests":           requestsRank,
	"requests-failed":    requestsFailedRank,
	"creations-death":    creationsDeathRank,
	"window-death":       windowDeathRank,
	"collectives-failed": collectivesFailedRank,
	"flood":              floodRank,
	"deep":               deepRank,
	"choice":             choiceRank,
}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		if role == "mismatch" && os.Getenv("PMI_RANK") == "1" {
			os.Setenv("OMPI_MCA_pml_ob1_checksum", "true")
		}
		if role == "choice" {
			setChoice(os.Getenv("PMI_RANK"))
		}
		ompi.Main(roles[role])
		os.Exit(0)
	}
	code := m.Run()
	launcher.Remove()
	os.Exit(code)
}

var launcher mpiruntest.Launcher

func mpirun(t testing.TB) string {
	t.Helper()
	return launcher.Path(t)
}

// processes runs role in n processes and returns what they print.
func processes(t testing.TB, n int, role string, params, env []string) string {
	t.Helper()
	var args []string
	for i := 0; i < len(params); i += 2 {
		args = append(args, "--mca", params[i], params[i+1])
	}
	out, errOut, err := launch(t, n, role, args, env)
	if err != nil {
		t.Fatalf("mpirun %q: %v\n%s%s", args, err, out, errOut)
	}
	return out
}

// launch runs role in n processes under mpirun with some flags.
func launch(t testing.TB, n int, role string, flags, env []string) (stdout, stderr string, err error) {
	t.Helper()
	args := append([]string{"-n", fmt.Sprint(n), "--timeout", "60"}, flags...)
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, mpirun(t), append(args, os.Args[0])...)
	// Under the race detector each process would sleep for a second at its end.
	cmd.Env = append(append(os.Environ(), env...), roleVar+"="+role, "GORACE=atexit_sleep_ms=0")
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	return out.String(), errOut.String(), err
}
