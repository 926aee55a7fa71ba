package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

// world is a machine on which every command answers from a script.
type world struct {
	out    strings.Builder
	log    []string // commands in the order they ran
	answer func(c command, run int) (output, error)
	runs   map[string]int
}

func (w *world) runner() *Runner {
	w.runs = map[string]int{}
	return &Runner{
		Cores: 2,
		Ours:  func(context.Context) (string, string, error) { return "/bin/mpirun", "/bin/ompi-bench", nil },
		Peer: func(_ context.Context, name string) (peer, error) {
			if name == "mpich" {
				return peer{}, errors.New("mpirun.mpich is not installed")
			}
			return peer{"mpirun." + name, "/cache/peer-" + name}, nil
		},
		Start: func(_ context.Context, c command) (output, error) {
			w.log = append(w.log, c.id())
			w.runs[c.id()]++
			return w.answer(c, w.runs[c.id()])
		},
		Limits: func(context.Context) ([]report.Limit, error) {
			return []report.Limit{{Name: "core-to-core hop", Unit: "us", Spread: report.Spread{Median: 0.1, Min: 0.1, Max: 0.1}}}, nil
		},
		Out:      &w.out,
		Progress: &report.Progress{},
	}
}

func tests(t *testing.T, names ...string) []suite.Test {
	t.Helper()
	var all []suite.Test
	for _, n := range names {
		test, err := suite.Lookup(n)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, test)
	}
	return all
}

func options(t *testing.T, names ...string) Options {
	return Options{Tests: tests(t, names...), Ranks: 2, With: []string{"openmpi", "mpich"}, Reps: 3, BTL: "sm", Params: suite.Params{Warmup: -1}}
}

func TestBetterVariantCountsSizeBySize(t *testing.T) {
	w := &world{answer: func(c command, run int) (output, error) {
		value := map[string][2]float64{
			"ours": {1, 10}, "openmpi (default)": {2, 30}, "openmpi (vader)": {4, 20},
		}[c.id()]
		return output{stdout: fmt.Sprintf("# x\n8 %g\n16 %g 77\n", value[0]*float64(run), value[1]*float64(run))}, nil
	}}
	o := options(t, "latency")
	o.JSON = filepath.Join(t.TempDir(), "out.json")
	o.Plot = filepath.Join(t.TempDir(), "out.svg")
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	if err := w.runner().Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	var r report.Result
	data, err := os.ReadFile(o.JSON)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, row := range r.Rows {
		got[fmt.Sprintf("%s %d", row.Series, row.Size)] = row.Value
		if row.Series == "openmpi" && (row.Ratio == nil || row.Ratio.Median != 0.5) {
			t.Errorf("ratio of %+v", row)
		}
	}
	// medians of 1, 2, 3 times the value
	want := map[string]float64{"ours 8": 2, "ours 16": 20, "openmpi 8": 4, "openmpi 16": 40}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	if len(r.Limits) != 1 || r.Limits[0].Median != 0.1 {
		t.Errorf("limits %+v", r.Limits)
	}
	for _, part := range []string{"mpich is left out: mpirun.mpich is not installed", "bound to: core", "limit: core-to-core hop", "below 1 ours is better"} {
		if !strings.Contains(w.out.String(), part) {
			t.Errorf("table lacks %q:\n%s", part, w.out.String())
		}
	}
	if _, err := os.Stat(o.Plot); err != nil {
		t.Error(err)
	}
	// every repetition runs all sides, beginning with another
	wantLog := []string{"ours", "openmpi (default)", "openmpi (vader)", "openmpi (default)", "openmpi (vader)", "ours", "openmpi (vader)", "ours", "openmpi (default)"}
	if !slices.Equal(w.log, wantLog) {
		t.Errorf("order %q", w.log)
	}
}

func TestStartupTakesWallTimeAndHigherIsBetter(t *testing.T) {
	w := &world{answer: func(c command, run int) (output, error) { return output{stdout: "", wall: 40 * time.Millisecond}, nil }}
	o := options(t, "startup")
	if err := w.runner().Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(w.out.String(), "40.000") {
		t.Errorf("table:\n%s", w.out.String())
	}
	s := setting{test: tests(t, "bw")[0]}
	if !s.better(point{}, 2, 1) {
		t.Error("less bandwidth counts as better")
	}
}

