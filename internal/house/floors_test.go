package house

import (
	"slices"
	"strings"
	"testing"
)

// floors lists the house from the ground up. A package stands on the floor of the longest entry that it is under, and imports
// from lower floors only; on its own floor, a component imports its framework's contract and a program its own folders.
var floors = [][]string{
	{"internal/relaxed", "internal/invariants", "internal/attr", "internal/mpiruntest", "trace"},
	{"mca", "metrics", "datatype", "rte/pmi", "rte/control"},
	{"progress", "rte"},
	{"core"},
	{"shm"},
	{"unimem", "btl/inet"},
	{"rcache", "mpool"},
	{"btl"},
	{"btl/btluse", "portals4/nal"},
	{"portals4/match", "portals4/atomics"},
	{"portals4"},
	{"btl/portals4", "mtl"},
	{"bml"},
	{"pml"},
	{"coll/alg"},
	{"coll/rules"},
	{"coll"},
	{"osc/elem", "osc/words"},
	{"osc/am"},
	{"osc"},
	{"ompi"},
	{"osc/osctest"},
	{"bench"},
	{"cmd", "examples", "siege", "internal/house"},
}

// frameworks are folders whose package is a contract and whose sub-folders are components. Components are known to ompi alone,
// which imports them for their registration.
var frameworks = []string{"rcache", "mpool", "btl", "bml", "mtl", "pml", "coll", "osc"}

// libraries lie in a framework's folder and are no components: the framework and its components use them.
var libraries = []string{"osc/elem", "osc/words", "osc/am", "btl/btluse", "btl/inet", "coll/alg", "coll/rules"}

// reserved packages are for those who are named here only.
var reserved = map[string][]string{
	"internal/relaxed": {"core", "progress"},
	"rte/control":      {"rte", "cmd/mpirun"},
	"rte/pmi":          {"rte", "cmd/mpirun"},
	"shm":              {"btl", "coll", "mpool", "ompi", "osc", "portals4", "cmd/ompi-bench"},
	"unimem":           {"btl", "cmd/ompi-bench"},
}

// publicAPI is what examples may import: they show what any program can do.
var publicAPI = []string{"ompi", "datatype"}

// alone are programs that show the use of a floor without those above it, and what they may import.
var alone = map[string][]string{
	"examples/btlalone": {"btl", "btl/btluse", "btl/sm", "btl/tcp", "mca", "rte"},
	"examples/portals4": {"btl/sm", "btl/tcp", "mca", "portals4", "rte"},
}

// floorOf gives a package's floor and the entry that says so; -1 when it has none.
func floorOf(p string) (floor int, entry string) {
	floor = -1
	for i, entries := range floors {
		for _, e := range entries {
			if under(p, e) && len(e) > len(entry) {
				floor, entry = i, e
			}
		}
	}
	return floor, entry
}

// componentOf gives the folder of the component that p belongs to, "" when it belongs to none.
func componentOf(p string) string {
	for _, f := range frameworks {
		if rest, ok := strings.CutPrefix(p, f+"/"); ok && !isTest(p) && !slices.Contains(libraries, p) {
			name, _, _ := strings.Cut(rest, "/")
			return f + "/" + name
		}
	}
	return ""
}

// forbidden says why a non-test file of package from may not import package to; "" when it may.
func forbidden(from, to string) string {
	if isTest(to) && !isTest(from) {
		return "packages of test helpers are for tests"
	}
	if isTest(from) {
		return "" // any floor
	}
	if uses, ok := alone[from]; ok {
		if slices.Contains(uses, to) {
			return ""
		}
		return "it shows the use of these alone: " + strings.Join(uses, ", ")
	}
	if c := componentOf(to); c != "" && from != "ompi" && !under(from, c) {
		return "a component is reached through its framework; only ompi imports it, for its registration"
	}
	if who, ok := reserved[to]; ok && !slices.ContainsFunc(who, func(w string) bool { return under(from, w) }) {
		return "it is reserved for " + strings.Join(who, ", ")
	}
	mine, entry := floorOf(from)
	theirs, theirEntry := floorOf(to)
	if under(from, "examples") && !under(to, "examples") && !slices.Contains(publicAPI, to) {
		return "an example uses what any program can use: " + strings.Join(publicAPI, ", ")
	}
	switch {
	case theirs < mine:
		return ""
	case theirs > mine:
		return "imports only go down"
	case entry != theirEntry:
		return "it is another room of the same floor"
	}
	own := componentOf(from)
	if own != "" && (to == entry || under(to, own)) {
		return ""
	}
	if program(from) != "" && program(from) == program(to) {
		return ""
	}
	return "it is another room of the same floor"
}

