package differ

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	seeds     = flag.Int("differ.seeds", 1, "programs for each number of ranks")
	firstSeed = flag.Uint64("differ.seed", 1, "the first seed")
	stepCount = flag.Int("differ.steps", 70, "steps of a program")
	tell      = flag.Bool("differ.disputes", false, "tell what the other libraries do not agree on")
	show      = flag.Bool("differ.show", false, "show the programs instead of running them")
	alone     = flag.Bool("differ.alone", false, "compare our own library's ways with each other only")
	ranksFlag = flag.Int("differ.ranks", 0, "only this number of ranks")
)

// outcome is what one library made of a program.
type outcome struct {
	library
	seen []map[string]string // by rank: the line of each step
	last []string            // by rank: the step come to
	err  error
}

func run(l library, p *program) *outcome {
	seen, err := l.run(p)
	o := &outcome{library: l, err: err}
	for _, s := range seen {
		lines, last := map[string]string{}, ""
		for line := range strings.Lines(s) {
			if !strings.HasSuffix(line, "\n") {
				break // the library's end came in between
			}
			last, _, _ = strings.Cut(strings.TrimSpace(line), " ")
			lines[last] = strings.TrimSpace(line)
		}
		o.seen, o.last = append(o.seen, lines), append(o.last, last)
	}
	return o
}

// failed tells how a program of ours ended.
func (o *outcome) failed() string {
	if o.err == nil {
		return ""
	}
	return fmt.Sprintf("%s: %v\nthe ranks came to the steps %q", o.name, o.err, o.last)
}

// agree reports whether two lines are the same; the word * agrees with any.
func agree(p, q string) bool {
	if p == q {
		return true
	}
	a, b := strings.Fields(p), strings.Fields(q)
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && a[i] != "*" && b[i] != "*" {
			return false
		}
	}
	return true
}

// verdict compares what ours, which must agree in everything, and the others saw. Both others have defects of their own, most in
// datatypes, so that a line of ours stands when one of them saw the same, or is not there to tell. disputes are lines where one of
// them did not.
func verdict(p *program, ours, others []*outcome) (wrong string, disputes []string) {
	for _, o := range ours {
		if o.err != nil {
			return o.failed(), nil
		}
	}
	for _, s := range append(slices.Clone(p.steps), step{line: "end"}) {
		id := s.id()
		for r := range p.ranks {
			mine := ours[0].seen[r][id]
			report := fmt.Sprintf("rank %d of %d\n  %s", r, p.ranks, s.line)
			bad, friends, foes, lost := false, 0, 0, 0
			for _, o := range slices.Concat(ours, others) {
				other, there := o.seen[r][id]
				if !there && o.err != nil {
					other = "(it ended before)"
				}
				report += fmt.Sprintf("\n  %-12s%s", o.name, other)
				switch {
				case slices.Contains(ours, o):
					bad = bad || other != mine
				case !there && o.err != nil:
					lost++
				case strings.HasSuffix(other, " ?"): // it abstains
				case agree(mine, other):
					friends++
				default:
					foes++
				}
			}
			if bad || foes > 0 && friends+lost == 0 {
				return report, disputes
			}
			if foes > 0 {
				disputes = append(disputes, report)
			}
		}
	}
	return "", disputes
}

// runAll runs a program under all.
func runAll(all []library, p *program) (outs []*outcome) {
	for _, l := range all {
		outs = append(outs, run(l, p))
	}
	return outs
}

