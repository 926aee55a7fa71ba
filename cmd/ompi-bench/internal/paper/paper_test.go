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
)

// TestKim2018 runs the whole with jobs that answer from a script.
func TestKim2018(t *testing.T) {
	var log [][]string
	var out strings.Builder
	s := sides{
		output: func(_ context.Context, argv []string) (string, error) {
			log = append(log, argv)
			value := 20.0
			if strings.Contains(strings.Join(argv, " "), "rcache 1") {
				value = 10
			}
			if slices.Contains(argv, "bw") {
				return fmt.Sprintf("# x\n1 %g\n4096 %g\n", value, 100*value), nil
			}
			return fmt.Sprintf("# x\n0 %g\n1 %g\n4096 %g\n", value, value, 2*value), nil
		},
		raw: func() (rawValues, error) {
			return rawValues{0.2, []int64{1, 4096}, []float64{0.01, 0.1}, []float64{100, 9000}}, nil
		},
		out:      &out,
		progress: &report.Progress{},
	}
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if err := s.kim(context.Background(), Options{Paper: "kim-2018", Dir: dir, Ranks: 2, Reps: 2}, "/b/mpirun", "/b/ompi-bench"); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"naive" 20.00 us, "+ registration cache" 10.00 us: ratio 0.500`, "better than the paper's 0.62", "peak bandwidth, + native RMA: 1000.00 MB/s at 4096 bytes",
		"peak bandwidth, raw DMA: 9000.00",
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("output lacks %q:\n%s", part, out.String())
		}
	}
	if len(log) != 2*7*4 {
		t.Errorf("%d jobs", len(log))
	}
	first, last := strings.Join(log[0], " "), strings.Join(log[6*4], " ")
	if first != "/b/mpirun -n 2 --bind-to none --mca btl self,unimem --mca btl_unimem_copies naive --mca btl_unimem_rcache 0 --mca btl_unimem_eager 0"+
		" --mca btl_unimem_inline 0 --mca btl_unimem_dmable_user 0 --mca btl_unimem_rma 0 /b/ompi-bench latency -m 0:8192 -i 1000 -x 100" {
		t.Errorf("first job: %s", first)
	}
	for _, part := range []string{"copies direct", "rcache 1", "eager 1", "inline 1", "dmable_user 1", "rma 1", "--alloc-mem"} {
		if !strings.Contains(last, part) {
			t.Errorf("the last step lacks %q: %s", part, last)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "figure1.csv"))
	if err != nil || !strings.Contains(string(data), "latency,+ registration cache,0,us,10,10,10,4\n") || !strings.Contains(string(data), "bandwidth,raw DMA,4096,MB/s,9000,9000,9000,2\n") {
		t.Errorf("%v\n%s", err, data)
	}
	for _, name := range []string{"figure1-latency.svg", "figure1-bandwidth.svg"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(data), "<svg") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKimFails(t *testing.T) {
	broken := errors.New("exit status 1")
	s := sides{
		output:   func(context.Context, []string) (string, error) { return "", broken },
		raw:      func() (rawValues, error) { return rawValues{}, nil },
		out:      &strings.Builder{},
		progress: &report.Progress{},
	}
	o := Options{Paper: "kim-2018", Dir: t.TempDir(), Ranks: 2, Reps: 1}
	if err := s.kim(context.Background(), o, "m", "b"); !errors.Is(err, broken) || !strings.Contains(err.Error(), "naive") {
		t.Errorf("error %v", err)
	}
	s.output = func(context.Context, []string) (string, error) { return "# nothing\n", nil }
	if err := s.kim(context.Background(), o, "m", "b"); err == nil {
		t.Error("jobs without results gave no error")
	}
	for _, bad := range []Options{
		{Paper: "kim-2018", Ranks: 2, Reps: 1}, {Paper: "kim-2018", Dir: "d", Ranks: 3, Reps: 1}, {Paper: "kim-2018", Dir: "d", Ranks: 2}, {Dir: "d", Ranks: 2, Reps: 1},
		{Paper: "kim-2018", Dir: "d", Ranks: 2, Reps: 1, OSC: "sm"}, {Paper: "hassani-2013", Dir: "d", Ranks: 8, Reps: 1, Iterations: 9},
		{Paper: "hassani-2013", Dir: "d", Ranks: 1, Reps: 1, Iterations: 10}, {Paper: "hassani-2013", Dir: "d", Ranks: 8, Reps: 1, Iterations: 10, OSC: "sm,ucx"},
	} {
		if bad.Check() == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

// TestRaw: the raw model gives numbers of a kind that it can give.
func TestRaw(t *testing.T) {
	r, err := measureRaw()
	if err != nil {
		t.Fatal(err)
	}
	if r.mailbox <= 0 || len(r.sizes) != 23 || len(r.latency) != 23 || len(r.bw) != 23 {
		t.Errorf("%+v", r)
	}
	v := newValues()
	r.enter(v)
	if len(v.rows("latency", []string{rawMailbox}, "us")) != 6 {
		t.Errorf("%v", v)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("# a\n0 1.5\n16 2.5 7\n")
	f.Add("8\n")
	f.Add("-1 3\n")
	f.Add("1 NaN\n")
	f.Fuzz(func(t *testing.T, s string) {
		v := newValues()
		if err := v.parse("latency", "x", s); err == nil && len(v) == 0 {
			t.Error("nothing, and no error")
		}
		for k, all := range v {
			if k.size < 0 || all[0] != all[0] {
				t.Errorf("%v %v", k, all)
			}
		}
	})
}
