package siege_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// largeRole exchanges messages of many sizes between all pairs and looks at every byte.
func largeRole(world *ompi.Comm, _ []string) error {
	rank, size := world.Rank(), world.Size()
	for _, n := range []int{8, 10_000, 100_000, 2_500_001} {
		for shift := 1; shift < size; shift++ {
			to, from := (rank+shift)%size, (rank+size-shift)%size
			out, in := make([]byte, n), make([]byte, n)
			for i := range out {
				out[i] = pattern(rank, to, i)
			}
			if _, err := world.Sendrecv(ompi.Slice(out), to, n%1000, ompi.Slice(in), from, n%1000); err != nil {
				return err
			}
			for i := range in {
				if in[i] != pattern(from, rank, i) {
					return fmt.Errorf("byte %d of %d from rank %d is wrong", i, n, from)
				}
			}
			// Every other element: no single block of memory on either side.
			t, err := datatype.Vector(n/8, 1, 2, datatype.Int32)
			if err != nil {
				return err
			}
			clear(in)
			if _, err := world.Sendrecv(ompi.Typed(out, 1, t), to, 1, ompi.Typed(in, 1, t), from, 1); err != nil {
				return err
			}
			for i := range in[:n/8*8-4] {
				want := pattern(from, rank, i)
				if i%8 >= 4 {
					want = 0
				}
				if in[i] != want {
					return fmt.Errorf("strided byte %d of %d from rank %d is wrong", i, n, from)
				}
			}
		}
	}
	if err := world.Barrier(); err != nil {
		return err
	}
	if rank == 0 {
		fmt.Printf("large of %d\n", size)
	}
	return nil
}

func pattern(from, to, i int) byte { return byte(from*31 + to*17 + i + i>>8*7) }

// largeAndCount is largeRole, and tells how many fallbacks were counted.
func largeAndCount(world *ompi.Comm) error {
	if err := largeRole(world, nil); err != nil {
		return err
	}
	families, err := world.Instance().Metrics().Gather()
	if err != nil {
		return err
	}
	n := 0.0
	for _, f := range families {
		if f.GetName() == "ompi_fallbacks_total" {
			for _, m := range f.GetMetric() {
				n += m.GetCounter().GetValue()
			}
		}
	}
	if n > 0 {
		fmt.Printf("rank %d counts %v fallbacks\n", world.Rank(), n)
	}
	return nil
}

const nobody = 65534

// dumbProgram is largeRole in a process that nobody may look into: no privileges, not dumpable. args[0] is the rank it is so in, or
// "all".
func dumbProgram(args []string) error {
	if args[0] == "all" || args[0] == os.Getenv("PMI_RANK") {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
			return err
		}
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return err
		}
	}
	ompi.Main(largeAndCount)
	return nil
}

// sizeLimitProgram is largeRole in a process that may not make large files. args[0] is the rank it is so in, or "all".
func sizeLimitProgram(args []string) error {
	if args[0] == "all" || args[0] == os.Getenv("PMI_RANK") {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 16, Max: 1 << 16}); err != nil {
			return err
		}
	}
	ompi.Main(largeAndCount)
	return nil
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can give up its rights")
	}
}

// fallback checks that nothing but one line was said, which names the mechanism; and perhaps one more, that the collectives do
// without it too.
func fallback(j *job, want string) {
	j.T.Helper()
	j.Once(want)
	lines := 1
	if strings.Contains(j.Err.String(), ": collectives on ") {
		lines = 2
	}
	if n := strings.Count(j.Err.String(), "\n"); n != lines {
		j.T.Errorf("%d lines, want %d:\n%s", n, lines, &j.Err)
	}
}

// TestCopyRefused: where one process may not read another's memory, large messages are copied twice; this is said once a job.
func TestCopyRefused(t *testing.T) {
	needRoot(t)
	for _, who := range []string{"all", "0", "1", "2", "3"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			j := mpirun(t, "-n 4 --mca btl self,sm", "dumb", who)
			concerned := who
			if who == "all" {
				concerned = "0"
			}
			j.Run(0, `^large of 4`, `^rank `+concerned+` counts \d+ fallbacks`)
			fallback(j, `^mpirun: ranks? `+concerned+`\b.*: large messages between processes of this host are copied twice.*process_vm_readv.*operation not permitted`)
			h := hydra(t, "-n 4", "dumb", who).Env("OMPI_MCA_btl=self,sm")
			h.Run(0, `^large of 4`)
			fallback(h, `^ompi: rank \d: large messages.*copied twice`)
		})
	}
}