// smaller leaves out steps as long as bad holds: halves, quarters, and so on.
func smaller(p *program, until time.Time, bad func(*program) bool) *program {
	for size := max(1, len(p.steps)/2); ; {
		any := false
		for from := 0; from < len(p.steps); {
			if time.Now().After(until) {
				return p
			}
			if q := p.without(from, min(from+size, len(p.steps))); bad(q) {
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

// libraries are ours and the others that there are.
func libraries(t *testing.T) (ours, others []library) {
	ours = []library{processes("processes"), processes("tcp", "--mca", "btl", "self,tcp"), varied, goroutines}
	if *alone {
		return ours, nil
	}
	for _, find := range []func() (library, error){openMPI, mpich} {
		l, err := find()
		if err != nil {
			t.Log("without ", err)
			continue
		}
		others = append(others, l)
	}
	return ours, others
}

// endurable leaves out steps at which another library ends, and gives what the others made of the rest. One that hangs has said what it
// has said: on a busy machine it may just be slow.
func endurable(t *testing.T, others []library, p *program) (*program, []*outcome) {
	for range 10 {
		outs := runAll(others, p)
		at := map[string]bool{}
		for _, o := range outs {
			if o.err == nil {
				continue
			}
			if errors.Is(o.err, context.DeadlineExceeded) {
				t.Logf("%s takes too long; it came to the steps %q", o.name, o.last)
				continue
			}
			for r := range o.last {
				if s := p.after(o.last[r], r); s != "" {
					at[s] = true
				}
			}
			t.Logf("%s ends in one of the steps %v, which are left out", o.name, at)
			if *tell {
				t.Log(o.failed())
			}
		}
		if len(at) == 0 {
			return p, outs
		}
		p = p.but(func(s step) bool { return at[s.id()] })
	}
	return p, runAll(others, p)
}

func check(t *testing.T, ours, others []library, p *program) {
	t.Helper()
	begin := time.Now()
	p, theirs := endurable(t, others, p)
	middle := time.Now()
	mine := runAll(ours, p)
	wrong, disputes := verdict(p, mine, theirs)
	t.Logf("ours %v, others %v; %d lines in dispute among the others", time.Since(middle).Round(time.Millisecond), middle.Sub(begin).Round(time.Millisecond), len(disputes))
	if *tell {
		for _, d := range disputes {
			t.Log("disputed: ", d)
		}
	}
	if wrong == "" {
		return
	}
	t.Errorf("seed %d: %s\nvaried: %v", p.seed, wrong, parameters(p))
	small := smaller(p, time.Now().Add(limit), func(q *program) bool {
		mine := runAll(ours, q)
		if slices.ContainsFunc(mine, func(o *outcome) bool { return o.err != nil }) {
			return true
		}
		wrong, _ := verdict(q, mine, runAll(others, q))
		return wrong != ""
	})
	wrong, _ = verdict(small, runAll(ours, small), runAll(others, small))
	t.Errorf("the smallest such program found, of %d steps:\n%s\n%s", len(small.steps), small.text(), wrong)
}

// TestInstalled skips when another library is not there: what the programs are compared with is less then.
func TestInstalled(t *testing.T) {
	for name, find := range map[string]func() (library, error){"openmpi": openMPI, "mpich": mpich} {
		t.Run(name, func(t *testing.T) {
			if _, err := find(); errors.Is(err, exec.ErrNotFound) {
				t.Skip(err)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPrograms: the libraries agree on random programs.
func TestPrograms(t *testing.T) {
	ours, others := libraries(t)
	for ranks := 1; ranks <= 6; ranks++ {
		if *ranksFlag != 0 && ranks != *ranksFlag {
			continue
		}
		for i := range *seeds {
			seed := *firstSeed + uint64(i)
			t.Run(fmt.Sprintf("%d_ranks_seed_%d", ranks, seed), func(t *testing.T) {
				p := write(seed, ranks, *stepCount)
				if *show {
					fmt.Printf("# ranks %d, seed %d\n%s", ranks, seed, p.text())
					return
				}
				check(t, ours, others, p)
			})
		}
	}
}

// TestKept: they agree on the programs in testdata, which once failed. The first line of each tells its number of ranks.
func TestKept(t *testing.T) {
	ours, others := libraries(t)
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
			check(t, ours, others, p)
		})
	}
}
