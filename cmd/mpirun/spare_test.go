package main

import "testing"

func TestSpareCores(t *testing.T) {
	cores := [][]int{{0, 4}, {1, 5}, {2}, {3}}
	for ranks, want := range map[int]string{1: "1,2,3", 2: "2,3", 4: "", 9: ""} {
		if got := spareCores(cores, ranks); got != want {
			t.Errorf("%d ranks: %q, want %q", ranks, got, want)
		}
	}
}
