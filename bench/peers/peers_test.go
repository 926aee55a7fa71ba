package peers

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// compiler finds a wrapper that is installed here.
func compiler(t *testing.T) string {
	for _, w := range []string{"mpicc.openmpi", "mpicc.mpich", "mpicc"} {
		if _, err := exec.LookPath(w); err == nil {
			return w
		}
	}
	t.Skip("no MPI compiler wrapper is installed")
	return ""
}

func TestBuildAndCache(t *testing.T) {
	cc, cache := compiler(t), t.TempDir()
	first, err := Build(context.Background(), cc, cache)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(first)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Build(context.Background(), cc, cache)
	if err != nil || second != first {
		t.Fatalf("%s, then %s, %v", first, second, err)
	}
	if after, err := os.Stat(second); err != nil || !os.SameFile(before, after) {
		t.Error("the second call built again")
	}
	if rest, _ := filepath.Glob(filepath.Join(filepath.Dir(first), "build-*")); len(rest) != 0 {
		t.Errorf("left behind: %q", rest)
	}
	out, err := exec.Command(first, "latenzy").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "unknown test latenzy") {
		t.Errorf("unknown test: %v, %s", err, out)
	}
	for _, bad := range [][]string{{"latency", "-m"}, {"latency", "-m", "8:1"}, {"latency", "-i", "0"}, {"latency", "-q", "1"}} {
		if out, err := exec.Command(first, bad...).CombinedOutput(); err == nil || !strings.Contains(string(out), "bad option") {
			t.Errorf("%q: %v, %s", bad, err, out)
		}
	}
}

func TestBuildFailures(t *testing.T) {
	if _, err := Build(context.Background(), "mpicc.nowhere", t.TempDir()); err == nil {
		t.Error("a missing wrapper gave no error")
	}
	dir := t.TempDir()
	broken := filepath.Join(dir, "mpicc.broken")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho no such header >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(context.Background(), broken, dir); err == nil || !strings.Contains(err.Error(), "no such header") {
		t.Errorf("a failing compiler: %v", err)
	}
}
