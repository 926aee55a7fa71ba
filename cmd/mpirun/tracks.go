package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/ompi-go/ompi-go/rte/control"
	"github.com/ompi-go/ompi-go/trace"
)

// trackFiles is what the ranks hand over at their end for the job's trace file; all name the same one, as a rule.
type trackFiles struct {
	mu    sync.Mutex
	files map[string]map[int]*track
}

type track struct {
	text     strings.Builder
	complete bool
}

// add takes a piece of a rank's track.
func (f *trackFiles) add(rank int, m *control.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.files == nil {
		f.files = make(map[string]map[int]*track)
	}
	ranks := f.files[m.Key]
	if ranks == nil {
		ranks = make(map[int]*track)
		f.files[m.Key] = ranks
	}
	t := ranks[rank]
	if t == nil {
		t = new(track)
		ranks[rank] = t
	}
	t.text.WriteString(m.Text)
	t.complete = m.ID == 0
}

// write writes the files, leaving out ranks that ended in the middle of their track.
func (f *trackFiles) write() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for name, ranks := range f.files {
		var order []int
		for rank, t := range ranks {
			if t.complete {
				order = append(order, rank)
			}
		}
		slices.Sort(order)
		var b strings.Builder
		b.WriteString(trace.Begin)
		for i, rank := range order {
			if i > 0 {
				b.WriteString(trace.Separator)
			}
			b.WriteString(ranks[rank].text.String())
		}
		b.WriteString(trace.End)
		if err := os.WriteFile(name, []byte(b.String()), 0o666); err != nil {
			errs = append(errs, fmt.Errorf("the trace: %w", err))
		}
	}
	return errors.Join(errs...)
}
