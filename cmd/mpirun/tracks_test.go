package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/rte/control"
	"github.com/ompi-go/ompi-go/trace"
)

// TestTrackFiles: pieces come as they like; the file has the ranks in order, without those that did not finish.
func TestTrackFiles(t *testing.T) {
	ring := trace.New(4)
	ring.Span(ring.Start(), "test", "something", "", 0)
	track := func(rank int) string { return string(ring.Append(nil, rank)) }
	name := filepath.Join(t.TempDir(), "trace.json")
	var f trackFiles
	add := func(rank int, text string, more uint64) {
		f.add(rank, &control.Message{Kind: control.Track, Key: name, Text: text, ID: more})
	}
	two, one, dead := track(2), track(1), track(0)
	add(2, two[:10], 1)
	add(0, dead[:20], 1)
	add(1, one, 0)
	add(2, two[10:], 0)
	if err := f.write(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if want := trace.Begin + one + trace.Separator + two + trace.End; string(text) != want || !json.Valid(text) {
		t.Errorf("got %s\nwant %s", text, want)
	}
}

// TestTrackFileThatCannotBe: the user hears of it.
func TestTrackFileThatCannotBe(t *testing.T) {
	var f trackFiles
	f.add(0, &control.Message{Key: filepath.Join(t.TempDir(), "missing", "trace.json")})
	f.add(0, &control.Message{Key: "/dev/full"})
	err := f.write()
	for _, name := range []string{"missing", "/dev/full"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %s in it", err, name)
		}
	}
}
