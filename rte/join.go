package rte

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/rte/control"
	"github.com/ompi-go/ompi-go/rte/pmi"
)

// Options are what Join may be told. The zero value is right for a program.
type Options struct {
	// Environ is the environment to look at, as from os.Environ, which is used when it is nil.
	Environ []string
	// Stderr gets the one line said when the launcher is lost or the job aborted without our mpirun; os.Stderr when nil.
	Stderr io.Writer
	// Exit ends the process; os.Exit when nil.
	Exit func(status int)
}

func (o *Options) say(format string, args ...any) {
	w := o.Stderr
	if w == nil {
		w = os.Stderr
	}
	fmt.Fprintf(w, format+"\n", args...)
}

func (o *Options) sayAbort(rank, code int, msg string) {
	if msg == "" {
		o.say("rank %d: Abort(%d)", rank, code)
		return
	}
	o.say("rank %d: Abort(%d): %s", rank, code, msg)
}

func (o *Options) exit(status int) {
	if o.Exit != nil {
		o.Exit(status)
		return
	}
	os.Exit(status)
}

// JobKey is where our mpirun publishes the job's name and secret, and rank 0 does under other launchers.
const JobKey = "ompi.job"

// hostKey is where a rank says its host when the launcher gives no mapping.
func hostKey(rank int) string { return "ompi.h" + strconv.Itoa(rank) }

// FormatJob is the value of JobKey.
func FormatJob(id uuid.UUID, secret [32]byte) string {
	return hex.EncodeToString(id[:]) + hex.EncodeToString(secret[:])
}

func parseJob(s string) (id uuid.UUID, secret [32]byte, err error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(id)+len(secret) {
		return id, secret, fmt.Errorf("rte: %s holds no job name and secret", JobKey)
	}
	copy(id[:], b)
	copy(secret[:], b[len(id):])
	return id, secret, nil
}

// Join takes up this process's place in the job that the environment tells of. It looks, in this order, for our mpirun, for
// PMI-1 on an inherited descriptor (PMI_FD) or a TCP port (PMI_PORT), and else the process is a job of one. Under a launcher
// that only speaks PMIx the error names those that work.
//
// A process joins once: the descriptors are taken over (and kept from its children).
func Join(opt Options) (Job, error) {
	env := environ(opt.Environ)
	if opt.Environ == nil {
		env = environ(os.Environ())
	}
	o := &opt
	switch {
	case env["PMI_FD"] != "":
		return joinFD(env, o)
	case env["PMI_PORT"] != "":
		return joinPort(env, o)
	}
	if err := foreign(env); err != nil {
		return nil, err
	}
	return newSingleton(o), nil
}

func environ(list []string) map[string]string {
	env := make(map[string]string, len(list))
	for _, kv := range list {
		if k, v, ok := strings.Cut(kv, "="); ok {
			env[k] = v
		}
	}
	return env
}

// foreign recognises launchers that give a rank no PMI. A batch script inside Slurm has SLURM_PROCID too without being a
// task of many, so the number of tasks in the step decides there.
func foreign(env map[string]string) error {
	const help = "start it with ompi-go's mpirun, MPICH's mpiexec (Hydra), srun --mpi=pmi2, or flux run"
	many := func(key string) bool {
		n, err := strconv.Atoi(env[key])
		return err == nil && n > 1
	}
	_, pmix := env["PMIX_RANK"]
	switch {
	case many("OMPI_COMM_WORLD_SIZE"):
		return fmt.Errorf("rte: this process is one of %s under Open MPI's mpirun, which speaks only PMIx: %s",
			env["OMPI_COMM_WORLD_SIZE"], help)
	case env["SLURM_PROCID"] != "" && many("SLURM_STEP_NUM_TASKS"):
		return fmt.Errorf("rte: this process is one of %s tasks of a Slurm step without PMI: %s",
			env["SLURM_STEP_NUM_TASKS"], help)
	case pmix && env["OMPI_COMM_WORLD_SIZE"] == "" && env["SLURM_STEP_NUM_TASKS"] == "":
		return fmt.Errorf("rte: the launcher of this process speaks only PMIx: %s", help)
	}
	return nil
}

func joinFD(env map[string]string, opt *Options) (Job, error) {
	rank, err := strconv.Atoi(env["PMI_RANK"])
	size, err2 := strconv.Atoi(env["PMI_SIZE"])
	if err != nil || err2 != nil || size < 1 || rank < 0 || rank >= size {
		return nil, fmt.Errorf("rte: PMI_FD is set, but PMI_RANK=%q and PMI_SIZE=%q name no rank of a job",
			env["PMI_RANK"], env["PMI_SIZE"])
	}
	conn, err := inherit("PMI_FD", env["PMI_FD"])
	if err != nil {
		return nil, err
	}
	j := newWireJob(rank, size, opt)
	if v := env[control.EnvFD]; v != "" {
		ctl, err := inherit(control.EnvFD, v)
		if err != nil {
			conn.Close()
			return nil, err
		}
		j.launcher = "mpirun"
		// mpirun reads at all times, so that patience is only for a machine that is busy beyond measure.
		j.ctl = control.NewConn(ctl, 5*time.Second)
	}
	j.pmi = pmi.NewClient(conn, j.lost)
	return j.begin()
}

