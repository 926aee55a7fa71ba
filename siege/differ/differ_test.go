package differ

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// A rank of a Go program under mpirun is this test program with the program's file and the output's name in the environment.
const (
	programVar = "OMPI_GO_DIFFER_PROGRAM"
	outputVar  = "OMPI_GO_DIFFER_OUTPUT"
)

// limit is how long one program may take under one library.
const limit = 40 * time.Second

var binaries string

func TestMain(m *testing.M) {
	if name := os.Getenv(programVar); name != "" {
		ompi.Main(func(world *ompi.Comm) error { return playFile(world, name, os.Getenv(outputVar)) })
		return
	}
	os.Exit(buildAndRun(m))
}

func playFile(world *ompi.Comm, name, output string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	out, err := os.Create(fmt.Sprintf("%s.%d", output, world.Rank()))
	if err != nil {
		return err
	}
	return errors.Join(play(context.Background(), world, string(text), out), out.Close())
}

func buildAndRun(m *testing.M) int {
	var err error
	if binaries, err = os.MkdirTemp("", "ompi-go-differ-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(binaries)
	if out, err := exec.Command("go", "build", "-o", binaries, "../../cmd/mpirun").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building mpirun: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// library runs a program; what each rank saw, a line a step.
type library struct {
	name string
	run  func(p *program) ([]string, error)
}

// processes is our library, a process a rank, with parameters for mpirun.
func processes(name string, params ...string) library {
	return library{name, func(p *program) ([]string, error) {
		args := append([]string{"-n", strconv.Itoa(p.ranks)}, params...)
		return launch(p, filepath.Join(binaries, "mpirun"), append(args, os.Args[0]), true)
	}}
}

// goroutines is our library, a goroutine a rank.
var goroutines = library{"goroutines", func(p *program) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	out := make([]bytes.Buffer, p.ranks)
	text := p.text()
	err := ompi.Run(ctx, p.ranks, func(world *ompi.Comm) error { return play(ctx, world, text, &out[world.Rank()]) })
	seen := make([]string, p.ranks)
	for i := range out {
		seen[i] = out[i].String()
	}
	return seen, err
}}

// foreign is another MPI library; the reason when it cannot be used.
func foreign(name string, words ...string) (library, error) {
	cc, err := exec.LookPath("mpicc." + name)
	if err != nil {
		return library{}, fmt.Errorf("%s is not installed: %w", name, err)
	}
	mpirun, err := exec.LookPath("mpirun." + name)
	if err != nil {
		return library{}, fmt.Errorf("%s is not installed: %w", name, err)
	}
	binary := filepath.Join(binaries, "differ-"+name)
	if _, err := os.Stat(binary); err != nil {
		if out, err := exec.Command(cc, "-std=c99", "-Wall", "-O1", "-o", binary, "testdata/differ.c").CombinedOutput(); err != nil {
			return library{}, fmt.Errorf("%s: building the program: %w\n%s", name, err, out)
		}
	}
	return library{name, func(p *program) ([]string, error) {
		return launch(p, mpirun, append(append(words, "-n", strconv.Itoa(p.ranks)), binary), false)
	}}, nil
}

func openMPI() (library, error) {
	words := []string{"--oversubscribe", "--mca", "btl", "self,vader", "--mca", "mpi_yield_when_idle", "1"}
	if os.Getuid() == 0 {
		words = append(words, "--allow-run-as-root")
	}
	return foreign("openmpi", words...)
}

func mpich() (library, error) { return foreign("mpich") }

// launch runs a launcher with words, the program's path last.
func launch(p *program, path string, words []string, ours bool) ([]string, error) {
	dir, err := os.MkdirTemp(binaries, "run-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name, output := filepath.Join(dir, "program"), filepath.Join(dir, "out")
	if err := os.WriteFile(name, []byte(p.text()), 0o644); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if !ours {
		words = append(words, name, output)
	}
	cmd := exec.CommandContext(ctx, path, words...)
	// A launcher that is told to end takes its ranks with it.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.WaitDelay = 5 * time.Second
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "OMPI_MCA_") && !strings.HasPrefix(kv, "HOME=") && !strings.HasPrefix(kv, "GOMAXPROCS=") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+dir, "TMPDIR="+dir, "GORACE=atexit_sleep_ms=0")
	if ours {
		cmd.Env = append(cmd.Env, programVar+"="+name, outputVar+"="+output)
	}
	said, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	seen := make([]string, p.ranks)
	for i := range seen {
		text, e := os.ReadFile(fmt.Sprintf("%s.%d", output, i))
		if e != nil && err == nil {
			err = e
		}
		seen[i] = string(text)
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, said)
	}
	return seen, err
}
