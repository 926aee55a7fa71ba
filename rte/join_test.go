package rte_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/rte/pmi"
	"github.com/ompi-go/ompi-go/rte/pmi/pmitest"
)

// pair returns a connection to hold for the launcher, and the number of a descriptor as a launcher would leave it.
func pair(t *testing.T) (launcher *os.File, fd int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	unix.CloseOnExec(fds[0])
	if err := unix.SetNonblock(fds[0], true); err != nil {
		t.Fatal(err)
	}
	launcher = os.NewFile(uintptr(fds[0]), "launcher")
	t.Cleanup(func() { launcher.Close() })
	return launcher, fds[1]
}

func rankEnviron(rank, size, fd int) []string {
	return []string{fmt.Sprintf("PMI_RANK=%d", rank), fmt.Sprintf("PMI_SIZE=%d", size), fmt.Sprintf("PMI_FD=%d", fd)}
}

// TestJoinUnder runs a job of ranks in this process under launchers that are strict in their own ways.
func TestJoinUnder(t *testing.T) {
	const size = 3
	plain := func(preset map[string]string) func(int, io.ReadWriter) error {
		return pmi.NewServer(size, "kvs", preset, nil).Serve
	}
	slurm := func(mapping string) func(int, io.ReadWriter) error {
		s := pmitest.NewSlurm(size)
		s.Mapping = mapping
		return func(_ int, conn io.ReadWriter) error { return s.Serve(conn) }
	}
	for name, c := range map[string]struct {
		serve func(int, io.ReadWriter) error
		nodes []int
	}{
		"slurm without mapping": {slurm(""), []int{0, 0, 0}},
		"slurm, two nodes":      {slurm("(vector,(0,1,2),(1,1,1))"), []int{0, 0, 1}},
		"server":                {plain(map[string]string{pmi.MappingKey: "(vector,(0,2,1))"}), []int{0, 1, 0}},
		"server without say":    {plain(map[string]string{pmi.MappingKey: ""}), []int{0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			var all sync.WaitGroup
			for rank := range size {
				launcher, fd := pair(t)
				all.Go(func() {
					if err := c.serve(rank, launcher); err != nil {
						t.Errorf("serving rank %d: %v", rank, err)
						launcher.Close()
					}
				})
				all.Go(func() {
					exit := func(status int) { t.Errorf("rank %d exits %d", rank, status) }
					j, err := rte.Join(rte.Options{Environ: rankEnviron(rank, size, fd), Exit: exit})
					if err != nil {
						t.Errorf("rank %d: %v", rank, err)
						return
					}
					for r, want := range c.nodes {
						if j.Node(r) != want {
							t.Errorf("rank %d is on node %d, want %d", r, j.Node(r), want)
						}
					}
					if j.Launcher() != "pmi" {
						t.Errorf("launcher %q", j.Launcher())
					}
					if err := ringOfTrust(j); err != nil {
						t.Errorf("rank %d: %v", rank, err)
					}
				})
			}
			all.Wait()
		})
	}
}

func TestJoinPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			served <- err
			return
		}
		defer conn.Close()
		hello := make([]byte, 100)
		n, err := conn.Read(hello)
		if err != nil || string(hello[:n]) != "cmd=initack pmiid=5\n" {
			served <- fmt.Errorf("greeting %q, %w", hello[:n], err)
			return
		}
		fmt.Fprint(conn, "cmd=initack rc=0\ncmd=set size=1\ncmd=set rank=0\ncmd=set debug=0\n")
		served <- pmi.NewServer(1, "kvs", nil, nil).Serve(0, conn)
	}()
	j, err := rte.Join(rte.Options{Environ: []string{"PMI_PORT=" + l.Addr().String(), "PMI_ID=5"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := ringOfTrust(j); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestSingleton(t *testing.T) {
	for _, env := range [][]string{
		{},
		{"SLURM_PROCID=0", "SLURM_NTASKS=8"}, // a batch script
		{"SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=1", "PMIX_RANK=0"},
		{"OMPI_COMM_WORLD_SIZE=1", "OMPI_COMM_WORLD_RANK=0", "PMIX_RANK=0"},
	} {
		status := -1
		var said strings.Builder
		j, err := rte.Join(rte.Options{Environ: env, Stderr: &said, Exit: func(s int) { status = s }})
		if err != nil {
			t.Errorf("%v: %v", env, err)
			continue
		}
		if j.Launcher() != "singleton" || j.Size() != 1 || j.Rank() != 0 {
			t.Errorf("%v: rank %d of %d by %s", env, j.Rank(), j.Size(), j.Launcher())
		}
		if _, ok := j.(rte.Reporter); ok {
			t.Error("a singleton has nobody to report to")
		}
		if err := ringOfTrust(j); err != nil {
			t.Errorf("%v: %v", env, err)
		}
		j.Abort(0, "because")
		if status != 1 || said.String() != "rank 0: Abort(0): because\n" {
			t.Errorf("Abort exits %d and says %q", status, said.String())
		}
	}
}

func TestJoinRefuses(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD, 0) // not close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(plain)
	_, fd := pair(t)
	unix.Close(fd)
	ours, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := ours.Addr().String()
	ours.Close()
	for _, c := range []struct {
		wrong string
		env   []string
	}{
		{"Open MPI's mpirun", []string{"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=1", "PMIX_RANK=1"}},
		{"Slurm step without PMI", []string{"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=4"}},
		{"speaks only PMIx", []string{"PMIX_RANK=0", "PMIX_NAMESPACE=x"}},
		{"name no rank", []string{"PMI_FD=3", "PMI_RANK=2", "PMI_SIZE=2"}},
		{"name no rank", []string{"PMI_FD=3"}},
		{"no file descriptor", []string{"PMI_FD=x", "PMI_RANK=0", "PMI_SIZE=1"}},
		{"is not open", rankEnviron(0, 1, fd)},
		{"not from the launcher", rankEnviron(0, 1, int(file.Fd()))},
		{"no socket", rankEnviron(0, 1, plain)},
		{"PMI_PORT", []string{"PMI_PORT=" + closed, "PMI_ID=0"}},
	} {
		j, err := rte.Join(rte.Options{Environ: c.env})
		if err == nil || !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%v: %v, %v, want %q", c.env, j, err, c.wrong)
		}
	}
}

// TestLauncherGone: the end of the launcher is the end of the rank, said in one line; after Finalize it is not.
func TestLauncherGone(t *testing.T) {
	launcher, fd := pair(t)
	go pmi.NewServer(1, "kvs", nil, nil).Serve(0, launcher)
	status := make(chan int, 1)
	var said strings.Builder
	j, err := rte.Join(rte.Options{Environ: rankEnviron(0, 1, fd), Stderr: &said, Exit: func(s int) { status <- s }})
	if err != nil {
		t.Fatal(err)
	}
	launcher.Close()
	if s := <-status; s != 1 || strings.Count(said.String(), "\n") != 1 || !strings.HasPrefix(said.String(), "rank 0: the launcher is gone") {
		t.Errorf("exit %d, said %q", s, said.String())
	}
	if err := j.Fence(); err == nil {
		t.Error("a fence without a launcher works")
	}
}

func TestAbortOverWire(t *testing.T) {
	launcher, fd := pair(t)
	aborted := make(chan int, 1)
	go pmi.NewServer(1, "kvs", nil, func(_, code int) { aborted <- code }).Serve(0, launcher)
	status := 0
	var said strings.Builder
	j, err := rte.Join(rte.Options{Environ: rankEnviron(0, 1, fd), Stderr: &said, Exit: func(s int) { status = s }})
	if err != nil {
		t.Fatal(err)
	}
	j.Abort(256+7, "why")
	if got := <-aborted; got != 7 || status != 7 || said.String() != "rank 0: Abort(263): why\n" {
		t.Errorf("the launcher hears %d, exit %d, said %q", got, status, said.String())
	}
}

// TestJoinTwice: the descriptor is taken over once, and a Get after Finalize is told apart.
func TestJoinTwice(t *testing.T) {
	launcher, fd := pair(t)
	go pmi.NewServer(1, "kvs", nil, nil).Serve(0, launcher)
	j, err := rte.Join(rte.Options{Environ: rankEnviron(0, 1, fd)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rte.Join(rte.Options{Environ: rankEnviron(0, 1, fd)}); err == nil || !strings.Contains(err.Error(), strconv.Itoa(fd)) {
		t.Errorf("a second Join: %v", err)
	}
	if err := j.Finalize(); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Get(0, "x"); !errors.Is(err, rte.ErrFinalized) {
		t.Errorf("Get after Finalize: %v", err)
	}
	if err := j.Fence(); !errors.Is(err, rte.ErrFinalized) {
		t.Errorf("Fence after Finalize: %v", err)
	}
	launcher.Close()
	time.Sleep(time.Millisecond) // an exit of the process here would fail the test
}
