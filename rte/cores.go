package rte

import (
	"io/fs"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// UsableCores is how many cores this process may keep busy: those of its CPU affinity when it started, or fewer if a cgroup
// limits its CPU time. A limit of 2.5 cores counts as 2, since ranks that poll would be throttled on a third. At least 1.
func UsableCores() int {
	n := runtime.NumCPU()
	if q := cgroupCores(os.DirFS("/")); q > 0 && q < float64(n) {
		n = max(1, int(q))
	}
	return n
}

// HostCoresVar is how mpirun tells its ranks the cores of the host.
const HostCoresVar = "OMPI_GO_HOST_CORES"

// HostCores is how many cores the job's ranks on this host have together. A rank that its launcher has bound sees only its own
// part in UsableCores. Our mpirun tells; other launchers, as the parent, are not bound that way themselves.
func HostCores() int {
	if n, err := strconv.Atoi(os.Getenv(HostCoresVar)); err == nil && n > 0 {
		return n
	}
	n := runtime.NumCPU()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getppid(), &set); err == nil {
		n = max(n, set.Count())
	}
	if q := cgroupCores(os.DirFS("/")); q > 0 && q < float64(n) {
		n = max(1, int(q))
	}
	return n
}

// cgroupCores returns the least CPU quota, in cores, of the cgroups this process is in; 0 when there is none. It knows both
// versions of cgroups. Anything it cannot read limits nothing.
func cgroupCores(root fs.FS) float64 {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	mounts, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return 0
	}
	least := 0.0
	for line := range strings.Lines(string(groups)) {
		// hierarchy:controllers:path, with no controllers for version 2
		w := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(w) != 3 {
			continue
		}
		v2 := w[1] == ""
		if !v2 && !hasWord(w[1], "cpu") {
			continue
		}
		dir, top := cgroupDir(string(mounts), w[2], v2)
		for dir != "" {
			if q := quota(root, dir, v2); q > 0 && (least == 0 || q < least) {
				least = q
			}
			if dir == top || len(dir) <= len(top) {
				break
			}
			dir = path.Dir(dir)
		}
	}
	return least
}

// cgroupDir finds where the cgroup is mounted: its directory, and the mount point above it, both without the leading slash.
func cgroupDir(mountinfo, group string, v2 bool) (dir, top string) {
	for line := range strings.Lines(mountinfo) {
		// id parent major:minor root mountpoint options... - fstype source superoptions
		before, after, ok := strings.Cut(line, " - ")
		w, t := strings.Fields(before), strings.Fields(after)
		if !ok || len(w) < 5 || len(t) < 3 {
			continue
		}
		if v2 != (t[0] == "cgroup2") || !v2 && (t[0] != "cgroup" || !hasWord(t[2], "cpu")) {
			continue
		}
		top = strings.TrimPrefix(w[4], "/")
		// In a container the mount shows a subtree only, while the group's path may be told from the host's root.
		rel, ok := strings.CutPrefix(group, strings.TrimSuffix(w[3], "/"))
		if !ok || rel != "" && rel[0] != '/' {
			rel = ""
		}
		return path.Join(top, rel), top
	}
	return "", ""
}

func hasWord(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// quota reads one cgroup's limit in cores; 0 for none.
func quota(root fs.FS, dir string, v2 bool) float64 {
	read := func(name string) []string {
		b, err := fs.ReadFile(root, path.Join(dir, name))
		if err != nil {
			return nil
		}
		return strings.Fields(string(b))
	}
	var w []string
	if v2 {
		w = read("cpu.max") // "max 100000" or "250000 100000"
	} else {
		w = append(read("cpu.cfs_quota_us"), read("cpu.cfs_period_us")...)
	}
	if len(w) != 2 {
		return 0
	}
	q, err := strconv.ParseFloat(w[0], 64)
	p, err2 := strconv.ParseFloat(w[1], 64)
	if err != nil || err2 != nil || q <= 0 || p <= 0 {
		return 0
	}
	return q / p
}
