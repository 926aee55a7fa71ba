// Package portals measures the bare Portals interface (package portals4), with nothing of MPI above it: put, get and atomic operations of
// a rank to itself or between two ranks, and matching in long lists.
//
// It is called by ompi-bench's main package, which imports the BTLs that carry Portals.
package portals

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	"github.com/ompi-go/ompi-go/mca"
)

// Test is a measurement of the interface.
type Test struct {
	suite.Test
	op    op
	shape shape
}

// op is what is measured.
type op uint8

const (
	put op = iota
	get
	atomic // a sum, not fetched
	fetch  // a sum, fetched
	matching
)

// passive operations bring data to their initiator; the target has nothing to do for them and hears nothing of them.
func (o op) passive() bool { return o == get || o == fetch }

// sums says that the data are 64-bit numbers.
func (o op) sums() bool { return o == atomic || o == fetch }

// shape is how operations follow one another.
type shape uint8

const (
	latency shape = iota // one after the other
	stream               // windows
)

// callColumn is the heading of the time that a call of a function takes that copies as many bytes and counts.
const callColumn = "Call+copy(us)"

// firstColumn is the heading of the time to match the first entry of the list.
const firstColumn = "First(us)"

// Tests are all of them.
func Tests() []Test {
	var all []Test
	for _, o := range []struct {
		name string
		op   op
		min  int64
	}{{"put", put, 1}, {"get", get, 1}, {"atomic", atomic, number}, {"fetch", fetch, number}} {
		t := suite.Test{Size: "Size", Min: o.min, Max: 4 << 20, MinRanks: 1}
		l := t
		l.Name, l.Title, l.Unit, l.Small, l.Large = o.name+"_latency", "Latency(us)", "us", suite.Loop{Iterations: 50000, Warmup: 500}, suite.Loop{Iterations: 1000, Warmup: 10}
		b := t
		b.Name, b.Title, b.Unit, b.HigherBetter, b.Rate = o.name+"_bw", "Bandwidth(MB/s)", "MB/s", true, true
		b.Small, b.Large = suite.Loop{Iterations: 1000, Warmup: 10}, suite.Loop{Iterations: 50, Warmup: 2}
		all = append(all, Test{l, o.op, latency}, Test{b, o.op, stream})
	}
	return append(all, Test{suite.Test{Name: "match", Title: "Last(us)", Unit: "us", Size: "Entries", Min: 10, Max: 100_000,
		Small: suite.Loop{Iterations: 20000, Warmup: 200}, MinRanks: 1, More: []string{firstColumn}}, matching, latency})
}

// number is the size of what atomic operations add up.
const number = 8

// Lookup finds a test by name.
func Lookup(name string) (Test, error) {
	all := Tests()
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
	}
	if i := slices.Index(names, name); i >= 0 {
		return all[i], nil
	}
	near := ""
	if likely := mca.Nearest(name, names); likely != nil {
		near = "; did you mean " + strings.Join(likely, " or ") + "?"
	}
	return Test{}, fmt.Errorf("unknown test %q%s (there are %s)", name, near, strings.Join(names, ", "))
}

// Options are what to measure and how.
type Options struct {
	Tests      []Test
	Params     suite.Params
	Goroutines int    // ranks as goroutines; 0: those of the launcher
	NAL        string // "": as the parameter portals4_nal says
	Counting   bool   // completion is counted, instead of events in a queue
	NoMatching bool   // list entries on a non-matching interface
	JSON       string // a file, "" for none
}

// Check says why the options cannot be used.
func (o *Options) Check() error {
	if len(o.Tests) == 0 {
		return fmt.Errorf("name a test, such as %s", Tests()[0].Name)
	}
	for _, t := range o.Tests {
		lo, hi := t.Bounds(o.Params)
		switch {
		case t.op.sums() && (lo == 0 || lo%number != 0):
			return fmt.Errorf("%s -m %d:%d: want sizes that are multiples of %d", t.Name, lo, hi, number)
		case t.op == matching && o.NoMatching:
			return fmt.Errorf("%s is about match list entries; leave out --entry le", t.Name)
		case t.op == matching && (lo == 0 || hi > 1_000_000):
			return fmt.Errorf("%s -m %d:%d: want lists of 1 to 1000000 entries", t.Name, lo, hi)
		}
	}
	return o.Params.Check()
}

// sizes are those of a test: doubled in each step, lengths of lists ten times as long.
func (t Test) sizes(p suite.Params) []int64 {
	if t.op != matching {
		return t.Sizes(p)
	}
	lo, hi := t.Bounds(p)
	var all []int64
	for n := lo; n <= hi; n *= 10 {
		all = append(all, n)
	}
	return all
}
