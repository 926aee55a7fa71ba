// Package osctest is the conformance suite of one-sided components, over the public API: programs in all kinds of epochs over all kinds of windows, checked
// against models. A component's test calls Run; outside ones do the same.
//
// A case is a body that every rank of a job runs. Ranks are goroutines of the test, or, with Config.Processes, processes under cmd/mpirun: then the test
// program is started again as a rank, for which its TestMain calls Main.
package osctest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/internal/mpiruntest"
	"github.com/ompi-go/ompi-go/ompi"
)

// Config says what is tested.
type Config struct {
	// Params are MCA parameters by full name, such as "osc": "sm".
	Params map[string]string
	// Ranks is the size of the jobs; 0: 4. Some cases take more, or fewer.
	Ranks int
	// Processes makes each rank a process.
	Processes bool
	// Flavors are the kinds of windows that are tested; nil: all but Shared.
	Flavors []Flavor
	// Seeds is how many random programs there are; 0: a few.
	Seeds int
	// NoDeaths leaves out the cases in which processes die, which are for Processes only.
	NoDeaths bool
	// Only are the names of the cases to run, Deaths that of those in which processes die; nil: all.
	Only []string
	// Options are those of jobs of goroutine ranks, beside Params.
	Options []ompi.Option `json:"-"`
}

// Deaths is the name of all cases in which processes die (Config.Only).
const Deaths = "Deaths"

// Flavor is a kind of window, and of the memory in it.
type Flavor int

// Flavors.
const (
	Create    Flavor = iota // WinCreate over memory of Go's heap
	CreateMem               // WinCreate over memory of AllocMem
	Allocate
	Dynamic
	Shared
)

func (f Flavor) String() string {
	return [...]string{"Create", "CreateMem", "Allocate", "Dynamic", "Shared"}[f]
}

// patience is how long a job of goroutine ranks may take.
const patience = 90 * time.Second

// suite is one case.
type suite struct {
	name  string
	ranks int // 0: Config.Ranks
	run   func(r *rank)
	// needs is a flavor without which the case says nothing; -1: any will do.
	needs Flavor
}

const anyFlavor = Flavor(-1)

func cases() []suite {
	return slices.Concat(basicCases(), programCases(), operationCases(), atomicCases(), lockCases(), fenceCases(), pscwCases(), requestCases(), errorCases(),
		dynamicCases(), sharedCases(), linearCases(), allocationCases())
}

func (c *Config) fill() {
	if c.Ranks == 0 {
		c.Ranks = 4
	}
	if c.Flavors == nil {
		c.Flavors = []Flavor{Create, CreateMem, Allocate, Dynamic}
	}
	if c.Seeds == 0 {
		if c.Seeds = 3; raceEnabled || c.Processes {
			c.Seeds = 1
		}
	}
}

// processesRaced are what processes run under the race detector, which sees nothing of what goes on between them: that is for ranks that are goroutines.
var processesRaced = []string{"Programs", "Counters", "NotAttached"}

// wanted are the cases to run, by the number of their ranks.
func (c *Config) wanted() map[int][]suite {
	by := map[int][]suite{}
	for _, s := range cases() {
		if c.Processes && raceEnabled && !slices.Contains(processesRaced, s.name) {
			continue
		}
		if c.Only != nil && !slices.Contains(c.Only, s.name) || s.needs != anyFlavor && !slices.Contains(c.Flavors, s.needs) {
			continue
		}
		n := s.ranks
		if n == 0 {
			n = c.Ranks
		}
		by[n] = append(by[n], s)
	}
	return by
}

// Run checks that windows of one configuration keep the rules of MPI-3.1 chapter 11.
func Run(t *testing.T, cfg Config) {
	cfg.fill()
	by := cfg.wanted()
	for _, n := range slices.Sorted(maps.Keys(by)) {
		if cfg.Processes {
			t.Run(fmt.Sprintf("%d processes", n), func(t *testing.T) {
				var names []string
				for _, s := range by[n] {
					names = append(names, s.name)
				}
				launch(t, cfg, n, names).Run(0)
			})
			continue
		}
		for _, s := range by[n] {
			t.Run(s.name, func(t *testing.T) { goroutines(t, &cfg, n, s) })
		}
	}
	if cfg.Processes && !cfg.NoDeaths && (cfg.Only == nil || slices.Contains(cfg.Only, Deaths)) {
		testDeaths(t, cfg)
	}
}

// goroutines runs a case in ranks that are goroutines.
func goroutines(t *testing.T, cfg *Config, n int, s suite) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, errors.New("the case hangs"))
	defer cancel()
	opts := slices.Clone(cfg.Options)
	for name, value := range cfg.Params {
		opts = append(opts, ompi.WithParam(name, value))
	}
	if err := ompi.Run(ctx, n, func(world *ompi.Comm) error { return conduct(world, cfg, s, t.Logf) }, opts...); err != nil {
		t.Fatal(err)
	}
}

// conduct is a rank's part in a case.
func conduct(world *ompi.Comm, cfg *Config, s suite, log func(string, ...any)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			f, ok := p.(*failure)
			if !ok {
				panic(p)
			}
			err = fmt.Errorf("%s: rank %d: %w", s.name, world.Rank(), f.err)
		}
	}()
	s.run(&rank{Comm: world, cfg: cfg, log: log, me: world.Rank(), n: world.Size()})
	return world.Barrier()
}

// What a process that is a rank does comes in its environment.
const (
	roleVar   = "OMPI_GO_OSCTEST_CASES"
	configVar = "OMPI_GO_OSCTEST_CONFIG"
)

// launch prepares a job of processes that run some cases, one after the other.
func launch(t *testing.T, cfg Config, n int, names []string, flags ...string) *mpiruntest.Job {
	t.Helper()
	text, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-n", fmt.Sprint(n)}
	for _, name := range slices.Sorted(maps.Keys(cfg.Params)) {
		args = append(args, "--mca", name, cfg.Params[name])
	}
	args = append(append(args, flags...), os.Args[0])
	return mpiruntest.New(t, launcher.Path(t), args...).Env(roleVar+"="+strings.Join(names, ","), configVar+"="+string(text))
}

// launcher starts the processes.
var launcher mpiruntest.Launcher

// Main is for the TestMain of a test that has Config.Processes. In a process that is a rank it does not return; else it runs the tests and ends with
// their status.
func Main(m *testing.M) {
	names := os.Getenv(roleVar)
	if names == "" {
		code := m.Run()
		launcher.Remove()
		os.Exit(code)
	}
	var cfg Config
	if err := json.Unmarshal([]byte(os.Getenv(configVar)), &cfg); err != nil {
		panic(err)
	}
	all := append(cases(), deathCases()...)
	ompi.Main(func(world *ompi.Comm) error {
		for name := range strings.SplitSeq(names, ",") {
			k := slices.IndexFunc(all, func(s suite) bool { return s.name == name })
			if k < 0 {
				return fmt.Errorf("there is no case %q", name)
			}
			log := func(format string, args ...any) { fmt.Printf(name+": "+format+"\n", args...) }
			if err := conduct(world, &cfg, all[k], log); err != nil {
				return err
			}
		}
		return nil
	})
	os.Exit(0)
}
