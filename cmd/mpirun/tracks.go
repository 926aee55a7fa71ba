package main

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/ompi-go/ompi-go/rte/control"
	"github.com/ompi-go/ompi-go/trace"
)

// trackFiles is what the ranks hand over at their end for the job's trace file; all name the same one, as a rule.
type trackFiles struct {
	mu    sync.Mutex
	files map[string]map[int]*track
}

// track is in the pieces in which it came: with many ranks, a copy of all would be gigabytes.
type track struct {
	pieces   []string
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
	t.pieces = append(t.pieces, m.Text)
	t.complete = m.ID == 0
}

// write writes the files, leaving out ranks that ended in the middle of their track.
func (f *trackFiles) write() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for name, ranks := range f.files {
		if err := writeFile(name, ranks); err != nil {
			errs = append(errs, fmt.Errorf("the trace: %w", err))
		}
	}
	return errors.Join(errs...)
}

func writeFile(name string, ranks map[int]*track) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file) // keeps the first error
	w.WriteString(trace.Begin)
	separator := ""
	for _, rank := range slices.Sorted(maps.Keys(ranks)) {
		if t := ranks[rank]; t.complete {
			w.WriteString(separator)
			for _, piece := range t.pieces {
				w.WriteString(piece)
			}
			separator = trace.Separator
		}
		delete(ranks, rank)
	}
	w.WriteString(trace.End)
	return errors.Join(w.Flush(), file.Close())
}
