package ompi

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/trace"
)

// tracing is the trace of one instance; ring is nil when nobody wants one.
type tracing struct {
	ring *trace.Ring
	file string
}

func newTracing(o *mpiOptions, rank int) tracing {
	if o.TraceFile == "" {
		return tracing{}
	}
	ring := trace.New(o.TraceEvents)
	ring.Skew(o.TraceSkew * time.Duration(rank))
	return tracing{ring, o.TraceFile}
}

// writeTrace hands the trace to the launcher, or to Run; where that cannot write it, the rank does.
func (i *Instance) writeTrace() error {
	t := i.trace
	if t.ring == nil {
		return nil
	}
	i.trace.ring = nil
	track := t.ring.Append(nil, i.job.Rank())
	if j, ok := i.job.(rte.Tracer); ok && j.Trace(t.file, track) {
		return nil
	}
	if i.job.Size() > 1 {
		t.file = fmt.Sprintf("%s.%d", t.file, i.job.Rank())
	}
	return writeTracks(t.file, [][]byte{track})
}

// writeTracks writes a trace file of several ranks.
func writeTracks(file string, tracks [][]byte) error {
	b := []byte(trace.Begin)
	for i, t := range tracks {
		if i > 0 {
			b = append(b, trace.Separator...)
		}
		b = append(b, t...)
	}
	if err := os.WriteFile(file, append(b, trace.End...), 0o666); err != nil {
		return fmt.Errorf("the trace (parameter mpi_trace_file): %w", err)
	}
	return nil
}

// writeTraces writes what the ranks of a job in this process have recorded.
func (j *localJob) writeTraces() error {
	var errs []error
	for file, tracks := range j.hub.Tracks() {
		slices.SortFunc(tracks, func(a, b rte.Track) int { return a.Rank - b.Rank })
		var texts [][]byte
		for _, t := range tracks {
			texts = append(texts, t.Text)
		}
		errs = append(errs, writeTracks(file, texts))
	}
	return errors.Join(errs...)
}
