package rte

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// SpareCoresVar is how mpirun tells ranks that it has bound the cores that it has bound nobody to: numbers, separated by commas.
const SpareCoresVar = "OMPI_GO_SPARE_CORES"

// SpareCore is a core on which the local-th rank of this host (from 0) can keep a thread that polls: one that mpirun has bound no rank to,
// else the last core of this process's affinity, the last but one for the next rank, and so on. The error says that there is no core
// beside the one that the program needs.
func SpareCore(local int) (int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return 0, fmt.Errorf("rte: reading the CPU affinity: %w", err)
	}
	quota := cgroupCores(os.DirFS("/"))
	return spareCore(local, &set, quota, os.Getenv(SpareCoresVar))
}

func spareCore(local int, set *unix.CPUSet, quota float64, list string) (int, error) {
	if quota > 0 && quota < 2 {
		return 0, fmt.Errorf("rte: the cgroup limits this process to the time of %.2g cores, which leaves none to spare", quota)
	}
	if spare := parseCores(list); local < len(spare) {
		return spare[len(spare)-1-local], nil
	}
	var usable []int
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			usable = append(usable, cpu)
		}
	}
	if len(usable) < 2 {
		return 0, fmt.Errorf("rte: this process may use only core %d, which its program needs, and no other core of the host is free", slices.Max(append(usable, -1)))
	}
	return usable[len(usable)-1-local%len(usable)], nil
}

// parseCores reads the list; what is no number is not from mpirun, and there are no spare cores.
func parseCores(list string) (cores []int) {
	if list == "" {
		return nil
	}
	for w := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(w)
		if err != nil || n < 0 || n >= len(unix.CPUSet{})*64 {
			return nil
		}
		cores = append(cores, n)
	}
	return cores
}
