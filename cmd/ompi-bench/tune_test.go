package main

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/tune"
	"github.com/ompi-go/ompi-go/coll/alg"
)

func TestParseTune(t *testing.T) {
	for args, want := range map[string]tune.Options{
		"--out f":      {Out: "f", Min: 4, Max: 1 << 20, Budget: 20 * time.Millisecond},
		"-n 8 --out f": {Out: "f", Goroutines: 8, Min: 4, Max: 1 << 20, Budget: 20 * time.Millisecond},
		"--ranks 8,2,8 --ops bcast,allreduce -m 64:4096 --budget 1s --out f": {
			Out: "f", Ranks: []int{2, 8}, Kinds: []alg.Kind{alg.Bcast, alg.Allreduce}, Min: 64, Max: 4096, Budget: time.Second,
		},
	} {
		got, err := parseTune(strings.Fields(args))
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v, %v, want %+v", args, got, err, want)
		}
	}
	for args, want := range map[string]string{
		"":                         "--out FILE is missing",
		"--out f more":             "takes no arguments",
		"--out f -n 1":             "-n 1: want two ranks or more",
		"--out f -m 1:8":           "multiples of 4",
		"--out f --budget 0s":      "--budget 0s",
		"--out f --ranks 2,x":      "--ranks 2,x",
		"--out f --ranks 1":        "want numbers from 2 on",
		"--out f --ops gatherv":    "gatherv has no choice of algorithms",
		"--out f --ops fast":       "fast has no choice of algorithms; want some of [barrier bcast",
		"--out f --fast":           "flag provided but not defined",
		"--out f -m 8:4 --ranks 2": "want MIN:MAX",
	} {
		if _, err := parseTune(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
