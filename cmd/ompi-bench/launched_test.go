package main

import "testing"

func TestLaunched(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want int
	}{
		{nil, 0},
		{map[string]string{"PMI_SIZE": "4"}, 0},
		{map[string]string{"PMI_FD": "3", "PMI_SIZE": "4"}, 4},
		{map[string]string{"PMI_FD": "3", "PMI_SIZE": "1"}, 1},
		{map[string]string{"PMI_PORT": "h:1"}, 2},
	} {
		if got := launched(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: %d ranks, want %d", c.env, got, c.want)
		}
	}
}
