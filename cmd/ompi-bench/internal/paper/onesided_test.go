package paper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

// scripted answers every job of papers about one-sided communication; component broken fails.
func scripted(log *[][]string, broken string) sides {
	return sides{
		output: func(_ context.Context, argv []string) (string, error) {
			*log = append(*log, argv)
			line := strings.Join(argv, " ")
			switch {
			case broken != "" && strings.Contains(line, "--mca osc "+broken+" "):
				return "", errors.New("mpirun ...: exit status 1: no such\ncomponent")
			case strings.Contains(line, "lattice"):
				return "two-sided: 1.00 s\ntwo-sided: speedup 1.80 on 2 ranks: one\none-sided: speedup 1.90 on 2 ranks: one\n", nil
			case slices.Contains(argv, "sync"):
				var b strings.Builder
				for _, kind := range suite.Epochs() {
					fmt.Fprintf(&b, "%s:0 1.5\n%s:1 2.5\n", kind, kind)
				}
				return b.String(), nil
			case slices.Contains(argv, "latency"):
				return "8 1\n1024 2\n", nil
			case slices.Contains(argv, "--calls"):
				return "8 3\n1024 4\n", nil
			}
			return "8 2\n1024 3\n1048576 5000\n", nil
		},
		progress: &report.Progress{},
	}
}

func TestHassani2013(t *testing.T) {
	var log [][]string
	var out strings.Builder
	s := scripted(&log, "rdma")
	s.out = &out
	dir := filepath.Join(t.TempDir(), "new")
	o, err := Options{Paper: "hassani-2013", Dir: dir, Ranks: 3, Reps: 2}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.hassani(context.Background(), o, "/b/mpirun", "/b/ompi-bench"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## osc/portals4, beside pml/cm", "Not measured: no such component", "latency of 8 bytes, put (less the epoch) against send/receive: 0.500 against 1.000, 0.50 times",
		"put and flush among 3 ranks against 2: 2.500 against 2.500, 1.00 times", "| 8 | 1.500 | 2.625 | 2.906 | 2.977 |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
	}
	if want := "/b/mpirun -n 2 --bind-to none --mca osc portals4 --mca pml cm --mca btl self,sm --mca osc_portals4_direct false /b/ompi-bench sync -i 400 -x 40"; strings.Join(log[0], " ") != want {
		t.Errorf("first job: %s", strings.Join(log[0], " "))
	}
	if want := 3*2*(2+len(hassaniJobs())) + 1; len(log) != want {
		t.Errorf("%d jobs, want %d", len(log), want)
	}
	for _, name := range []string{"hassani-2013.md", "hassani-2013.csv", "figure2-sm.svg", "figure2-one-put-sm.svg", "figure3-portals4.svg", "figure4-pt2pt.svg", "figure5-sm.svg"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(data) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	data, _ := os.ReadFile(filepath.Join(dir, "hassani-2013.csv"))
	if !strings.Contains(string(data), "osc/sm: empty epoch,fence,3,us,1.5,1.5,1.5,2\n") {
		t.Errorf("numbers:\n%s", data)
	}
}

func TestChristgau2012(t *testing.T) {
	var log [][]string
	var out strings.Builder
	s := scripted(&log, "pt2pt")
	s.out = &out
	o, err := Options{Paper: "christgau-2012", Dir: t.TempDir(), Ranks: 2, Reps: 1}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.christgau(context.Background(), o, "/b/mpirun", "/b/lattice"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one-sided, osc/sm against two-sided, pml/ob1 beside osc/sm on 2 ranks: 1.06 times", "not measured: no such component"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
	}
	for _, name := range []string{"christgau-2012.md", "figure3.svg", "figure3.csv"} {
		if _, err := os.Stat(filepath.Join(o.Dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestNothingMeasured(t *testing.T) {
	var log [][]string
	s := scripted(&log, "sm")
	s.out = &strings.Builder{}
	o := Options{Dir: t.TempDir(), Ranks: 2, Reps: 1, Iterations: 10, OSC: "sm"}
	if err := s.hassani(context.Background(), o, "m", "b"); err == nil || !strings.Contains(err.Error(), "nothing could be measured") {
		t.Errorf("hassani: %v", err)
	}
	if err := s.christgau(context.Background(), o, "m", "b"); err == nil || !strings.Contains(err.Error(), "nothing could be measured") {
		t.Errorf("christgau: %v", err)
	}
}

func FuzzParseEpochs(f *testing.F) {
	f.Add("# a\nfence:0 1.5\nfence:1 2\n")
	f.Add("fence 1\n")
	f.Add("fence:2 1\n")
	f.Add("fence:0 NaN\n")
	f.Fuzz(func(t *testing.T, s string) {
		v := newValues()
		if err := v.parseEpochs(s, 2); err == nil && len(v) == 0 {
			t.Error("nothing, and no error")
		}
		if err := newValues().parseSpeedups(components()[0], s, 2); err == nil && !strings.Contains(s, ": speedup ") {
			t.Errorf("a speedup of %q", s)
		}
	})
}