func joinPort(env map[string]string, opt *Options) (Job, error) {
	conn, err := net.DialTimeout("tcp", env["PMI_PORT"], 30*time.Second)
	if err != nil {
		return nil, fmt.Errorf("rte: calling the launcher at PMI_PORT: %w", err)
	}
	j := newWireJob(0, 0, opt)
	ready := make(chan struct{})
	client, rank, size, err := pmi.NewPortClient(conn, env["PMI_ID"], func(err error) {
		<-ready
		j.lost(err)
	})
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("rte: PMI_PORT: %w", err)
	}
	j.pmi, j.rank, j.size = client, rank, size
	close(ready)
	return j.begin()
}

// inherit takes over a socket that the launcher left open for this process.
//
// The descriptor must not be close-on-exec yet: the launcher's cannot be, and all that Go opens itself is. So a second Join, or
// a number that means something else by now, is noticed.
func inherit(name, value string) (*os.File, error) {
	fd, err := strconv.Atoi(value)
	if err != nil || fd < 0 {
		return nil, fmt.Errorf("rte: %s=%q is no file descriptor", name, value)
	}
	hint := "has the process joined before, or is it the child of a rank? (a child runs alone with " + name + " unset)"
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil {
		return nil, fmt.Errorf("rte: %s=%d is not open: %s", name, fd, hint)
	}
	if flags&unix.FD_CLOEXEC != 0 {
		return nil, fmt.Errorf("rte: %s=%d is not from the launcher: %s", name, fd, hint)
	}
	unix.CloseOnExec(fd)
	if _, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); err != nil {
		return nil, fmt.Errorf("rte: %s=%d is no socket: %s", name, fd, hint)
	}
	// Non-blocking before os.NewFile puts it under the runtime's poller, so that reading holds no thread.
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("rte: %s=%d: %w", name, fd, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func newWireJob(rank, size int, opt *Options) *wireJob {
	return &wireJob{
		rank: rank, size: size, launcher: "pmi", opt: opt,
		cards: map[hubKey][]byte{}, put: map[string]bool{},
	}
}

// begin goes through the launcher's formalities and learns what every rank must know.
func (j *wireJob) begin() (Job, error) {
	if err := j.meet(); err != nil {
		_ = j.pmi.Close() // the error that counts is the first
		return nil, fmt.Errorf("rte: joining the job: %w", err)
	}
	if j.ctl != nil {
		if err := j.ctl.Send(control.Message{Kind: control.Hello}); err != nil {
			_ = j.pmi.Close()
			return nil, fmt.Errorf("rte: joining the job: %w", err)
		}
		go j.listen()
	}
	return j, nil
}

func (j *wireJob) meet() error {
	if err := j.pmi.Init(); err != nil {
		return err
	}
	text, err := j.pmi.Get(pmi.MappingKey)
	if err != nil && !errors.Is(err, pmi.ErrRefused) {
		return err
	}
	mapping, err := pmi.ParseMapping(text)
	if err != nil {
		return err
	}
	j.nodes = mapping.Nodes(j.size)
	if j.launcher != "mpirun" {
		if err := j.introduce(); err != nil {
			return err
		}
	}
	if text, err = j.pmi.Get(JobKey); err != nil {
		return err
	}
	if j.id, j.secret, err = parseJob(text); err != nil {
		return err
	}
	if j.nodes == nil {
		return j.nodesByHost()
	}
	return nil
}

// introduce publishes what our mpirun would have: rank 0 the name and the secret, and all their hosts if the launcher does
// not say who is where.
func (j *wireJob) introduce() error {
	if j.rank == 0 {
		var secret [32]byte
		rand.Read(secret[:]) // never fails
		if err := j.pmi.Put(JobKey, FormatJob(uuid.New(), secret)); err != nil {
			return err
		}
	}
	if j.nodes == nil {
		host := base64.RawURLEncoding.EncodeToString([]byte(HostID()))
		if err := j.pmi.Put(hostKey(j.rank), host); err != nil {
			return err
		}
	}
	return j.pmi.Barrier()
}

// nodesByHost numbers the hosts in the order of their lowest ranks.
func (j *wireJob) nodesByHost() error {
	index := map[string]int{}
	j.nodes = make([]int, j.size)
	for r := range j.nodes {
		host, err := j.pmi.Get(hostKey(r))
		if err != nil {
			return err
		}
		n, ok := index[host]
		if !ok {
			n = len(index)
			index[host] = n
		}
		j.nodes[r] = n
	}
	return nil
}