func TestFailures(t *testing.T) {
	broken := errors.New("exit status 1")
	w := &world{answer: func(c command, run int) (output, error) {
		if c.side == "openmpi" {
			return output{}, broken
		}
		return output{stdout: "0 1.5\n"}, nil
	}}
	if err := w.runner().Run(context.Background(), options(t, "barrier")); err != nil {
		t.Errorf("a failing peer ended the comparison: %v", err)
	}
	if !strings.Contains(w.out.String(), "openmpi (vader) is left out: exit status 1") {
		t.Errorf("table:\n%s", w.out.String())
	}
	w = &world{answer: func(c command, run int) (output, error) { return output{}, broken }}
	if err := w.runner().Run(context.Background(), options(t, "barrier")); !errors.Is(err, broken) {
		t.Errorf("ours failed, error %v", err)
	}
	w = &world{answer: func(c command, run int) (output, error) { return output{stdout: "# nothing\n"}, nil }}
	if err := w.runner().Run(context.Background(), options(t, "barrier")); err == nil {
		t.Error("a run without results gave no error")
	}
}

func TestCommands(t *testing.T) {
	p := map[string]peer{"openmpi": {"mpirun.openmpi", "/p/o"}, "mpich": {"mpirun.mpich", "/p/m"}}
	o := options(t, "latency_mt")
	o.With = []string{"openmpi", "mpich", "goroutines"}
	o.Params = suite.Params{Range: suite.Range{Min: 8, Max: 8, Given: true}, Warmup: -1}
	s := setting{o: o, test: o.Tests[0], cores: 2, mpirun: "/b/mpirun", bench: "/b/ompi-bench", peers: p}
	var ids, lines []string
	for _, c := range s.commands() {
		ids = append(ids, c.id())
		lines = append(lines, c.String())
	}
	want := []string{"ours", "openmpi (default)", "openmpi (vader)", "openmpi-yield (default)", "openmpi-yield (vader)", "mpich", "goroutines"}
	if !slices.Equal(ids, want) {
		t.Errorf("commands %q, want %q", ids, want)
	}
	if lines[0] != "/b/mpirun -n 2 --bind-to none --mca btl self,sm /b/ompi-bench latency_mt -m 8:8" {
		t.Errorf("ours: %s", lines[0])
	}
	if lines[6] != "/b/ompi-bench latency_mt -m 8:8 -n 2" {
		t.Errorf("goroutines: %s", lines[6])
	}
	s.test, s.o.BTL = tests(t, "latency")[0], "tcp"
	for _, c := range s.commands() {
		switch line := c.String(); c.side {
		case "openmpi":
			if !strings.Contains(line, "--bind-to core") || !strings.Contains(line, "--mca btl self,tcp /p/o latency") {
				t.Errorf("openmpi over tcp: %s", line)
			}
		case "mpich":
			if line != "MPIR_CVAR_NOLOCAL=1 UCX_TLS=tcp,self mpirun.mpich -n 2 -bind-to core /p/m latency -m 8:8" {
				t.Errorf("mpich over tcp: %s", line)
			}
		}
	}
	s.o.Ranks = 8
	if line := s.commands()[1].String(); !strings.Contains(line, "--oversubscribe") || !strings.Contains(line, "--bind-to none") {
		t.Errorf("8 ranks on 2 cores: %s", line)
	}
}

func TestCheck(t *testing.T) {
	good := options(t, "latency")
	for name, change := range map[string]func(*Options){
		"no test":      func(o *Options) { o.Tests = nil },
		"no ranks":     func(o *Options) { o.Ranks = 0 },
		"one rank":     func(o *Options) { o.Ranks = 1 },
		"no reps":      func(o *Options) { o.Reps = 0 },
		"unknown btl":  func(o *Options) { o.BTL = "rdma" },
		"unknown peer": func(o *Options) { o.With = []string{"impi"} },
		"unknown bind": func(o *Options) { o.Bind = "socket" },
		"bad plot":     func(o *Options) { o.Plot = "x.pdf" },
	} {
		o := good
		change(&o)
		if o.Check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
}

func TestPlotPath(t *testing.T) {
	o := options(t, "latency", "bw")
	o.Plot = "out/x.svg"
	if got := plotPath(o, o.Tests[1]); got != "out/x-bw.svg" {
		t.Errorf("chart of bw is %s", got)
	}
}

func TestStart(t *testing.T) {
	out, err := start(context.Background(), command{argv: []string{"sh", "-c", "echo 8 $V"}, env: []string{"V=1.25"}})
	if err != nil || out.stdout != "8 1.25\n" || out.wall <= 0 {
		t.Errorf("%+v, %v", out, err)
	}
	_, err = start(context.Background(), command{argv: []string{"sh", "-c", "echo it broke >&2; exit 3"}})
	if err == nil || !strings.Contains(err.Error(), "it broke") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error %v", err)
	}
}

