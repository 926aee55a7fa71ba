package differ

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	seeds     = flag.Int("differ.seeds", 1, "programs for each number of ranks")
	firstSeed = flag.Uint64("differ.seed", 1, "the first seed")
	stepCount = flag.Int("differ.steps", 150, "steps of a program")
	ranksFlag = flag.Int("differ.ranks", 0, "only this number of ranks")
	only      = flag.String("differ.only", "", "only these libraries, separated by commas")
)

// outcome is what one library made of a program.
type outcome struct {
	seen []string
	err  error
}

// difference tells where b first differs from a; "" when it does not.
func difference(aName string, a outcome, bName string, b outcome) string {
	for _, o := range []struct {
		name string
		outcome
	}{{aName, a}, {bName, b}} {
		if o.err != nil {
			var last strings.Builder
			for r, s := range o.seen {
				lines := strings.Split(strings.TrimSpace(s), "\n")
				fmt.Fprintf(&last, "\n  rank %d came to: %.100s", r, lines[len(lines)-1])
			}
			return fmt.Sprintf("%s: %v%s", o.name, o.err, &last)
		}
	}
	for r := range a.seen {
		x, y := strings.Split(a.seen[r], "\n"), strings.Split(b.seen[r], "\n")
		for i := range max(len(x), len(y)) {
			var p, q string
			if i < len(x) {
				p = x[i]
			}
			if i < len(y) {
				q = y[i]
			}
			if p != q {
				return fmt.Sprintf("rank %d: %s saw\n  %s\nand %s\n  %s", r, aName, p, bName, q)
			}
		}
	}
	return ""
}

func run(l library, p *program) outcome {
	seen, err := l.run(p)
	return outcome{seen, err}
}

// smaller leaves out steps as long as two libraries still differ: halves, quarters, and so on.
func smaller(a, b library, p *program, until time.Time) *program {
	differ := func(q *program) bool {
		return difference(a.name, run(a, q), b.name, run(b, q)) != ""
	}
	for size := max(1, len(p.steps)/2); ; {
		any := false
		for from := 0; from < len(p.steps); {
			if time.Now().After(until) {
				return p
			}
			if q := p.without(from, min(from+size, len(p.steps))); differ(q) {
				p, any = q, true
				continue
			}
			from += size
		}
		switch {
		case size > 1:
			size /= 2
		case !any:
			return p
		}
	}
}

// libraries are all that there are, the reference first.
func libraries(t *testing.T) []library {
	all := []library{processes("processes"), processes("tcp", "--mca", "btl", "self,tcp"), goroutines}
	for _, make := range []func() (library, error){openMPI, mpich} {
		l, err := make()
		if err != nil {
			t.Log("without ", err)
			continue
		}
		all = append(all, l)
	}
	if *only == "" {
		return all
	}
	var some []library
	for _, l := range all {
		if strings.Contains(","+*only+",", ","+l.name+",") {
			some = append(some, l)
		}
	}
	return some
}

func check(t *testing.T, all []library, p *program) {
	t.Helper()
	reference := all[0]
	want := run(reference, p)
	for _, l := range all[1:] {
		begin := time.Now()
		got := run(l, p)
		t.Logf("%s: %v", l.name, time.Since(begin).Round(time.Millisecond))
		d := difference(reference.name, want, l.name, got)
		if d == "" {
			continue
		}
		t.Errorf("seed %d, %d ranks: %s", p.seed, p.ranks, d)
		small := smaller(reference, l, p, time.Now().Add(limit))
		t.Errorf("the smallest such program found, of %d steps:\n%s\n%s", len(small.steps), small.text(),
			difference(reference.name, run(reference, small), l.name, run(l, small)))
		return
	}
}

// TestPrograms: the libraries agree on random programs.
func TestPrograms(t *testing.T) {
	all := libraries(t)
	for ranks := 1; ranks <= 6; ranks++ {
		if *ranksFlag != 0 && ranks != *ranksFlag {
			continue
		}
		for i := range *seeds {
			seed := *firstSeed + uint64(i)
			t.Run(fmt.Sprintf("%d_ranks_seed_%d", ranks, seed), func(t *testing.T) {
				check(t, all, write(seed, ranks, *stepCount))
			})
		}
	}
}

// TestKept: they agree on the programs in testdata, which once failed. The first line of each tells its number of ranks.
func TestKept(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			p := &program{}
			if _, err := fmt.Sscanf(string(text), "# ranks %d", &p.ranks); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				p.steps = append(p.steps, step{line: strings.TrimSpace(line)})
			}
			check(t, libraries(t), p)
		})
	}
}
