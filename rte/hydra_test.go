package rte_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/rte"
)

// roleVar makes this test program a rank under a real launcher.
const roleVar = "OMPI_GO_RTE_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleVar)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := rank(role); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func rank(role string) error {
	j, err := rte.Join(rte.Options{})
	if err != nil {
		return err
	}
	switch role {
	case "abort":
		if j.Rank() == 1 {
			j.Abort(7, "on purpose")
		}
		return j.Fence() // for ever
	case "hang":
		fmt.Println("pid", os.Getpid())
		select {}
	case "say":
		for _, key := range []string{"copy", "room", "copy"} {
			if !j.(rte.Sayer).SayOnce(key, "") {
				fmt.Println(key, "is missing")
			}
		}
		if err := j.Fence(); err != nil { // whoever has spoken stays until all have
			return err
		}
	}
	fmt.Printf("rank %d of %d on node %d with %v by %s\n", j.Rank(), j.Size(), j.Node(j.Rank()), j.LocalRanks(), j.Launcher())
	return ringOfTrust(j)
}

func hydra(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("mpiexec.hydra")
	if err != nil {
		t.Skip("mpiexec.hydra (MPICH) is not installed: ", err)
	}
	cmd := exec.CommandContext(t.Context(), path, append(args, os.Args[0])...)
	// Under the race detector each process would sleep for a second at its end.
	cmd.Env = append(os.Environ(), roleVar+"="+role, "GORACE=atexit_sleep_ms=0")
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

func TestHydra(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"-n", "1"}, []string{"rank 0 of 1 on node 0 with [0] by pmi"}},
		{[]string{"-n", "3"}, []string{"rank 0 of 3 on node 0 with [0 1 2] by pmi", "rank 2 of 3 on node 0 with [0 1 2] by pmi"}},
		{[]string{"-pmi-port", "-n", "2"}, []string{"rank 1 of 2 on node 0 with [0 1] by pmi"}},
		{[]string{"-launcher", "fork", "-hosts", "localhost,127.0.0.1", "-ppn", "1", "-n", "4"},
			[]string{"rank 0 of 4 on node 0 with [0 2] by pmi", "rank 3 of 4 on node 1 with [1 3] by pmi"}},
	} {
		out, err := hydra(t, "ring", c.args...).CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", c.args, err, out)
		}
		for _, want := range c.want {
			if !strings.Contains(string(out), want+"\n") {
				t.Errorf("%v: no %q in\n%s", c.args, want, out)
			}
		}
	}
}

func TestHydraAbort(t *testing.T) {
	cmd := hydra(t, "abort", "-n", "3")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 7 || !strings.Contains(string(out), "rank 1: Abort(7): on purpose") {
		t.Errorf("exit %d, %v\n%s", cmd.ProcessState.ExitCode(), err, out)
	}
}

// TestHydraKilled: when the launcher dies its ranks do, too.
func TestHydraKilled(t *testing.T) {
	cmd := hydra(t, "hang", "-n", "2")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for lines := bufio.NewScanner(out); len(pids) < 2 && lines.Scan(); {
		var pid int
		if _, err := fmt.Sscanf(lines.Text(), "pid %d", &pid); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		pids = append(pids, pid)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	for _, pid := range pids {
		for deadline := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("rank with pid %d outlives its launcher", pid)
			}
		}
	}
}
