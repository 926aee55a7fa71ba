package compare

import (
	"os"
	"strconv"
	"strings"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

const (
	ours       = "ours"
	plain      = "plain"
	goroutines = "goroutines"
	viaCM      = "-cm" // behind openmpi: over pml cm and mtl ofi
)

// setting is one test under all options.
type setting struct {
	o             Options
	test          suite.Test
	cores         int
	mpirun, bench string
	peers         map[string]peer
}

// command is one way to run the test. A side may have several: the best of them counts, size by size.
type command struct {
	side    string
	variant string // "" when the side has but one
	argv    []string
	env     []string // added to the environment
}

func (c command) id() string {
	if c.variant == "" {
		return c.side
	}
	return c.side + " (" + c.variant + ")"
}

// String is the command as one would type it.
func (c command) String() string {
	return strings.Join(append(append([]string{}, c.env...), c.argv...), " ")
}

// binding is the same for all sides. Threads of one rank need more than its one core, and more ranks than cores cannot be bound.
func (s setting) binding() string {
	if s.o.Bind != "" {
		return s.o.Bind
	}
	if s.test.Name == "latency_mt" || s.o.Ranks > s.cores {
		return "none"
	}
	return "core"
}

// commands lists everything to run, ours first.
func (s setting) commands() []command {
	args := append([]string{s.test.Name}, s.test.Args(s.o.Params)...)
	n := strconv.Itoa(s.o.Ranks)
	launch := []string{s.mpirun, "-n", n, "--bind-to", s.binding(), "--mca", "btl", "self," + s.o.BTL}
	all := []command{{side: ours, argv: join(launch, s.o.Ours, []string{s.bench}, args)}}
	for _, name := range s.o.With {
		p, ready := s.peers[name]
		switch {
		case name == plain:
			all = append(all, command{side: plain, argv: join(launch, []string{s.bench}, args)})
		case name == goroutines:
			all = append(all, command{side: goroutines, argv: join([]string{s.bench}, args, []string{"-n", n})})
		case ready && name == "openmpi":
			all = append(all, s.openMPI(name, p, args)...)
			if s.test.Name == "latency_mt" {
				all = append(all, s.openMPI(name+"-yield", p, args, "--mca", "mpi_yield_when_idle", "1")...)
			}
		case ready && name == "openmpi"+viaCM:
			all = append(all, command{side: name, argv: join(s.openMPIBase(p), []string{"--mca", "pml", "cm", "--mca", "mtl", "ofi", p.program}, args)})
		case ready && name == "mpich":
			all = append(all, s.mpich(name, p, args))
		}
	}
	return all
}

// openMPI gives, over shared memory, its default and the components that are built for it; whichever is faster counts.
func (s setting) openMPI(side string, p peer, args []string, more ...string) []command {
	base := append(s.openMPIBase(p), more...)
	program := join([]string{p.program}, args)
	if s.o.BTL == "tcp" {
		return []command{{side: side, argv: join(base, []string{"--mca", "btl", "self,tcp"}, program)}}
	}
	all := []command{
		{side: side, variant: "default", argv: join(base, program)},
		{side: side, variant: "vader", argv: join(base, []string{"--mca", "pml", "ob1", "--mca", "btl", "self,vader"}, program)},
	}
	if s.test.Window {
		// Each of its one-sided components is the fastest at something, and 4.1's rdma, the default, ends in compare-and-swap.
		for _, osc := range []string{"sm", "ucx"} {
			all = append(all, command{side: side, variant: "osc " + osc, argv: join(base, []string{"--mca", "osc", osc}, program)})
		}
	}
	return all
}

func (s setting) openMPIBase(p peer) []string {
	base := []string{p.launcher, "-n", strconv.Itoa(s.o.Ranks), "--bind-to", s.binding()}
	if os.Geteuid() == 0 {
		base = append(base, "--allow-run-as-root")
	}
	if s.o.Ranks > s.cores {
		base = append(base, "--oversubscribe")
	}
	return base
}

// mpich is over tcp only when both its own shared memory and that of the library below it (UCX) are off.
func (s setting) mpich(side string, p peer, args []string) command {
	c := command{side: side, argv: join([]string{p.launcher, "-n", strconv.Itoa(s.o.Ranks), "-bind-to", s.binding(), p.program}, args)}
	if s.o.BTL == "tcp" {
		c.env = []string{"MPIR_CVAR_NOLOCAL=1", "UCX_TLS=tcp,self"}
	}
	return c
}

func join(parts ...[]string) []string {
	var all []string
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}
