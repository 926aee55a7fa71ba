package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

func usage() string {
	var plain, collectives []string
	for _, t := range suite.All() {
		switch t.Form {
		case suite.NotCollective:
			plain = append(plain, t.Name)
		case suite.Blocking:
			collectives = append(collectives, t.Name)
		}
	}
	return `usage: ompi-bench TEST [-m MIN:MAX] [-i ITER] [-x WARMUP] [--json FILE] [--plot FILE.svg|.png] [-n N] [--alloc-mem]
                        [--window KIND] [--sync KIND] [--calls N]
       ompi-bench limits [--json FILE]
       ompi-bench tune --out FILE [-n N] ...   (ompi-bench tune -h says more)
       ompi-bench portals4 TEST...             (ompi-bench portals4 -h says more)
       ompi-bench paper NAME --out DIR ...     (ompi-bench paper -h says more)
       ompi-bench compare [-n N] [--with PEERS] [--ours "NAME=VALUE..."] [--reps R] [--btl sm|tcp]
                          [--bind-to core|none] [-m MIN:MAX] [-i ITER] [-x WARMUP] [--json FILE]
                          [--plot FILE.svg|.png] [--window KIND] [--sync KIND] [--calls N] TEST...

  TEST      ` + wrap(plain) + `
            or one of a collective: COLLECTIVE, iCOLLECTIVE (non-blocking, with what it overlaps) or
            COLLECTIVE_persistent, where COLLECTIVE is
            ` + wrap(collectives) + `
  -m        sizes in bytes (match_depth: receives), doubled from MIN to MAX; ddt: the layouts of such sizes
  -i, -x    iterations of one size and, before them, of the warm-up; idle: -i gives the seconds. Defaults,
            for sizes up to 8 KiB and above:
            ` + loops() + `.
            Without -i there are fewer where one size would take more than 2 seconds
  -n        ranks as goroutines of this process; without it the ranks are those of the launcher, such as mpirun.
            compare needs no launcher and starts N ranks of each side (default 2)
  Parameters are those of the job: mpirun --mca NAME VALUE before ompi-bench, or OMPI_MCA_NAME=VALUE in the environment
  --alloc-mem  buffers of AllocMem, which the ranks of a host map
  --window  one-sided tests: the window is of ` + strings.Join(suite.Windows(), ", ") + ` (default allocate)
  --sync    put_latency to put_bibw: an epoch for each iteration by lock, lock_all, pscw or fence; or one epoch for
            all, by a lock (flush, flush_local) or by locking all (lock_all+flush), and a flush in each iteration
            (default flush; put_bibw, which takes only pscw and fence: pscw)
  --calls   of the operation between two synchronisations (default 1, bandwidth ` + strconv.Itoa(suite.Window) + `); times are of one operation
  --with    whom to compare with, out of openmpi, mpich, openmpi-cm (over pml cm and mtl ofi), and plain and
            goroutines, which are ours without what --ours says, and with ranks as goroutines (default
            openmpi,mpich); one that is not installed is left out
  --ours    parameters for ours, such as "pml=cm portals4_nal=udp"
  --reps    interleaved repetitions (default 5)

compare keeps the programs that it compiles for the others in ompi-go/peers in the user's cache folder
($XDG_CACHE_HOME, or ~/.cache); that folder may be removed at any time.
`
}

// wrap puts words into lines that begin under the first one.
func wrap(words []string) string {
	const width, indent = 100, "            "
	var lines []string
	line := ""
	for _, w := range words {
		switch {
		case line == "":
			line = w
		case len(line)+1+len(w) > width:
			lines = append(lines, line)
			line = w
		default:
			line += " " + w
		}
	}
	return strings.Join(append(lines, line), "\n"+indent)
}

// loops tells the lengths of the tests' loops.
func loops() string {
	var all []string
	for _, name := range []string{"latency", "bw", "ddt", "allreduce", "match_depth"} {
		t, err := suite.Lookup(name)
		if err != nil {
			continue
		}
		s := fmt.Sprintf("%s -i %d -x %d", name, t.Small.Iterations, t.Small.Warmup)
		if t.Large.Iterations > 0 {
			s += fmt.Sprintf(" and -i %d -x %d", t.Large.Iterations, t.Large.Warmup)
		}
		all = append(all, s)
	}
	return wrap(strings.Fields(strings.Join(all, "; ")))
}