func FuzzParseColumns(f *testing.F) {
	f.Add("# a\n8 1.5\n16 2.5 7\n")
	f.Add("8\n")
	f.Add("-1 3\n")
	f.Add("1 NaN\n")
	f.Add("NAS_LU_x:480 1.5 2.5 0123456789abcdef\n")
	f.Add("8 3.5 1.5 2.0 50.0\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, test := range tests(t, "latency", "ddt", "ibcast") {
			values, err := parseColumns(s, test)
			for p, v := range values {
				if p.size < 0 || v != v {
					t.Errorf("%s: %v %v", test.Name, p, v)
				}
			}
			if err != nil && values != nil {
				t.Error("both values and an error")
			}
		}
	})
}

func TestParseColumns(t *testing.T) {
	for _, c := range []struct {
		test, in string
		want     string
		bad      []string
	}{
		{"latency", "# x\n\n0  1.5\n 8\t2e3 9 9\n", "0 1.5, 8 2000", []string{"8\n", "eight 1\n", "-8 1\n", "8 inf\n", "8 1,5\n", "a:8 1\n"}},
		{"ddt", "b:8 1 2 ff\na:16 3 4 00\n", "a:16 (checksum 00) 3, b:8 (checksum ff) 1", []string{"8 1 2 ff\n", "b:8 1 2\n", "b:x 1 2 f\n"}},
		{"ibcast", "8 3 1 2 50\n", "overall:8 3, overlap:8 50, pure:8 2", []string{"8 3 1 2\n"}},
	} {
		test := tests(t, c.test)[0]
		values, err := parseColumns(c.in, test)
		var got []string
		for _, p := range inOrder(values) {
			got = append(got, fmt.Sprint(p, " ", values[p]))
		}
		if err != nil || strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, %v", c.test, got, err)
		}
		for _, bad := range c.bad {
			if _, err := parseColumns(bad, test); err == nil {
				t.Errorf("%s: %q: no error", c.test, bad)
			}
		}
	}
}

// Sides that sent other bytes, or another number of them, are not compared.
func TestUnequalLayoutsAreRefused(t *testing.T) {
	for theirs, want := range map[string]string{
		"a:8 1 1 00\n":             "it measured a:8 (checksum 00), ours did not",
		"a:16 1 1 ff\n":            "it measured a:16 (checksum ff), ours did not",
		"a:8 1 1 ff\nb:8 1 1 ff\n": "it measured b:8 (checksum ff), ours did not",
	} {
		w := &world{answer: func(c command, run int) (output, error) {
			if c.side == ours {
				return output{stdout: "a:8 1 1 ff\n"}, nil
			}
			return output{stdout: theirs}, nil
		}}
		if err := w.runner().Run(context.Background(), options(t, "ddt")); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(w.out.String(), "openmpi (default) is left out: "+want) {
			t.Errorf("table:\n%s", w.out.String())
		}
	}
}

func TestMeans(t *testing.T) {
	row := func(size int64, side string, ratio float64) report.Row {
		return report.Row{Size: size, Series: side, Ratio: &report.Spread{Median: ratio}}
	}
	rows := []report.Row{
		{Size: 1, Series: ours}, row(1, "openmpi", 0.5), row(1, "mpich", 2), row(1, goroutines, 4),
		{Size: 2, Series: ours}, row(2, "openmpi", 0.125), row(2, "mpich", 0.5),
		{Size: 4, Series: ours}, row(4, "openmpi", 0), {Size: 4, Series: "mpich"},
	}
	for higherBetter, want := range map[bool]string{
		false: "[{openmpi 0.25} {mpich 1} {goroutines 4} {the better of both 1}]",
		true:  "[{openmpi 0.25} {mpich 1} {goroutines 4} {the better of both 0.25}]",
	} {
		tally := newTally()
		tally.add(rows, higherBetter)
		means := tally.means(higherBetter)
		for i := range means {
			means[i].Ratio = math.Round(means[i].Ratio*1e9) / 1e9
		}
		if got := fmt.Sprint(means); got != want {
			t.Errorf("means %s, want %s", got, want)
		}
	}
	alone := newTally()
	alone.add(rows[:2], false)
	if got := fmt.Sprint(alone.means(true)); got != "[{openmpi 2}]" {
		t.Errorf("one peer: %s", got)
	}
}

func TestMeansArePrinted(t *testing.T) {
	w := &world{answer: func(c command, run int) (output, error) {
		value := map[string]float64{ours: 1, "openmpi": 2}[c.side]
		return output{stdout: fmt.Sprintf("8 %g\n16 %g\n", value, 4*value)}, nil
	}}
	if err := w.runner().Run(context.Background(), options(t, "latency", "bw")); err != nil {
		t.Fatal(err)
	}
	for part, times := range map[string]int{
		"# geometric mean of ratios: openmpi 0.50\n":                                      2,
		"# geometric mean of ratios over 2 tests, below 1 ours is better: openmpi 1.00\n": 1,
	} {
		if n := strings.Count(w.out.String(), part); n != times {
			t.Errorf("%d times %q:\n%s", n, part, w.out.String())
		}
	}
}
