package siege_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// fall ends a rank in one of the ways in which ranks end.
func fall(world *ompi.Comm, how string) error {
	switch how {
	case "panic":
		panic("rank 1 has had enough")
	case "status":
		os.Exit(3)
	case "zero":
		os.Exit(0)
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // nothing comes after
		select {}
	case "segv":
		_ = syscall.Kill(os.Getpid(), syscall.SIGBUS)
		select {}
	case "abort":
		world.Abort(7)
	case "error":
		return errors.New("rank 1 gives up")
	}
	return fmt.Errorf("cannot fall by %q", how)
}

// dieRole: rank 1 falls while the others are in the operation args[1].
func dieRole(world *ompi.Comm, args []string) error {
	if err := world.Barrier(); err != nil {
		return err
	}
	if world.Rank() == 1 {
		time.Sleep(100 * time.Millisecond) // the others are on their way into it
		return fall(world, args[0])
	}
	x := make([]int64, 1<<20)
	var err error
	switch args[1] {
	case "recv":
		_, err = world.Recv(ompi.Slice(x), 1, 0)
	case "any":
		_, err = world.Recv(ompi.Slice(x), ompi.AnySource, ompi.AnyTag)
	case "send":
		err = world.Send(ompi.Slice(x), 1, 0)
	case "barrier":
		err = world.Barrier()
	case "compute": // outside of any call
		for {
			x[0]++
		}
	}
	if err == nil {
		return errors.New("the operation with the dead rank succeeded")
	}
	// What ended the job is the death, not that we noticed: so slow a reaction must not change what is said.
	time.Sleep(5 * time.Second)
	return err
}

// TestFailureEndsJob: one rank's end ends the job at once, whatever the others are doing, and mpirun says which rank and why.
func TestFailureEndsJob(t *testing.T) {
	for _, c := range []struct {
		how    string
		status int
		want   string
	}{
		{"panic", 2, `exited with status 2`},
		{"status", 3, `exited with status 3`},
		{"zero", 1, `exited without Finalize`},
		{"kill", 137, `was killed by signal 9 \(killed\)`},
		{"segv", -1, `exited with status 2|was killed by signal 7`},
		{"abort", 7, `called Abort\(7\)`},
		{"error", int(ompi.ErrOther), `failed: rank 1 gives up`},
	} {
		for i, op := range []string{"recv", "any", "send", "barrier", "compute"} {
			btl := []string{"self,sm", "self,tcp"}[i%2]
			t.Run(c.how+"/"+op, func(t *testing.T) {
				t.Parallel()
				j := mpirun(t, "-n 3 --mca btl "+btl, "die", c.how, op)
				j.Run(c.status, `^mpirun: rank 1 \(pid \d+\) on \S+ (`+c.want+`); ending the job \(2 other ranks\)`)
				j.Once(`^mpirun: `)
				if c.how == "panic" {
					j.Once(`^panic: rank 1 has had enough`)
					j.Once(`^goroutine \d+ .*\[running.*\]:`)
					j.Once(`siege_test\.fall\(`)
				}
			})
		}
	}
}

// hangRole: every rank waits for a message that nobody sends, having talked with its neighbours or not.
func hangRole(world *ompi.Comm, args []string) error {
	if len(args) > 0 {
		if err := world.Barrier(); err != nil {
			return err
		}
	}
	fmt.Println("ready", os.Getpid())
	if len(args) > 1 { // outside of any call
		for x := 0; ; x++ {
			if x < 0 {
				return nil
			}
		}
	}
	_, err := world.Recv(ompi.Slice(make([]byte, 1)), (world.Rank()+1)%world.Size(), 99)
	return err
}

// hangs are the ways in which hanging ranks hang.
var hangs = []struct {
	name, btl string
	args      []string
}{
	{"sm", "self,sm", []string{"hang", "met"}},
	{"tcp", "self,tcp", []string{"hang", "met"}},
	{"strangers", "self,sm,tcp", []string{"hang"}},
	{"computing", "self,sm", []string{"hang", "met", "compute"}},
}

// names are what a rank shows to the rest of the system: names of files it has open or mapped, names of its sockets.
type names struct{ files, sockets []string }

