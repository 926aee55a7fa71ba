package report

import (
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

func TestSummarise(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want Spread
	}{
		{nil, Spread{}},
		{[]float64{3}, Spread{3, 3, 3}},
		{[]float64{9, 1, 2}, Spread{2, 1, 9}},
		{[]float64{4, 1, 2, 8}, Spread{3, 1, 8}},
	} {
		if got := Summarise(c.in); got != c.want {
			t.Errorf("%v: %v, want %v", c.in, got, c.want)
		}
	}
	in := []float64{3, 1, 2}
	if Summarise(in); in[0] != 3 {
		t.Error("the values were reordered")
	}
}

func TestRatios(t *testing.T) {
	if got := Ratios([]float64{1, 2, 3, 4}, []float64{2, 2, 2}); got != (Spread{1, 0.5, 1.5}) {
		t.Errorf("ratios %v", got)
	}
	if got := Ratios([]float64{1, 2}, []float64{0, 4}); got != (Spread{0.5, 0.5, 0.5}) {
		t.Errorf("a division by zero counted: %v", got)
	}
}

func TestText(t *testing.T) {
	var b strings.Builder
	test, _ := suite.Lookup("mbw_mr")
	Head(&b, test, 4, "goroutine ranks")
	Line(&b, test, NewRow(1000, "MB/s", []float64{5, 3, 4}))
	want := "# mbw_mr, 4 ranks\n" +
		"# ompi-go, goroutine ranks\n" +
		"# Size                          MB/s          Messages/s\n" +
		"1000                           4.000              4000.0\n"
	if b.String() != want {
		t.Errorf("text is\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	LimitLine(&b, "# ", Limit{Name: "memcpy", Size: 1 << 20, Unit: "MB/s", Missing: "no memory"})
	if got := b.String(); !strings.HasPrefix(got, "# memcpy 1M ") || !strings.Contains(got, "not measured: no memory") {
		t.Errorf("limit line %q", got)
	}
}

func TestTextOfFurtherColumns(t *testing.T) {
	var b strings.Builder
	ddt, _ := suite.Lookup("ddt")
	row := NewRow(480, "us", []float64{1.5})
	row.Case, row.Checksum, row.More = "NAS_LU_x", "63363dd5858489bb", map[string]float64{suite.HandPacked: 2}
	Head(&b, ddt, 2, "ranks are processes")
	Line(&b, ddt, row)
	ibcast, _ := suite.Lookup("ibcast")
	columns := suite.OverlapColumns()
	row = NewRow(8, "us", []float64{3})
	row.More = map[string]float64{columns[0]: 1.25, columns[1]: 2, columns[2]: 12.5}
	Head(&b, ibcast, 2, "ranks are processes")
	Line(&b, ibcast, row)
	want := "# ddt, 2 ranks\n" +
		"# ompi-go, ranks are processes\n" +
		"# Layout:Size                    Latency(us)     Hand-packed(us)            Checksum\n" +
		"NAS_LU_x:480                           1.500               2.000    63363dd5858489bb\n" +
		"# ibcast, 2 ranks\n" +
		"# ompi-go, ranks are processes\n" +
		"# Size                   Overall(us)         Compute(us)      Pure Comm.(us)          Overlap(%)\n" +
		"8                              3.000               1.250               2.000              12.500\n"
	if b.String() != want {
		t.Errorf("text is\n%swant\n%s", b.String(), want)
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{1: "1", 1000: "1000", 1024: "1K", 65536: "64K", 4 << 20: "4M", 1<<20 + 1: "1048577"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestWriteJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	in := Result{Test: "latency", Ranks: 2, Params: map[string]any{"window": 64}, Rows: []Row{NewRow(8, "us", []float64{1, 2, 4})}}
	if err := WriteJSON(path, in); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	row := got["rows"].([]any)[0].(map[string]any)
	for key, want := range map[string]any{"size": 8.0, "value": 2.0, "unit": "us", "reps": 3.0, "min": 1.0, "median": 2.0, "max": 4.0} {
		if row[key] != want {
			t.Errorf("row has %s %v, want %v", key, row[key], want)
		}
	}
	if len(row) != 7 {
		t.Errorf("row of a plain test has more than its fields: %v", row)
	}
	if err := WriteJSON(filepath.Join(path, "x"), in); err == nil {
		t.Error("a file as folder gave no error")
	}
}

func TestPlot(t *testing.T) {
	latency, _ := suite.Lookup("latency")
	barrier, _ := suite.Lookup("barrier")
	var sized []Row
	for _, s := range []string{"ours", "theirs"} {
		for size := int64(0); size <= 1<<20; size = max(1, 2*size) {
			r := NewRow(size, "us", []float64{0.3 + float64(size)/5000})
			r.Series = s
			sized = append(sized, r)
		}
	}
	ddt, _ := suite.Lookup("ddt")
	ibcast, _ := suite.Lookup("ibcast")
	var layouts, phases []Row
	for size := int64(8); size <= 1<<10; size *= 2 {
		for i, what := range []string{suite.Overall, suite.Overlap, suite.Pure} {
			layouts = append(layouts, Row{Series: "ours", Case: "layout " + what, Size: size, Value: float64(i) + 0.5})
			phases = append(phases, Row{Series: "ours", Case: what, Size: size, Value: float64(i) + 0.5})
		}
	}
	flat := []Row{NewRow(1, "us", []float64{2}), NewRow(2, "us", []float64{2})}
	for _, c := range []struct {
		name string
		test suite.Test
		rows []Row
	}{
		{"lines.svg", latency, sized}, {"lines.png", latency, sized}, {"flat.png", latency, flat},
		{"bars.svg", barrier, []Row{{Series: "ours", Value: 2}, {Series: "openmpi", Value: 3}}},
		{"one.png", barrier, []Row{{Value: 2}}},
		{"layouts.png", ddt, layouts}, {"phases.svg", ibcast, phases},
		{"single-size.svg", latency, []Row{{Series: "a", Size: 8, Value: 2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.name)
			if err := Plot(path, c.test, Result{Test: c.test.Name, Ranks: 2, Rows: c.rows}); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Ext(c.name) == ".svg" {
				if !strings.Contains(string(data), "</svg>") {
					t.Error("no SVG was written")
				}
			} else if _, err := png.Decode(strings.NewReader(string(data))); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCheckPlotPath(t *testing.T) {
	for path, ok := range map[string]bool{"a.svg": true, "b/c.PNG": true, "a.pdf": false, "a": false, "": false} {
		if err := CheckPlotPath(path); (err == nil) != ok {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestProgressIsSilentWithoutTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := NewProgress(f)
	p.Show("%d of %d", 1, 2)
	p.Clear()
	if info, _ := f.Stat(); info.Size() != 0 {
		t.Error("progress was written to a file")
	}
}

func TestAxes(t *testing.T) {
	for _, c := range []struct{ lo, hi, wantLo, wantHi float64 }{
		{0.31, 0.62, 0.2, 1}, {1, 1, 1, 2}, {2, 2, 2, 5}, {0.3, 4700, 0.2, 5000}, {7, 1e6, 5, 1e6},
	} {
		if lo, hi := widen(c.lo, c.hi); lo != c.wantLo || hi != c.wantHi {
			t.Errorf("%g to %g becomes %g to %g, want %g to %g", c.lo, c.hi, lo, hi, c.wantLo, c.wantHi)
		}
	}
	var labels []string
	for _, tick := range (oneTwoFive{}).Ticks(0.2, 10) {
		labels = append(labels, tick.Label)
	}
	if got := strings.Join(labels, " "); got != "0.2 0.5 1 2 5 10" {
		t.Errorf("labels %q", got)
	}
	labels = nil
	for _, tick := range (powersOfTwo{}).Ticks(1, 4<<20) {
		if tick.Label != "" {
			labels = append(labels, tick.Label)
		}
	}
	if got := strings.Join(labels, " "); got != "1 8 64 512 4K 32K 256K 2M" {
		t.Errorf("labels %q", got)
	}
}