// TestExecuteOnly: a program that its user may run but not read is not dumpable.
func TestExecuteOnly(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	for d := dir; d != "/" && d != "/tmp"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	prog := filepath.Join(dir, "program")
	if err := copyFile(prog, os.Args[0], 0o111); err != nil {
		t.Fatal(err)
	}
	for _, btl := range []string{"self,sm", "self,sm,tcp"} {
		j := program(mpirun(t, "-n 3 --mca btl "+btl, "large"), prog)
		j.Cmd.Dir = dir
		j.Cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		j.Run(0, `^large of 3`)
		fallback(j, `copied twice.*process_vm_readv`)
	}
}

func copyFile(to, from string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// TestCopyChosen: the user's choices need no excuse.
func TestCopyChosen(t *testing.T) {
	for _, words := range []string{
		"--mca btl_sm_single_copy_mechanism none", "--mca shm_attach socket", "--mca shm_attach proc",
		"--mca shm_attach socket --mca btl_sm_single_copy_mechanism none", "--mca btl self,tcp", "--mca shm_segment_size 2m --mca btl self,sm",
	} {
		t.Run(strings.ReplaceAll(words, " ", "_"), func(t *testing.T) {
			t.Parallel()
			j := mpirun(t, "-n 3 "+words, "large")
			j.Run(0, `^large of 3`)
			if j.Err.String() != "" {
				t.Errorf("stderr: %s", &j.Err)
			}
		})
	}
}

// TestMemoryRefused: without shared memory the job goes over tcp and says so once; if tcp is not wanted, that is an error.
func TestMemoryRefused(t *testing.T) {
	for _, who := range []string{"all", "0", "1", "2"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			j := mpirun(t, "-n 3", "sizelimit", who)
			concerned := who
			if who == "all" {
				concerned = "0"
			}
			j.Run(0, `^large of 3`, `^rank `+concerned+` counts 1 fallbacks`)
			fallback(j, `^mpirun: ranks? `+concerned+`\b.*: no shared memory on this host, using tcp instead: .*ulimit -f`)
			hydra(t, "-n 3", "sizelimit", who).Run(0, `^large of 3`, `^ompi: rank \d: no shared memory on this host, using tcp instead: .*ulimit -f`)
			j = mpirun(t, "-n 3 --mca btl self,sm", "sizelimit", who)
			j.Run(-1, `^mpirun: ranks? `+concerned+`\b.* failed: Init: .*parameter btl allows nothing else.*ulimit -f`)
			j.Once(`^mpirun: `)
		})
	}
}

// TestShellLimit is the same as a user would meet it, in the shell that mpirun is started from.
func TestShellLimit(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell: ", err)
	}
	j := mpirun(t, "-n 2", "large")
	words := append([]string{sh, "-c", `ulimit -f 64; exec "$0" "$@"`}, j.Cmd.Args...)
	j.Cmd.Path, j.Cmd.Args = sh, words
	j.Run(0, `^large of 2`)
	fallback(j, `no shared memory.*ulimit -f`)
}

// TestSegmentTooSmall: a segment in which the rings do not fit.
func TestSegmentTooSmall(t *testing.T) {
	j := mpirun(t, "-n 4 --mca shm_segment_size "+strconv.Itoa(64<<10), "large")
	j.Run(0, `^large of 4`)
	fallback(j, `^mpirun: ranks 0-3 on \S+: shared memory is not used with all ranks.*shm_segment_size`)
	j = mpirun(t, "-n 4 --mca btl self,sm --mca shm_segment_size "+strconv.Itoa(64<<10), "large")
	j.Run(-1, `failed: .*cannot be reached.*shm_segment_size`)
}