func namesOf(t *testing.T, pid string) (n names) {
	t.Helper()
	unixTable, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	fds, err := os.ReadDir("/proc/" + pid + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		link, err := os.Readlink("/proc/" + pid + "/fd/" + fd.Name())
		if err != nil {
			continue
		}
		if inode, ok := strings.CutPrefix(link, "socket:["); ok {
			for line := range strings.Lines(string(unixTable)) {
				if w := strings.Fields(line); len(w) == 8 && w[6] == strings.TrimSuffix(inode, "]") {
					n.sockets = append(n.sockets, w[7])
				}
			}
		} else if strings.HasPrefix(link, "/") {
			n.files = append(n.files, link)
		}
	}
	maps, err := os.ReadFile("/proc/" + pid + "/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		if w := strings.Fields(line); len(w) >= 6 && strings.HasPrefix(w[5], "/") {
			n.files = append(n.files, strings.Join(w[5:], " "))
		}
	}
	return n
}

// check fails for names that could outlive the process: all but those of the system (Go's runtime watches its cgroup), of the
// program and its libraries, and memfds.
func (n *names) check(t *testing.T) {
	t.Helper()
	for _, f := range n.files {
		if !strings.HasPrefix(f, "/dev/null") && !strings.HasPrefix(f, "/sys/") && !strings.HasPrefix(f, "/proc/") && !strings.HasPrefix(f, "/memfd:") && f != os.Args[0] && !strings.Contains(f, ".so") {
			t.Errorf("a rank holds %s", f)
		}
	}
	for _, s := range n.sockets {
		if !strings.HasPrefix(s, "@") {
			t.Errorf("a rank has a socket in the file system: %s", s)
		}
	}
}

func (n *names) vanished(t *testing.T) {
	t.Helper()
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range n.sockets {
		if strings.Contains(string(table), s+"\n") {
			t.Errorf("socket %s is left", s)
		}
	}
}

// TestKilledTogether kills mpirun and all ranks at once: nothing of the job remains.
func TestKilledTogether(t *testing.T) {
	for _, h := range hangs {
		t.Run(h.name, func(t *testing.T) {
			j := mpirun(t, "-n 3 --mca btl "+h.btl, h.args...)
			pids := j.StartReady(3)
			var all []names
			for _, pid := range pids {
				n := namesOf(t, pid)
				n.check(t)
				if strings.Contains(h.btl, "sm") && len(n.sockets) == 0 {
					t.Error("no socket seen, the test looks at the wrong place")
				}
				all = append(all, n)
			}
			for _, pid := range append(j.Processes(), j.Cmd.Process.Pid) {
				if p, err := os.FindProcess(pid); err == nil {
					_ = p.Kill()
				}
			}
			j.End(swift, -1)
			for _, n := range all {
				n.vanished(t)
			}
		})
	}
}

// TestMpirunKilled: ranks do not survive their mpirun, and go without a word.
func TestMpirunKilled(t *testing.T) {
	for _, h := range hangs {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			j := mpirun(t, "-n 3 --mca btl "+h.btl, h.args...)
			j.StartReady(3)
			if err := j.Cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			j.End(swift, -1)
			if j.Err.String() != "" {
				t.Errorf("said: %s", &j.Err)
			}
		})
	}
}

// TestHydraKilled: ranks do not survive MPICH's launcher either.
func TestHydraKilled(t *testing.T) {
	for _, h := range hangs {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			j := hydra(t, "-n 3", h.args...).Env("OMPI_MCA_btl=" + h.btl)
			j.StartReady(3)
			if err := j.Cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			j.End(swift, -1)
		})
	}
}

// TestInterrupted: Ctrl-C reaches ranks that wait hot, asleep, or compute.
func TestInterrupted(t *testing.T) {
	for _, h := range hangs {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			j := mpirun(t, "-n 3 --mca btl "+h.btl, h.args...)
			j.StartReady(3)
			if err := j.Cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			j.End(swift, 130, `^mpirun: got signal 2 \(interrupt\); ending the job \(3 ranks\)`)
			j.Once(`^\S+: `)
		})
	}
}

// TestTimeLimit: --timeout ends them, too.
func TestTimeLimit(t *testing.T) {
	for _, h := range hangs {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			j := mpirun(t, "-n 3 --timeout 2 --mca btl "+h.btl, h.args...)
			j.Run(124, `^mpirun: the job has run for 2s \(--timeout\); ending it \(3 ranks\)`)
			j.Once(`^\S+: `)
		})
	}
}