// program is the folder of the program that p belongs to, such as cmd/mpirun.
func program(p string) string {
	w := strings.SplitN(p, "/", 3)
	if (w[0] != "cmd" && w[0] != "examples") || len(w) < 2 {
		return ""
	}
	return w[0] + "/" + w[1]
}

func TestFloors(t *testing.T) {
	for p, files := range tree(t) {
		if floor, _ := floorOf(p); floor < 0 {
			t.Errorf("package %s stands on no floor; enter it in the list of this test and in ARCHITECTURE.md", p)
			continue
		}
		for _, f := range files {
			if f.test {
				continue
			}
			ours, _ := f.imports(t)
			for _, to := range ours {
				if why := forbidden(p, to); why != "" {
					t.Errorf("%s imports %s: %s", f.path, to, why)
				}
			}
		}
	}
}

// TestFloorsList keeps the list itself from naming rooms that are gone.
func TestFloorsList(t *testing.T) {
	packages := tree(t)
	exists := func(entry string) bool {
		for p := range packages {
			if under(p, entry) {
				return true
			}
		}
		return false
	}
	for _, entries := range floors {
		for _, e := range entries {
			if !exists(e) {
				t.Errorf("no package is under %s", e)
			}
		}
	}
	for p, who := range reserved {
		for _, w := range append(who, p) {
			if !exists(w) {
				t.Errorf("the reservation of %s names %s, which does not exist", p, w)
			}
		}
	}
}

func TestForbidden(t *testing.T) {
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"btl/sm", "btl", true},
		{"btl/sm", "shm", true},
		{"btl/sm", "btl/tcp", false}, // components never import one another
		{"btl/sm", "bml", false},     // a floor up
		{"pml/ob1", "btl", true},     // the contract
		{"pml/ob1", "btl/sm", false}, // not the component
		{"pml/ob1", "shm", false},    // reserved
		{"coll/sm", "pml", true},
		{"coll/sm", "coll/sm/x", true},
		{"coll/basic", "coll/sm", false},
		{"progress", "metrics", true},
		{"mca", "metrics", false}, // same floor
		{"progress", "core", false},
		{"core", "ompi", false},
		{"bml/r2", "btl/btltest", false},
		{"btl/btltest", "ompi", true},
		{"ompi", "btl/sm", true},
		{"cmd/mpirun", "btl/sm", false},
		{"cmd/mpirun", "rte/pmi", true},
		{"cmd/ompi_info", "rte/pmi", false},
		{"cmd/ompi-bench", "cmd/ompi-bench/internal/suite", true},
		{"cmd/ompi-bench/internal/compare", "bench/peers", true},
		{"cmd/mpirun", "cmd/ompi_info", false},
		{"examples/pi", "ompi", true},
		{"examples/pi", "core", false},
		{"examples/lattice", "examples/lattice/d2q9", true},
		{"examples/lattice", "examples/pi", false},
		{"examples/btlalone", "btl/tcp", true},
		{"examples/btlalone", "ompi", false},
		{"btl/btluse", "btl", true},
		{"btl/btluse", "btl/tcp", false},
		{"btl/tcp", "btl/btluse", false},
	} {
		if why := forbidden(c.from, c.to); (why == "") != c.allowed {
			t.Errorf("%s importing %s: allowed is %v, want %v (%s)", c.from, c.to, why == "", c.allowed, why)
		}
	}
}
