package ompi_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestTrace: one file for the job, in which each rank has a track with what it did and how.
func TestTrace(t *testing.T) {
	aboutOb1(t) // with pml cm a collective component offloads the sum, and traces nothing of it
	file := filepath.Join(t.TempDir(), "t.json")
	job(t, 3, func(w *ompi.Comm) error {
		x, y := []int64{1}, []int64{0}
		if err := w.Scan(ompi.Slice(x), ompi.Slice(y), ompi.Sum); err != nil {
			return err
		}
		_, err := w.Iallreduce(ompi.Slice(x), ompi.Slice(y), ompi.Sum).Wait()
		return err
	}, ompi.WithParam("mpi_trace_file", file), ompi.WithParam("coll_tuned_allreduce_algorithm", "reduce_bcast"), ompi.WithParam("coll_tuned_scan_algorithm", "linear"))
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		TraceEvents []struct {
			Ph, Name, Cat string
			Pid           int
			Args          struct{ How string }
		}
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	scans, sums := map[int]string{}, map[int]string{}
	for _, e := range got.TraceEvents {
		switch {
		case e.Name == "scan":
			scans[e.Pid] = e.Args.How
		case e.Cat == "nbc":
			sums[e.Pid] = e.Name + " " + e.Args.How
		}
	}
	for r := range 3 {
		if scans[r] != "linear" || sums[r] != "allreduce reduce_bcast" {
			t.Errorf("rank %d: %q, %q", r, scans[r], sums[r])
		}
	}
}
