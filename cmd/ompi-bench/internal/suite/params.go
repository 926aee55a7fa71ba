package suite

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Range is -m MIN:MAX; the zero Range is "not given".
type Range struct {
	Min, Max int64
	Given    bool
}

// String and Set make Range a flag.Value.
func (r *Range) String() string {
	if r == nil || !r.Given {
		return ""
	}
	return fmt.Sprintf("%d:%d", r.Min, r.Max)
}

// Set takes MIN:MAX or one size for both.
func (r *Range) Set(s string) error {
	lo, hi, two := strings.Cut(s, ":")
	if !two {
		hi = lo
	}
	a, err1 := strconv.ParseInt(lo, 10, 64)
	b, err2 := strconv.ParseInt(hi, 10, 64)
	// The peers' MPI counts are C ints, and sizes must mean the same for all.
	if err1 != nil || err2 != nil || a < 0 || b < a || b > math.MaxInt32 {
		return fmt.Errorf("want MIN:MAX with 0 <= MIN <= MAX <= %d", math.MaxInt32)
	}
	*r = Range{a, b, true}
	return nil
}

// Params are the options that shape a measurement.
type Params struct {
	Range      Range
	Iterations int // of one size over all repetitions; 0: the test's own
	Warmup     int // -1: the test's own
	OneSided   OneSided
}

// Check says why the options cannot be used.
func (p Params) Check() error {
	const most = 1_000_000_000
	switch {
	case p.Iterations < 0 || p.Iterations > most:
		return fmt.Errorf("-i %d: want 1 to %d iterations", p.Iterations, most)
	case p.Warmup < -1 || p.Warmup > most:
		return fmt.Errorf("-x %d: want 0 to %d iterations", p.Warmup, most)
	}
	return nil
}

// Bounds is the range of sizes a test runs over with these options.
func (t Test) Bounds(p Params) (lo, hi int64) {
	if t.Max == 0 {
		return 0, 0
	}
	if p.Range.Given && t.Min != t.Max { // else the test is about one size
		return p.Range.Min, p.Range.Max
	}
	return t.Min, t.Max
}

// Sizes are the sizes measured: Min, then doubled while not above Max.
func (t Test) Sizes(p Params) []int64 {
	lo, hi := t.Bounds(p)
	var sizes []int64
	for size := lo; size <= hi; size = max(1, size*2) {
		sizes = append(sizes, size)
		if hi == 0 {
			break
		}
	}
	return sizes
}

// Loop is how long one size is measured. fixed says that the user chose the iterations; otherwise Fit may shorten them.
func (t Test) Loop(size int64, p Params) (l Loop, fixed bool) {
	l = t.Small
	if size > Large && t.Large.Iterations > 0 {
		l = t.Large
	}
	if p.Warmup >= 0 {
		l.Warmup = p.Warmup
	}
	if p.Iterations > 0 {
		return Loop{p.Iterations, l.Warmup}, true
	}
	return l, false
}

// Fit shortens a loop so that it stays within Budget, given how many seconds an iteration took in the warm-up; Repetitions iterations
// always remain.
func (l Loop) Fit(secondsEach float64) Loop {
	if secondsEach > 0 && float64(l.Iterations)*secondsEach > Budget {
		l.Iterations = max(Repetitions, int(Budget/secondsEach))
	}
	return l
}

// Args are the options as arguments, in the form that ompi-bench and the peers' program both take.
func (t Test) Args(p Params) []string {
	args := p.Args()
	if t.Window {
		args = append(args, p.OneSided.args()...)
	}
	return args
}

// Args are the options that all tests have.
func (p Params) Args() []string {
	var args []string
	if p.Range.Given {
		args = append(args, "-m", p.Range.String())
	}
	if p.Iterations > 0 {
		args = append(args, "-i", strconv.Itoa(p.Iterations))
	}
	if p.Warmup >= 0 {
		args = append(args, "-x", strconv.Itoa(p.Warmup))
	}
	return args
}
