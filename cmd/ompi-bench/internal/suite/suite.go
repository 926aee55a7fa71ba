// Package suite is the table of ompi-bench's tests: names, columns, default sizes and loop lengths. The C program for the peers
// (bench/peers) has the same table; the numbers of the two may stand side by side only while both agree.
//
// It is called by ompi-bench's main package and its compare runner, and knows nothing of MPI.
package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompi-go/ompi-go/mca"
)

// Repetitions is the number of timed loops that a measurement is split into; the printed value is their median.
const Repetitions = 5

// Window is the number of messages in flight in the bandwidth tests, as in OSU's.
const Window = 64

// ReceiverThreads is the number of goroutines or threads that receive in latency_mt; one sends.
const ReceiverThreads = 2

// Large is the size in bytes above which the large loop applies.
const Large = 8192

// Budget is how many seconds one size may take when the number of iterations is ours to choose.
const Budget = 2.0

// Loop is the length of a measurement: iterations over all repetitions, and untimed ones before.
type Loop struct {
	Iterations, Warmup int
}

// Test describes one test.
type Test struct {
	Name  string
	Title string // heading of the value column
	Unit  string
	// Size is what the first column counts: "Size" in bytes unless the test says otherwise.
	Size         string
	HigherBetter bool
	// Min and Max are the default range of sizes, doubled in each step; both 0 is a test without sizes.
	Min, Max     int64
	Small, Large Loop
	MinRanks     int
	EvenRanks    bool // ranks work in pairs
	PerPeer      bool // a buffer holds Max bytes for every rank
	Rate         bool // a further column: messages per second
	Once         bool // no loop: the test has its own course
	Wall         bool // compare takes the wall time of the whole launch
	Layouts      bool // a row for each layout of package patterns, of -m bytes, instead of each size
	Overlap      bool // communication is started, computed beside and waited for: the columns of OverlapColumns
	OursOnly     bool // others have no such test: it cannot be compared
	Form         Form
	Collective   Collective // of a test with a Form
	More         []string   // headings of further columns
	Window       bool       // one-sided: works on a window, and takes the options of OneSided
	Sync         string     // the synchronisation that a one-sided test has unless told; empty: it has its own
	Active       bool       // one-sided, between ranks that are origin and target at once: only pscw and fence serve
	Course       bool       // has a course of its own, whose rows may be named
}

// All lists the tests in the order of the documentation.
func All() []Test {
	lat, bw := Loop{10000, 100}, Loop{1000, 10}
	latL, bwL := Loop{1000, 10}, Loop{50, 2}
	const us, mb = "us", "MB/s"
	all := []Test{
		{Name: "latency", Title: "Latency(us)", Unit: us, Min: 1, Max: 4 << 20, Small: lat, Large: latL, MinRanks: 2},
		{Name: "multi_lat", Title: "Latency(us)", Unit: us, Min: 1, Max: 4 << 20, Small: lat, Large: latL, MinRanks: 2, EvenRanks: true},
		{Name: "latency_mt", Title: "Latency(us)", Unit: us, Min: 1, Max: 4 << 20, Small: lat, Large: latL, MinRanks: 2, PerPeer: true},
		{Name: "bw", Title: "Bandwidth(MB/s)", Unit: mb, HigherBetter: true, Min: 1, Max: 4 << 20, Small: bw, Large: bwL, MinRanks: 2},
		{Name: "bibw", Title: "Bandwidth(MB/s)", Unit: mb, HigherBetter: true, Min: 1, Max: 4 << 20, Small: bw, Large: bwL, MinRanks: 2},
		{Name: "mbw_mr", Title: "MB/s", Unit: mb, HigherBetter: true, Min: 1, Max: 4 << 20, Small: bw, Large: bwL, MinRanks: 2, EvenRanks: true, Rate: true},
		{
			Name: "overlap", Title: "Overall(us)", Unit: us, Min: 64 << 10, Max: 4 << 20, Small: Loop{5000, 200}, Large: Loop{200, 20},
			MinRanks: 2, EvenRanks: true, Overlap: true, More: OverlapColumns(),
		},
		{
			Name: "overlap_recv", Title: "Overall(us)", Unit: us, Min: 64 << 10, Max: 4 << 20, Small: Loop{500, 20}, Large: Loop{200, 20},
			MinRanks: 2, Overlap: true, OursOnly: true, More: OverlapColumns(),
		},
		{Name: "match_depth", Title: "us/message", Unit: us, Size: "Depth", Min: 1, Max: 8192, Small: Loop{20, 2}, MinRanks: 2},
		{
			Name: "ddt", Title: "Latency(us)", Unit: us, Size: "Layout:Size", Min: 1, Max: 1 << 20, Small: Loop{1000, 50}, Large: Loop{200, 10},
			MinRanks: 2, Layouts: true, More: []string{HandPacked},
		},
		{Name: "startup", Title: "ms", Unit: "ms", Size: "Ranks", MinRanks: 1, Once: true, Wall: true},
		{Name: "idle", Title: "CPU(%)", Unit: "%", Size: "Seconds", MinRanks: 2, Once: true},
		{Name: "memory", Title: "KiB", Unit: "KiB", Size: "Ranks", MinRanks: 1, Once: true},
	}
	return slices.Concat(all, oneSided(), tests(Blocking), tests(NonBlocking), tests(Persistent))
}

// HandPacked is the heading of the time that loops instead of a datatype take.
const HandPacked = "Hand-packed(us)"

// Lookup finds a test by name; the error of an unknown one names the nearest.
func Lookup(name string) (Test, error) {
	all := All()
	i := slices.IndexFunc(all, func(t Test) bool { return t.Name == name })
	if i < 0 {
		near := ""
		if names := mca.Nearest(name, Names()); len(names) > 0 {
			near = "; did you mean " + strings.Join(names, " or ") + "?"
		}
		return Test{}, fmt.Errorf("unknown test %q%s", name, near)
	}
	t := all[i]
	if t.Size == "" {
		t.Size = "Size"
	}
	return t, nil
}

// Names lists the tests' names.
func Names() []string {
	var names []string
	for _, t := range All() {
		names = append(names, t.Name)
	}
	return names
}

// CheckRanks says why a test cannot run on this many ranks.
func (t Test) CheckRanks(n int) error {
	if n < t.MinRanks {
		return fmt.Errorf("test %s needs at least %d ranks, this job has %d", t.Name, t.MinRanks, n)
	}
	if t.EvenRanks && n%2 != 0 {
		return fmt.Errorf("test %s works in pairs and needs an even number of ranks, this job has %d", t.Name, n)
	}
	return nil
}
